"""The split of a log into parts with different users: for fitting, for selection and for certification."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.byte_kernels import Keys
from fairbandits.ope.cross_fitting import assign_folds

Ints = NDArray[np.int64]

#: The parts of a log: policies are fitted on the first, chosen on the second, and tested on the third.
FITTING, SELECTION, CERTIFICATION = range(3)
#: The names of the parts in reports.
PART_NAMES = ("fitting", "selection", "certification")
# The part to which each of twenty equal shares of the users belongs. Most of them belong to the certification
# part, because its intervals must be narrower than the tolerance.
_PARTS = np.array([FITTING] * 5 + [SELECTION] * 3 + [CERTIFICATION] * 12)


def assign_parts(users: Keys | None, rows: Ints, parts: Ints = _PARTS) -> Ints:
    """Return the part of each row; all rows of a user are in the same part.

    Parameters
    ----------
    users : array of uint64 or None
        The key of the user of each row, or 0 if it is unknown; such a row counts as a separate user.
    rows : array of int
        The row numbers within the log.
    parts : array of int
        The part of each of many equal shares of the users; by default those of certified learning.

    Examples
    --------
    >>> np.bincount(assign_parts(None, np.arange(100_000))).tolist()
    [24830, 15067, 60103]
    """
    # Distinct keys remain distinct, because the conversion wraps around.
    keys = rows if users is None else np.where(users != 0, users.astype(np.int64), rows)
    return np.asarray(parts[assign_folds(keys, len(parts))])
