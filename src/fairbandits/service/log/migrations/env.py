"""The Alembic environment, which runs the migrations on the connection that the caller passes."""

from alembic import context

from fairbandits.service.log.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
