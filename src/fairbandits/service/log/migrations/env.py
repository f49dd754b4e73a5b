"""How alembic runs the steps: on the connection that it is given."""

from alembic import context

from fairbandits.service.log.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
