"""How a policy is kept: saved, loaded, merged."""

from __future__ import annotations

import os
from typing import Any, Self

from numpy.typing import NDArray

from fairbandits.arms import ArmIndex
from fairbandits.fairness import GroupRewards
from fairbandits.models import MapError
from fairbandits.policies import policy_files
from fairbandits.policies.core import Core, kind_of
from fairbandits.policies.ledger import Ledger
from fairbandits.policies.serialisation import (
    params_from_dict,
    params_to_dict,
    part,
    rng_from_dict,
    rng_to_dict,
)
from fairbandits.policies.teaching import Teaching


class Keeping(Teaching):
    """A policy as far as it is kept."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save all of it: parameters, what was learned, and where the randomness stands.

        The file is safetensors with a JSON header and a checksum; it is written whole or not at all.
        """
        policy_files.write(path, policy_files.State(*self._state()))

    def checksum(self) -> str:
        """Give a fingerprint of what has been learned: equal to the bit, equal checksum.

        It leaves out where the randomness stands and which decisions are still open.
        """
        return policy_files.State(*self._state()).checksum()

    def state(self) -> policy_files.State:
        """Copy all of it, to be written or compared while the policy goes on."""
        header, arrays = self._state()
        return policy_files.State(header, {name: array.copy() for name, array in arrays.items()})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, feature_map: Any = None) -> Self:
        """Load what `save` wrote; the policy goes on as if it had never stopped.

        Parameters
        ----------
        path : path
            The file.
        feature_map : fitted transformer, optional
            That of the policy's `Model`, where it has one. Files do not hold it, but can tell if it is the same.
        """
        return cls.from_state(policy_files.read(path), str(path), feature_map=feature_map)

    @classmethod
    def from_state(cls, state: policy_files.State, name: str = "the state", *, feature_map: Any = None) -> Self:
        """Make the policy of which `state` gave the copy; `name` is what errors call it."""
        header, arrays = state.header, state.arrays
        try:
            kind = cls if header["kind"] == kind_of(cls) else Core._kinds[header["kind"]]
        except (KeyError, TypeError):
            raise policy_files.PolicyFileError(
                f"{name}: holds a policy of class {header.get('kind')!r}, which is not defined here; "
                "import the module that defines it first"
            ) from None
        if not issubclass(kind, cls):
            raise policy_files.PolicyFileError(
                f"{name}: holds a {kind.__name__}, not a {cls.__name__}; load it with its own class"
            )
        try:
            policy = kind(**params_from_dict(header["params"], feature_map))
            policy._restore(header, arrays)
        except MapError as error:
            raise policy_files.PolicyFileError(f"{name}: {error}") from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            raise policy_files.PolicyFileError(
                f"{name}: its parts do not fit together ({error!r}); save it again"
            ) from None
        # Two policies may be loaded from one file: each numbers its decisions on an account of its own.
        policy._ledger.open_account()
        return policy

    def merge(self, other: Self) -> Self:
        """Make the policy that has learned all that the two have learned.

        Both stay as they are. They must have the same parameters (but for `random_state`) and no common
        past, which would count twice. Decisions of either can be learned by the result.
        """
        self._check_mergeable(other)
        merged = type(self)(**self.get_params())
        merged._restore(*self._state())
        merged.n_features_in_ = self.n_features_in_ or other.n_features_in_
        merged._absorb(other)
        merged.groups.merge(other.groups)
        merged._ledger.merge(other._ledger)
        merged._ledger.open_account()
        merged.rounds_learned += other.rounds_learned
        return merged

    def _check_mergeable(self, other: Self) -> None:
        self._check_alike(other)
        if None not in (self.n_features_in_, other.n_features_in_) and self.n_features_in_ != other.n_features_in_:
            raise ValueError(
                "policies of different width do not merge: "
                f"{self.n_features_in_} and {other.n_features_in_} features"
            )
        for what in ("encoder", "catalogue"):
            if {what} <= self.metadata.keys() & other.metadata.keys() and self.metadata[what] != other.metadata[
                what
            ]:
                raise ValueError(
                    f"the two policies were fitted to logs with another {what}: their features are not the same. "
                    "Keep both logs in one folder, and fit a policy to that"
                )
        if self._ledger.shares_history(other._ledger):
            raise ValueError(
                "the two policies come from one and the same, so what it had learned would count twice; "
                "merge policies that each began from nothing"
            )

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {
            "kind": kind_of(type(self)),
            "params": params_to_dict(self.get_params()),
            "rng": rng_to_dict(self._rng),
            "arms": self._arms.to_json(),
            "ledger": self._ledger.to_json(),
            "groups": self.groups.to_json(),
            "width": self.n_features_in_,
            "rounds_learned": self.rounds_learned,
            "notes": self.metadata,
        }
        arrays: dict[str, NDArray[Any]] = {f"groups.{name}": a for name, a in self.groups.arrays().items()}
        arrays |= {f"ledger.{name}": a for name, a in self._ledger.arrays().items()}
        return header, arrays

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._rng = rng_from_dict(header["rng"])
        self._arms = ArmIndex.from_json(header["arms"])
        self._ledger = Ledger.restore(header["ledger"], part(arrays, "ledger."))
        self.groups = GroupRewards(self.reward_range, self._arms)
        self.groups.restore(header["groups"], part(arrays, "groups."))
        self.n_features_in_ = None if header["width"] is None else int(header["width"])
        self.rounds_learned = int(header["rounds_learned"])
        self.metadata = dict(header.get("notes", {}))  # older files have none
