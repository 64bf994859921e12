"""All that a page names, with what its anchors look like, in place of the known addresses alone."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # What crawls of an earlier state of this version have found again goes: their links are described otherwise.
    op.drop_table("finds")
    op.create_table(
        "finds",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("names", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "page"),
        sqlite_with_rowid=False,
    )
