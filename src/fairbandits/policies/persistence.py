"""Policy files: arrays in safetensors, everything else as JSON in the header; no pickle."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmIndex
from fairbandits.models import FeatureMapError
from fairbandits.models.reward_model import with_prefix
from fairbandits.policies.ledger import Ledger
from fairbandits.policies.serialisation import (
    params_from_dict,
    params_to_dict,
    rng_from_dict,
    rng_to_dict,
)
from fairbandits.storage import atomic_write

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

FORMAT = "fairbandits-policy"
VERSION = 5
# Versions that can still be read.
_OLDER = ("3", "4")

#: The metadata in a file that only a recommender reads; a policy that is loaded on its own drops it.
RECOMMENDER = "recommender"

AnyPolicy = TypeVar("AnyPolicy", bound="Policy")


class PolicyFileError(ValueError):
    """Raised for a file that cannot be read as a policy."""


@dataclass(frozen=True, eq=False)
class PolicyState:
    """A snapshot of a whole policy.

    Attributes
    ----------
    header : dict
        Everything that is not an array, as JSON values.
    arrays : dict of arrays
        The arrays, by name.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def copy(self) -> PolicyState:
        """Return a copy that does not change with the policy."""
        return PolicyState(self.header, {name: array.copy() for name, array in self.arrays.items()})

    def checksum(self) -> str:
        """Return a hash of the learned state; see `Policy.checksum`."""
        learned = {name: self.header[name] for name in ("class", "arms", "groups", "rounds_learned")}
        arrays = {name: array for name, array in self.arrays.items() if not name.startswith("ledger.")}
        return _hash(json.dumps(learned, sort_keys=True), arrays)

    def to_bytes(self) -> bytes:
        """Return the content of a policy file."""
        from safetensors.numpy import save  # noqa: PLC0415  (needed only here, and slow to import)

        # Not ascontiguousarray, which would turn a scalar array into a vector.
        arrays = {name: np.array(array, order="C") for name, array in self.arrays.items()}
        text = json.dumps(self.header, sort_keys=True)
        metadata = {"format": FORMAT, "version": str(VERSION), "header": text, "sha256": _hash(text, arrays)}
        return save(arrays, metadata)

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "the state") -> PolicyState:
        """Read the bytes that `to_bytes` returned; raise PolicyFileError if damaged or of another version."""
        from safetensors import SafetensorError  # noqa: PLC0415
        from safetensors.numpy import load  # noqa: PLC0415

        try:
            arrays = load(content)
            length = int.from_bytes(content[:8], "little")
            metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
        except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise PolicyFileError(f"{name}: not a policy file, or truncated or damaged ({error})") from None
        if metadata.get("format") != FORMAT:
            raise PolicyFileError(f"{name}: a safetensors file, but not a saved fairbandits policy")
        text = metadata.get("header", "")
        version = metadata.get("version")
        if version not in {str(VERSION), *_OLDER}:
            raise PolicyFileError(
                f"{name}: policy file must have format version {', '.join(_OLDER)} or {VERSION}, got {version!r}; "
                "load it with the release of fairbandits that saved it"
            )
        if metadata.get("sha256") != _hash(text, arrays):
            raise PolicyFileError(f"{name}: its checksum does not match its content; restore the file from a copy")
        state = cls(json.loads(text), arrays)
        if version == "3":
            state = _with_new_names(state)
        # A service also stores other kinds of state in this form.
        if version in _OLDER and "params" in state.header:
            _check_scale(state, version, name)
            _drop_default_tolerance(state.header)
        return state


def _check_scale(state: PolicyState, version: str, name: str) -> None:
    """Reject an old policy with a reward range other than (0, 1), because its model learned unscaled rewards."""
    given = params_from_dict({"range": state.header["params"].get("reward_range", [0.0, 1.0])})["range"]
    if tuple(given) != (0.0, 1.0):
        raise PolicyFileError(
            f"{name}: reward_range must be (0, 1) in a policy file of version {version}, got {tuple(given)}, "
            f"because version {VERSION} scales rewards; learn again from the log"
        )


# Up to version 4, these policies had a default tolerance of 0.01; for rewards in [0, 1], None now means the same.
_HAD_DEFAULT_TOLERANCE = {"FairLinUCB", "EvenLinUCB", "PrimalDualLinUCB", "CounterfactualLinUCB"}


def _drop_default_tolerance(header: dict[str, Any]) -> None:
    """Replace the old default with the new one, so that old and new policies have equal parameters."""
    if header["class"] in _HAD_DEFAULT_TOLERANCE and header["params"].get("tolerance") == 0.01:
        header["params"]["tolerance"] = None


# Prefixes of arrays in files of version 3; the most specific first.
_RENAMED_ARRAYS = {"bank.common.": "model.shared.", "bank.lanes": "model.blocks", "bank.": "model."}


def _with_new_names(state: PolicyState) -> PolicyState:
    """Return the state of a file of version 3 (fairbandits 0.1.0) with the current names."""
    header = {("class" if name == "kind" else name): value for name, value in state.header.items()}
    header["metadata"] = header.pop("notes", {})
    header["records"] = {"regrets": header.pop("regrets")} if "regrets" in header else {}
    return PolicyState(header, {_upgraded_name(name): array for name, array in state.arrays.items()})


