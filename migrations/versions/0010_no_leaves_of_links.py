"""No leaf beside links and experiences: the tree routes them when it is restored, so it was always 0."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column("links", "leaf")
    op.drop_column("experiences", "leaf")
