"""Which outlinks of a page were known before it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "finds",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("addresses", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "page"),
        sqlite_with_rowid=False,
    )
