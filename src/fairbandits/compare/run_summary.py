"""A run reduced to a few numbers: rewards by window of time and subgroup, and how often each arm was shown.

A subgroup is the set of users with the same values of all sensitive attributes (an intersectional group). All
measures of a comparison can be computed from these few numbers, so that thousands of runs can be cached.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.compare.subgroups import Floats, Group, SubgroupMeans
from fairbandits.compare.suite import PART_TITLES
from fairbandits.simulate import SummaryFormat, Trace
from fairbandits.views.short_repr import ShortRepr

#: The number of windows of equal length into which a run is divided; each part consists of whole windows.
WINDOWS = 20

_SUMS = ("count", "expected", "best", "worst")


@dataclass(frozen=True, eq=False, repr=False)
class RunSummary(ShortRepr):
    """The sums over the rounds of a run.

    Attributes
    ----------
    data_source : str
        One line that names the data.
    groups : tuple
        The groups that each subgroup belongs to, one per attribute.
    count : array of shape (n_windows, n_subgroups)
        The number of rounds.
    expected, best, worst : arrays of shape (n_windows, n_subgroups)
        The sums over rounds of three true mean rewards: that of the chosen arm, the highest of any arm, and the
        lowest of any arm.
    shown : mapping of arrays
        How often each arm was chosen, by part of the run.
    arms : tuple
        The ids of the arms that were chosen in any round.
    """

    data_source: str
    groups: tuple[tuple[Group, ...], ...]
    count: Floats
    expected: Floats
    best: Floats
    worst: Floats
    shown: Mapping[Fraction, NDArray[np.int64]]
    arms: tuple[Any, ...]

    def part(self, share: Fraction) -> SubgroupMeans:
        """Return the subgroup means over the last rounds of the run, given their share."""
        return self.windows(WINDOWS - int(share * WINDOWS), WINDOWS)

    def windows(self, start: int, stop: int) -> SubgroupMeans:
        """Return the subgroup means of some windows; subgroups without rounds in them are omitted."""
        count, *sums = (getattr(self, name)[start:stop].sum(axis=0) for name in _SUMS)
        present = count > 0
        groups = tuple(groups for groups, here in zip(self.groups, present, strict=True) if here)
        return SubgroupMeans(groups, count[present], *(values[present] / count[present] for values in sums))

    def to_bytes(self) -> bytes:
        """Return the summary as the bytes of an npz file without pickle."""
        header = {"data_source": self.data_source, "groups": self.groups, "arms": self.arms}
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _SUMS}
        arrays |= {f"shown {share}": values for share, values in self.shown.items()}
        file = io.BytesIO()
        np.savez_compressed(file, header=np.array(json.dumps(header, default=_plain)), **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, path: Path) -> RunSummary:
        """Read a file that contains the bytes of `to_bytes`."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                header = json.loads(str(arrays["header"]))
                sums = {name: arrays[name] for name in _SUMS}
                shown = {share: arrays[f"shown {share}"] for share in PART_TITLES}
            groups = tuple(tuple(_as_tuple(group) for group in groups) for groups in header["groups"])
            arms = tuple(map(_as_tuple, header["arms"]))
        except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} is not the summary of a run ({error}); delete it") from None
        return cls(str(header["data_source"]), groups, **sums, shown=shown, arms=arms)


def summarise_trace(trace: Trace) -> RunSummary:
    """Compute the sums of a trace; raise ValueError where a true mean reward is unknown."""
    unknown = ~np.isfinite(trace.best + trace.worst)  # not finite if any arm's mean is not
    if unknown.any():
        raise ValueError(
            f"worlds of a comparison must know the true mean reward of every arm; one is not finite "
            f"in round {unknown.argmax() + 1} of {len(trace)} ({trace.data_source})"
        )
    keys = list(zip(*(values.tolist() for values in trace.group.values()), strict=True)) or [()] * len(trace)
    names = sorted(set(keys), key=str)
    number = {name: index for index, name in enumerate(names)}
    # Windows are counted from the end, so that a part covers exactly the last rounds, whatever the length of the
    # run.
    ends = [len(trace) - _rounds(len(trace), Fraction(left, WINDOWS)) for left in range(WINDOWS - 1, -1, -1)]
    window = np.searchsorted(ends, np.arange(len(trace)), side="right")
    cell = window * len(names) + np.array([number[key] for key in keys])
    shape = WINDOWS, len(names)
    columns = np.ones(len(trace)), trace.expected, trace.best, trace.worst
    sums: dict[str, Any] = {
        name: np.bincount(cell, weights=values, minlength=WINDOWS * len(names)).reshape(shape)
        for name, values in zip(_SUMS, columns, strict=True)
    }
    groups = (
        tuple((attribute, value) for attribute, value in zip(trace.group, name, strict=True) if value is not None)
        for name in names
    )
    arms = tuple(dict.fromkeys(trace.arm.tolist()))
    index = {arm: position for position, arm in enumerate(arms)}
    chosen = np.array([index[arm] for arm in trace.arm.tolist()])
    shown = {
        share: np.bincount(chosen[len(trace) - _rounds(len(trace), share) :], minlength=len(arms))
        for share in PART_TITLES
    }
    return RunSummary(trace.data_source, tuple(groups), **sums, shown=shown, arms=arms)


def _rounds(length: int, share: Fraction) -> int:
    """Return the number of rounds in the last share of a run; a part has at least one."""
    return max(round(length * share), int(share >= min(PART_TITLES)))


#: The summaries that comparisons cache.
RUN_SUMMARIES: SummaryFormat[RunSummary] = SummaryFormat(summarise_trace, RunSummary.to_bytes, RunSummary.load)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"groups and arms of a cached run must be text or numbers, got {value!r}")


def _as_tuple(value: Any) -> Any:
    # JSON turns tuples into lists.
    return tuple(value) if isinstance(value, list) else value
