"""Contexts: users and items encoded as numbers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairbandits.contexts.catalogue import Catalogue
from fairbandits.contexts.correlated_columns import correlated_columns
from fairbandits.contexts.offer import Offer

if TYPE_CHECKING:
    from fairbandits.contexts.column_encoders import CategoryEncoder, DateEncoder, NumberEncoder
    from fairbandits.contexts.context_encoder import ContextEncoder
    from fairbandits.contexts.item_catalogue import ItemCatalogue
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

# Policies that take arrays do not need the modules for tables, and are imported faster without them.
_TABLES = {
    "CategoryEncoder": "column_encoders",
    "ContextEncoder": "context_encoder",
    "DateEncoder": "column_encoders",
    "FrameTable": "tables",
    "ItemCatalogue": "item_catalogue",
    "NumberEncoder": "column_encoders",
    "TableEncoder": "table_encoder",
    "fit_encoder": "tables",
}


def __getattr__(name: str) -> Any:
    if name in _TABLES:
        return getattr(import_module(f"fairbandits.contexts.{_TABLES[name]}"), name)
    raise AttributeError(f"module 'fairbandits.contexts' has no attribute {name!r}")
