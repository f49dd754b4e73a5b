"""Who and what, as numbers."""

from fairbandits.contexts.catalogue import Catalogue
from fairbandits.contexts.correlated_columns import correlated_columns
from fairbandits.contexts.offer import Offer

__all__ = ["Catalogue", "Offer", "correlated_columns"]
