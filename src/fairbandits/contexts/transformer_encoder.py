"""Custom transformers of scikit-learn as encoders of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.contexts.table_encoder import Features, TableEncoder, as_dense
from fairbandits.contexts.tables import FrameTable


class TransformerEncoder:
    """A fitted transformer, such as a ColumnTransformer, that encodes the rows of a data frame.

    It is not saved with a recommender, because only a pickle could hold it: pass it again when loading, which
    checks that the names of its features are the same.

    Parameters
    ----------
    transformer : object with scikit-learn's `transform` and `get_feature_names_out`
        Fitted on a data frame.
    name : str
        The parameter that it was given as, for errors.

    Attributes
    ----------
    columns, features : tuple of str
        The names of the columns that it reads, and of the features that it returns.
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
        """Return the number of a feature, by its name; interactions of custom encoders are by feature."""
        if column not in self.features:
            raise ValueError(f"interactions must name features of {self._name}, got {column!r}")
        return [self.features.index(column)]

    def encode_table(self, table: FrameTable) -> Features:
        """Encode a data frame."""
        table.require(self.columns, f"{self._name}.feature_names_in_")
        return self._encode(table.native[list(self.columns)])

    def encode_row(self, row: Mapping[str, Any]) -> NDArray[np.float64]:
        """Encode one row, given as a mapping of column to value."""
        import pandas as pd  # noqa: PLC0415 - scikit-learn takes columns by name from data frames alone

        if missing := [column for column in self.columns if column not in row]:
            raise ValueError(f"row must have a value for {missing[0]!r}; give None if it is unknown")
        frame = pd.DataFrame([{column: row[column] for column in self.columns}])
        return as_dense(self._encode(frame)).ravel()

    def encode_rows(self, rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Encode rows given as mappings of column to value."""
        return np.array([self.encode_row(row) for row in rows]).reshape(len(rows), self.width)

    def _encode(self, frame: Any) -> Features:
        encoded: Any = self.transformer.transform(frame)
        is_sparse = sparse.issparse(encoded)
        features: Features = sparse.csr_array(encoded) if is_sparse else np.asarray(encoded, np.float64)
        return features

    def to_dict(self) -> dict[str, Any]:
        """Return the names of the features as JSON values."""
        return {"transformer": type(self.transformer).__name__, "features": list(self.features)}


def load_encoder(values: Mapping[str, Any], transformer: Any, name: str) -> TableEncoder | TransformerEncoder:
    """Return the encoder of a saved table, given the custom transformer where it had one."""
    if "transformer" not in values:
        if transformer is not None:
            raise ValueError(f"{name} must be left out, because the recommender was saved without one")
        return TableEncoder.from_dict(values)
    if transformer is None:
        raise ValueError(f"{name} must be given: the recommender was saved with a {values['transformer']}")
    encoder = TransformerEncoder(transformer, name)
    if list(encoder.features) != values["features"]:
        raise ValueError(f"{name} must be the transformer that was saved, got one with other features")
    return encoder
