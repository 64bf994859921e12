"""Every judge has a tree of its own; pages know which version of the learner chose them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pages", sa.Column("learner_version", sa.Integer(), nullable=True))
    # Nothing was ever written to it: the policies that grow a tree come with this schema.
    op.drop_table("nodes")
    op.create_table(
        "nodes",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("feature", sa.SmallInteger(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.Column("left", sa.Integer(), nullable=False),
        sa.Column("right", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "tree", "number"),
        sqlite_with_rowid=False,
    )
