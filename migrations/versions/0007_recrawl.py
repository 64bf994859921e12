"""Sources know what visits have told of them; what was new is kept."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

FIGURES = (
    "changes",
    "exposure",
    "rate",
    "square",
    "worth",
    "found",
    "seconds",
    "bytes",
    "visits",
    "truths",
    "lies",
    "utility",
    "cost",
)


def upgrade() -> None:
    # Nothing was ever written to it: the scheduler comes with this schema.
    op.drop_table("sources")
    op.create_table(
        "sources",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("added_at", sa.Double(), nullable=False),
        sa.Column("retired_at", sa.Double(), nullable=True),
        sa.Column("retired_reason", sa.Text(), nullable=True),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("tried_at", sa.Double(), server_default="0", nullable=False),
        sa.Column("visited_at", sa.Double(), server_default="0", nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=True),
        sa.Column("missing", sa.SmallInteger(), server_default="0", nullable=False),
        *(sa.Column(name, sa.Double(), server_default="0", nullable=False) for name in FIGURES),
        sa.Column("stated_at", sa.Double(), nullable=True),
        sa.Column("memory", sa.Double(), nullable=True),
        sa.Column("due_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("crawl", "page"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "prints",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("added", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "page"),
    )
    op.create_table(
        "news",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("crawl", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("share", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("segments", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("news_by_crawl", "news", ["crawl", "id"])
    op.create_table(
        "recrawls",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("price", sa.Double(), nullable=False),
        sa.Column("faded", sa.Double(), nullable=False),
        sa.Column("faded_exposure", sa.Double(), nullable=False),
        sa.Column("visits", sa.Integer(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("troubles", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("crawl"),
    )
