"""Pages know their simhash, by which near copies are found; links know how many redirects led to them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pages", sa.Column("simhash", sa.BigInteger(), nullable=True))
    op.add_column("links", sa.Column("hops", sa.SmallInteger(), server_default="0", nullable=False))
