"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "crawls",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("topic", sa.String(length=200), nullable=False),
        sa.Column("topic_body", sa.JSON(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("policy", sa.String(length=40), nullable=False),
        sa.Column("random_seed", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("stop_reason", sa.String(length=40), nullable=True),
        sa.Column("stop_detail", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("seconds", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("crawl", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("events_by_crawl", "events", ["crawl", "id"], unique=False)
    op.create_table(
        "experiences",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("features", sa.LargeBinary(), nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("leaf", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "page"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "hosts",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=262), nullable=False),
        sa.Column("site", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "number"),
        sa.UniqueConstraint("crawl", "name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "links",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_key", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("source", sa.Integer(), nullable=True),
        sa.Column("depth", sa.SmallInteger(), nullable=False),
        sa.Column("anchor", sa.Text(), nullable=False),
        sa.Column("features", sa.LargeBinary(), nullable=True),
        sa.Column("leaf", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("crawl", "number"),
        sa.UniqueConstraint("crawl", "url_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "metric_points",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("pages", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("relevant_pages", sa.Integer(), nullable=False),
        sa.Column("sites", sa.Integer(), nullable=False),
        sa.Column("relevant_sites", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("duplicates", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("leaves", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "pages"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "nodes",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("feature", sa.SmallInteger(), nullable=True),
        sa.Column("threshold", sa.Double(), nullable=True),
        sa.Column("left", sa.Integer(), nullable=True),
        sa.Column("right", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("crawl", "number"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "pages",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("link", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_key", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("site", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("text_key", sa.BigInteger(), nullable=True),
        sa.Column("duplicate_of", sa.Integer(), nullable=True),
        sa.Column("outlinks", sa.Integer(), server_default="0", nullable=False),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.Column("relevant", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("judge_version", sa.Integer(), nullable=True),
        sa.Column("reward", sa.Double(), server_default="0", nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("leaf", sa.Integer(), server_default="0", nullable=False),
        sa.Column("explored", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("fetched_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "number"),
        sa.UniqueConstraint("crawl", "url_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "robots",
        sa.Column("origin", sa.String(length=300), nullable=False),
        sa.Column("fetched_at", sa.Double(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("origin", "fetched_at"),
    )
    op.create_table(
        "sites",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "number"),
        sa.UniqueConstraint("crawl", "name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshots",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("crawl", "kind", "version"),
    )
    op.create_table(
        "sources",
        sa.Column("crawl", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("added_at", sa.Double(), nullable=False),
        sa.Column("retired_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("crawl", "page"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "visits",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("crawl", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("changed", sa.Boolean(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("visits_by_page", "visits", ["crawl", "page", "at"], unique=False)
    # ### end Alembic commands ###