def _upgraded_name(name: str) -> str:
    if name.startswith("regrets."):
        return f"records.{name}"
    for old, new in _RENAMED_ARRAYS.items():
        if name.startswith(old):
            return name.replace(old, new, 1)
    return name


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a policy file atomically."""
    target = Path(path)
    if not target.parent.is_dir():
        raise PolicyFileError(f"{path}: its folder must exist; create it first")
    if target.is_dir():
        raise PolicyFileError(f"{path}: must be a file, got a folder")
    atomic_write(target, content)


def read(path: str | os.PathLike[str]) -> PolicyState:
    """Read a policy file."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise PolicyFileError(f"{path}: no such file") from None
    except OSError as error:
        raise PolicyFileError(f"{path}: cannot be read as a policy file ({error.strerror})") from None
    return PolicyState.from_bytes(content, str(path))


def _hash(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def kind_of(cls: type) -> str:
    """Return the name of a class in files: with its module, except for classes of this package, which may move."""
    if cls.__module__.split(".")[0] == "fairbandits":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"


def state_of(policy: Policy) -> PolicyState:
    """Return the state of a policy; its arrays are not copies."""
    records = policy.records()
    header: dict[str, Any] = {
        "class": kind_of(type(policy)),
        "params": params_to_dict(policy.get_params(deep=False)),
        "rng": rng_to_dict(policy._rng),
        "arms": policy._arms.to_json(),
        "ledger": policy._ledger.to_json(),
        "groups": policy.groups.to_json(),
        "records": {name: record.to_json() for name, record in records.items()},
        "width": None if policy._model is None else policy._model.width,
        "rounds_learned": policy.rounds_learned,
        "metadata": dict(policy.metadata),
    }
    if policy._feature_names is not None:
        header["feature_names"] = list(policy._feature_names)
    parts: dict[str, dict[str, NDArray[Any]]] = {"groups": {**policy.groups.arrays()}}
    parts["ledger"] = {**policy._ledger.arrays()}
    parts |= {f"records.{name}": {**record.arrays()} for name, record in records.items()}
    # A model that was used only for choosing has learned nothing that needs saving.
    if policy.rounds_learned and policy._model is not None:
        parts["model"] = policy._model.arrays()
    return PolicyState(
        header, {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}
    )


def restore(policy: Policy, state: PolicyState) -> None:
    """Restore a state into a policy that has the same parameters and has learned nothing."""
    header, arrays = state.header, state.arrays
    policy._rng = rng_from_dict(header["rng"])
    policy._arms = ArmIndex.from_json(header["arms"])
    # Two policies may be loaded from one file: each numbers its decisions in its own session.
    policy._ledger = Ledger.restored(header["ledger"], with_prefix(arrays, "ledger."))
    policy.groups = policy._new_record(policy.reward_range, policy._arms)
    policy.groups.restore(header["groups"], with_prefix(arrays, "groups."))
    for name, record in policy.records().items():
        record.restore(header["records"][name], with_prefix(arrays, f"records.{name}."))
    policy.rounds_learned = int(header["rounds_learned"])
    policy.metadata = {name: value for name, value in header["metadata"].items() if name != RECOMMENDER}
    names = header.get("feature_names")
    policy._feature_names = None if names is None else tuple(map(str, names))
    if header["width"] is not None:
        model = policy._model_for(int(header["width"]))
        stored = with_prefix(arrays, "model.")
        if stored:
            model.restore(stored)


def policy_from(state: PolicyState, cls: type[AnyPolicy], name: str, feature_map: Any) -> AnyPolicy:
    """Rebuild the policy of a state; its class must derive from `cls`."""
    header = state.header
    try:
        kind = cls if header["class"] == kind_of(cls) else cls.kinds[header["class"]]
    except (KeyError, TypeError):
        raise PolicyFileError(
            f"{name}: its class {header.get('class')!r} is not defined here; import the module that defines it"
        ) from None
    if not issubclass(kind, cls):
        raise PolicyFileError(
            f"{name}: it must be a {cls.__name__}, got a {kind.__name__}; load it with its own class"
        )
    try:
        policy = kind(**params_from_dict(header["params"], feature_map))
        restore(policy, state)
    except FeatureMapError as error:
        raise PolicyFileError(f"{name}: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise PolicyFileError(f"{name}: its parts are inconsistent ({error!r}); save it again") from None
    return policy


def check_mergeable(policy: Policy, other: Policy) -> None:
    """Raise ValueError unless two policies can be merged."""
    check_same_parameters(policy, other)
    widths = [each._model.width for each in (policy, other) if each._model is not None]
    if len(set(widths)) > 1:
        raise ValueError(
            f"policies must have contexts of the same width to merge, got {widths[0]} and {widths[1]}"
        )
    names = [each._feature_names for each in (policy, other) if each._feature_names is not None]
    if len(set(names)) > 1:
        raise ValueError("policies must have learned contexts with the same columns to merge, got different names")
    for what in ("encoder", "catalogue"):
        ours, theirs = policy.metadata.get(what), other.metadata.get(what)
        if None not in (ours, theirs) and ours != theirs:
            raise ValueError(
                f"policies must be fitted with the same {what} to merge; fit one policy to a folder with both logs"
            )
    if policy._ledger.shares_history(other._ledger):
        raise ValueError(
            "policies must not share a history, which would count twice; merge policies that each started "
            "untrained"
        )


def check_same_parameters(policy: Policy, other: Policy) -> None:
    """Raise ValueError unless two policies are of the same class and have the same parameters."""
    if type(other) is not type(policy):
        raise ValueError(
            f"policies must be of the same class, got {type(policy).__name__} and {type(other).__name__}"
        )
    params = (params_to_dict(each.get_params(deep=False)) for each in (policy, other))
    ours, theirs = (each | {"random_state": None} for each in params)
    if ours != theirs:
        different = [name for name in ours if ours[name] != theirs[name]]
        raise ValueError(f"policies must have the same parameters, got different {', '.join(different)}")
