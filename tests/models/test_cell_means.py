"""Mean rewards of equal contexts: which rows are taken for equal."""

import numpy as np

from fairbandits.models import as_rows
from fairbandits.models.cell_means import CellMeans


def test_rows_are_equal_only_if_all_their_entries_are():
    # The first two have the same product with any weights, up to rounding; -0.0 equals 0.0.
    matrix = np.array([[1e17, 0.0], [1e17, 1.0], [1e17, -0.0], [0.0, 1.0], [0.0, 1.0]])
    model = CellMeans(width=2)
    rows = as_rows(matrix)
    for arm, reward in enumerate((0.2, 0.4, 0.6, 0.8, 1.0)):
        model.learn(arm, rows.row(0, arm), reward)
    mean, width = model.score(rows, np.arange(5))
    np.testing.assert_allclose(mean, [[0.4, 0.4, 0.4, 0.9, 0.9]])
    np.testing.assert_allclose(width, [[0.5**0.5, 1.0, 0.5**0.5, 0.5**0.5, 0.5**0.5]])
