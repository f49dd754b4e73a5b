"""Factors of positive definite matrices beside NumPy's."""

import math

import numpy as np
import pytest

from fairbandits.models.kernels.cholesky import checked_invert, invert, scale_by_root, unpacked


def packed(matrix):
    return matrix[np.tril_indices(len(matrix))]


def positive_definite(d, scales):
    rows = np.random.default_rng(d).normal(size=(3 * d, d)) * scales
    return rows.T @ rows + np.eye(d)


@pytest.mark.parametrize("scales", [1.0, np.array([1e-3, 1.0, 1e3, 1e5])])
def test_agrees_with_numpy(scales):
    matrix = positive_definite(4, scales)
    root, inverse, log_det = invert(packed(matrix), 4)
    np.testing.assert_allclose(unpacked(inverse, 4), np.linalg.inv(matrix), rtol=1e-9)
    np.testing.assert_allclose(root.T @ root, np.linalg.inv(matrix), rtol=1e-9)
    assert math.isclose(log_det, np.linalg.slogdet(matrix)[1], rel_tol=1e-12)
    normal = np.random.default_rng(0).normal(size=(3, 4))
    drawn = normal.copy()
    assert scale_by_root(packed(matrix), drawn)
    np.testing.assert_allclose(drawn, np.linalg.solve(np.linalg.cholesky(matrix).T, normal.T).T, rtol=1e-9)


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]])
def test_other_matrices_are_refused(matrix):
    triangle = packed(np.array(matrix))
    assert math.isnan(invert(triangle, 2)[2])
    assert not scale_by_root(triangle, np.ones((1, 2)))
    with pytest.raises(ValueError, match="contexts must keep A positive definite in float64"):
        checked_invert(triangle, 2)
