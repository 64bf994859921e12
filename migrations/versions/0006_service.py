"""Pages know what their link looked like when it was chosen and which links they gave; crawls have a start key."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pages", sa.Column("features", sa.LargeBinary(), nullable=True))
    op.add_column("pages", sa.Column("first_link", sa.Integer(), nullable=True))
    op.add_column("pages", sa.Column("new_links", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("pages_by_site", "pages", ["crawl", "site", "relevant"])
    op.create_index("pages_by_link", "pages", ["crawl", "link"])
    op.add_column("crawls", sa.Column("start_key", sa.String(200), nullable=True))
    op.add_column("crawls", sa.Column("start_body", sa.String(64), nullable=True))
    op.create_index("crawls_by_start_key", "crawls", ["start_key"], unique=True)
    op.create_table(
        "webhooks",
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("event", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("url"),
    )
