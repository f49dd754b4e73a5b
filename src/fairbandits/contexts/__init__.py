"""Who and what, as numbers."""

from fairbandits.contexts.columns import correlated_columns

__all__ = ["correlated_columns"]
