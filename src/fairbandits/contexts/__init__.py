"""Who and what, as numbers."""

from fairbandits.contexts.catalogue import Catalogue
from fairbandits.contexts.column_encoders import CategoryEncoder, DateEncoder, NumberEncoder
from fairbandits.contexts.context_encoder import ContextEncoder
from fairbandits.contexts.correlated_columns import correlated_columns
from fairbandits.contexts.item_catalogue import ItemCatalogue
from fairbandits.contexts.offer import Offer
from fairbandits.contexts.table_encoder import TableEncoder
from fairbandits.contexts.tables import FrameTable, fit_encoder

__all__ = [
    "Catalogue",
    "CategoryEncoder",
    "ContextEncoder",
    "DateEncoder",
    "FrameTable",
    "ItemCatalogue",
    "NumberEncoder",
    "Offer",
    "TableEncoder",
    "correlated_columns",
    "fit_encoder",
]
