"""Custom transformers of scikit-learn as encoders of tables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.contexts.table_encoder import Features, TableEncoder, as_dense, value_in
from fairbandits.contexts.tables import FrameTable


class TransformerEncoder:
    """A fitted transformer, such as a ColumnTransformer, that encodes the rows of a data frame.

    The transformer is not saved with a recommender, because only a pickle could hold it. Pass it again when
    loading: its parameters and its learned state are then compared with those of the original.

    Parameters
    ----------
    transformer : object with scikit-learn's `transform` and `get_feature_names_out`
        Fitted on a data frame.
    name : str
        The name of the parameter, for error messages.

    Attributes
    ----------
    columns, features : tuple of str
        The names of the columns that the transformer reads, and of the features that it returns.
    """

    def __init__(self, transformer: Any, name: str) -> None:
        self.transformer = transformer
        self._name = name
        columns = getattr(transformer, "feature_names_in_", None)
        if columns is None or not callable(getattr(transformer, "transform", None)):
            raise ValueError(
                f"{name} must be a transformer of scikit-learn fitted on a data frame, got {transformer!r}; "
                "try sklearn.compose.ColumnTransformer(...).fit(frame)"
            )
        self.columns: tuple[str, ...] = tuple(map(str, columns))
        self.features: tuple[str, ...] = tuple(map(str, transformer.get_feature_names_out()))

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.features)

    def places(self, column: str) -> Sequence[int]:
        """Return the number of a feature, given its name; with custom encoders, interactions name features."""
        if column not in self.features:
            raise ValueError(f"interactions must name features of {self._name}, got {column!r}")
        return [self.features.index(column)]

    def encode_table(self, table: FrameTable) -> Features:
        """Encode a data frame."""
        table.require(self.columns, f"{self._name}.feature_names_in_")
        return self._encode(table.native[list(self.columns)])

    def encode_row(self, row: Mapping[str, Any]) -> NDArray[np.float64]:
        """Encode one row, given as a mapping of column to value."""
        return self.encode_rows([row]).ravel()

    def encode_rows(self, rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Encode rows given as mappings of column to value, in one call of the transformer."""
        import pandas as pd  # noqa: PLC0415 - scikit-learn takes columns by name from data frames alone

        values = [[value_in(row, column) for column in self.columns] for row in rows]
        return as_dense(self._encode(pd.DataFrame(values, columns=list(self.columns))))

    def _encode(self, frame: Any) -> Features:
        encoded: Any = self.transformer.transform(frame)
        is_sparse = sparse.issparse(encoded)
        features: Features = sparse.csr_array(encoded) if is_sparse else np.asarray(encoded, np.float64)
        return features

    def to_dict(self) -> dict[str, Any]:
        """Return the names of the features and a fingerprint as JSON values."""
        return {
            "transformer": type(self.transformer).__name__,
            "features": list(self.features),
            "fingerprint": fingerprint(self.transformer),
        }


def load_encoder(values: Mapping[str, Any], transformer: Any, name: str) -> TableEncoder | TransformerEncoder:
    """Return the encoder of a saved table, given its custom transformer if it had one."""
    if "transformer" not in values:
        if transformer is not None:
            raise ValueError(f"{name} must be left out, because the recommender was saved without one")
        return TableEncoder.from_dict(values)
    if transformer is None:
        raise ValueError(f"{name} must be given: the recommender was saved with a {values['transformer']}")
    encoder = TransformerEncoder(transformer, name)
    if encoder.to_dict() != values:
        raise ValueError(f"{name} must be the transformer that was saved, got another one")
    return encoder


def fingerprint(transformer: Any) -> str:
    """Return a hash of the parameters and the learned state of a transformer."""
    return hashlib.sha256(repr(_described(transformer)).encode()).hexdigest()


def _described(value: Any) -> Any:
    """Return a value as plain tuples; numbers are rounded to nine digits, which are the same on all machines."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.9g}"
    if isinstance(value, Mapping):
        return tuple((str(key), _described(entry)) for key, entry in value.items())
    if hasattr(value, "toarray"):
        return _described(value.toarray())
    if isinstance(value, np.ndarray | list | tuple):
        return tuple(_described(entry) for entry in (value.tolist() if isinstance(value, np.ndarray) else value))
    if isinstance(value, slice | range | str | int | bool | type(None) | np.generic):
        return repr(value)
    # Describe estimators within estimators; for any other object, the type must suffice.
    attributes = vars(value) if hasattr(value, "get_params") else {}
    public = {name: entry for name, entry in sorted(attributes.items()) if not name.startswith("_")}
    return (type(value).__name__, _described(public))
