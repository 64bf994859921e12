"""Alembic's entry point: runs the migrations on the connection that store/migrate.py hands over."""

from alembic import context

from tres_crawler.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
