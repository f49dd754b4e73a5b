"""A catalogue of arms, which builds contexts without being given the arms' features in every round."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.arms import ArmId, as_arms
from fairbandits.categorical import Categorical
from fairbandits.contexts.matches import Matches, SharedParts
from fairbandits.contexts.named_matrix import as_named_matrix
from fairbandits.contexts.notebook import arms_html
from fairbandits.contexts.offer import Offer
from fairbandits.models.kernels.layouts import SplitRows
from fairbandits.models.kernels.split_rows import count_unusable
from fairbandits.models.rows import DenseRows, SparseRows, as_floats, checked_csr, refuse_unusable
from fairbandits.views.text import counted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Names of arm parts start at a random number with this many bits.
_NAME_BITS = 62
# Up to this many pairs of non-zeros per user, the pair layout always pays off.
_MANY_PAIRS = 4096


class Catalogue:
    """The arms, their features, and which users they match.

    A context consists of the user's features, the arm's features, and one bit for each way to match, which
    indicates whether the user's value equals the arm's. A catalogue makes rounds faster than a matrix does,
    because contexts need not be searched for the parts that arms share.

    Parameters
    ----------
    features : array-like, data frame or scipy sparse, shape (n_arms, n_arm_features)
        The features of each arm.
    n_user_features : int
        The number of features of a user.
    arms : sequence of str or int, optional
        The ids of the arms; by default those in the index of `features`, or 0..n-1.
    matches : mapping of str to sequence, optional
        For each way to match, by name, the value of every arm, such as the sex of each video's speaker.

    Attributes
    ----------
    arms : sequence of ids
        The ids of the arms.
    width : int
        The number of features of a context.

    Examples
    --------
    >>> from fairbandits import Catalogue, FairLinUCB
    >>> videos = Catalogue([[1.0, 0.0], [0.0, 1.0]], n_user_features=3, matches={"sex": ["female", "male"]})
    >>> offer = videos.offer([0.5, 0.0, 1.0], {"sex": "male"})
    >>> offer.toarray()
    array([[0.5, 0. , 1. , 1. , 0. , 0. ],
           [0.5, 0. , 1. , 0. , 1. , 1. ]])
    >>> decision = FairLinUCB(random_state=0).choose(offer, group="male")
    """

    def __init__(
        self,
        features: Any,
        n_user_features: int,
        arms: Sequence[ArmId] | None = None,
        matches: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        named = as_named_matrix(features, "features")
        if named is not None:
            features, arms = named.values, named.arms_or(arms, "features")
        matrix = _as_csr(features)
        n_arms, n_features = matrix.shape
        if not n_arms:
            raise ValueError("features must have at least one row, got none; a catalogue has at least one arm")
        is_whole = isinstance(n_user_features, int | np.integer) and not isinstance(n_user_features, bool)
        if not is_whole or n_user_features < 0:
            raise ValueError(f"n_user_features must be a non-negative integer, got {n_user_features!r}")
        n_user_features = int(n_user_features)
        self.arms: Sequence[ArmId] = range(n_arms) if arms is None else as_arms(arms, n_arms)
        self.n_user_features = n_user_features
        self._matches = Matches({} if matches is None else matches, n_arms, n_user_features + n_features)
        self.width = n_user_features + n_features + len(self._matches)
        if not self.width:
            raise ValueError("contexts must have at least one column, got none; a constant 1 will do")
        self._features = matrix
        starts = matrix.indptr.astype(np.int64)
        # The names of arm parts must not be used by any other catalogue, not even in another process.
        names = secrets.randbits(_NAME_BITS) + 1 + np.arange(n_arms)
        self._bounds: Ints = np.column_stack([starts[:-1], starts[1:], names])
        self._columns: Ints = matrix.indices.astype(np.int64) + n_user_features
        self._values: Floats = matrix.data.astype(np.float64)

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        return f"<Catalogue of {counted(len(self), 'arm')} with contexts {self.width} wide>"

    def _repr_html_(self) -> str:
        n_matches = len(self._matches)
        n_arm_features = self.width - self.n_user_features - n_matches
        values = {"user features": self.n_user_features, "arm features": n_arm_features, "matches": n_matches}
        return arms_html("Catalogue", self.arms, values)

    def offer(
        self, user: Any, matching: Mapping[str, Any] | None = None, arms: Sequence[ArmId] | None = None
    ) -> Offer:
        """Offer arms to a user.

        Parameters
        ----------
        user : array-like of shape (n_user_features,)
            The user's features.
        matching : mapping of str to value, optional
            The user's value for each way to match; None or a missing value matches no arm.
        arms : sequence of ids, optional
            The arms that this user may be offered; all by default.
        """
        x = as_floats(user, "user must be an array of numbers")
        if x.shape != (self.n_user_features,):
            raise ValueError(f"user must have {self.n_user_features} feature(s), got shape {x.shape}")
        shared = self._matches.shared_parts_of_one(x, self._matches.combination(matching))
        return self._offer(1, x, shared, arms)

    def offer_many(
        self,
        users: Any,
        matching: Mapping[str, Sequence[Any]] | None = None,
        arms: Sequence[ArmId] | None = None,
    ) -> Offer:
        """Offer the same arms to each of many users.

        Parameters
        ----------
        users : array-like or scipy sparse, shape (n_users, n_user_features)
            One row per user.
        matching : mapping of str to sequence, optional
            For each way to match, the value of every user.
        arms : sequence of ids, optional
            The arms that these users may be offered; all by default.
        """
        dense = users.toarray() if hasattr(users, "toarray") else users
        X = as_floats(dense, "users must be a matrix of numbers with one row per user")
        if X.ndim != 2 or not len(X) or X.shape[1] != self.n_user_features:
            raise ValueError(
                f"users must be a matrix with one row per user, {self.n_user_features} wide, got shape {X.shape}"
            )
        shared = self._matches.shared_parts(X, self._matches.combinations(matching, len(X)))
        return self._offer(len(X), X, shared, arms)

    def contexts(
        self, users: Any, arms: Categorical, matching: Mapping[str, Categorical] | None = None
    ) -> sparse.csr_array[Any]:
        """Return the context of one arm for each of many users, as needed for learning from a log.

        Parameters
        ----------
        users : array-like or scipy sparse, shape (n_users, n_user_features)
            One row per user.
        arms : Categorical
            The arm of each user.
        matching : mapping of str to Categorical, optional
            For each way to match, the value of every user.
        """
        places = arms.recoded(self._place)
        if (missing := np.flatnonzero(places < 0)).size:
            arm = arms.labels[arms.codes[missing[0]]]
            raise ValueError(f"arms must be in the catalogue, got {[arm]}")
        own = sparse.csr_array(self._features)[places]
        parts = [sparse.csr_array(users), own, self._matches.bits(matching or {}, places)]
        if parts[0].shape != (len(places), self.n_user_features):
            raise ValueError(f"users must have shape {(len(places), self.n_user_features)}, got {parts[0].shape}")
        return sparse.csr_array(sparse.hstack(parts, format="csr"))

    def _offer(self, n_users: int, users: Floats, shared: SharedParts, arms: Sequence[ArmId] | None) -> Offer:
        starts, columns, values, found, which, is_usable = shared
        if not is_usable:
            refuse_unusable(count_unusable(users), "users")
        bounds, ids = self._bounds, self.arms
        if arms is not None:
            ids = as_arms(arms)
            if not ids:
                raise ValueError("arms must have at least one arm, got none")
            places = self.places(ids)
            which, bounds = which.take(places, axis=1), bounds.take(places, axis=0)
        parts = SplitRows(starts, columns, values, found, which, bounds, self._columns, self._values)
        rows = SparseRows(n_users, len(ids), self.width, parts)
        # Scoring lays out the pairs of non-zeros of each shared part. If there are many such pairs, and more than
        # the matrix has entries, it is better to use the matrix itself.
        n_parts, n_entries = starts.size - 1, columns.size
        if n_entries * n_entries > 2 * n_parts * n_users * max(_MANY_PAIRS, len(ids) * self.width):
            return Offer(ids, DenseRows(n_users, len(ids), self.width, rows.toarray()))
        return Offer(ids, rows)

    @cached_property
    def _place(self) -> dict[ArmId, int]:
        return {arm: place for place, arm in enumerate(self.arms)}

    def places(self, ids: Sequence[ArmId]) -> Ints:
        """Return the indices of arms in the catalogue."""
        try:
            return np.array([self._place[arm] for arm in ids], np.int64)
        except KeyError:
            unknown = [arm for arm in ids if arm not in self._place]
            raise ValueError(f"arms must be in the catalogue, got {unknown[:5]}") from None


def _as_csr(features: Any) -> Any:
    """Check the features of arms, and drop their zeros."""
    if not sparse.issparse(features):
        features = as_floats(features, "features must be a matrix of numbers with one row per arm")
        refuse_unusable(count_unusable(features), "features")
    if features.ndim != 2:
        raise ValueError(f"features must be a matrix with one row per arm, got {features.ndim} dimension(s)")
    is_sparse = sparse.issparse(features)
    csr = checked_csr(features, "features").copy() if is_sparse else sparse.csr_array(features)
    csr.eliminate_zeros()
    return csr
