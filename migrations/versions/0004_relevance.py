"""What judges read, what people say of pages, what was held of pages before, and how promising links look."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("links", sa.Column("promise", sa.Float(), server_default="0", nullable=False))
    op.create_table(
        "readings",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "page"),
    )
    op.create_table(
        "examples",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("relevant", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "number"),
    )
    op.create_table(
        "labels",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("relevant", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "page", "at"),
    )
    op.create_table(
        "judgements",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("probability", sa.Double(), nullable=False),
        sa.Column("relevant", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "page", "version"),
        sqlite_with_rowid=False,
    )
