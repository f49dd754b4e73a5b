"""Add the last use of a key, and its previous secret."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_COLUMNS = {"used": sa.Double, "old_digest": sa.Text, "old_until": sa.Double}


def upgrade() -> None:
    """Add the columns."""
    for name, kind in _COLUMNS.items():
        op.add_column("keys", sa.Column(name, kind))


def downgrade() -> None:
    """Drop the columns."""
    for name in _COLUMNS:
        op.drop_column("keys", name)
