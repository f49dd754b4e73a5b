"""The record of a simulated run, round by round."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import metrics
from fairbandits.fairness.groups import DEFAULT_ATTRIBUTE
from fairbandits.simulate.notebook import plot_trace, trace_html
from fairbandits.views.text import counted, join_names, shorten_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_FLOATS = ("reward", "expected", "best", "worst", "probability")


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """A simulated run, as arrays with one entry per round.

    With slates of k arms, `reward` and `expected` are means over the slate, and `best` and `worst` are means over
    the k best and the k worst arms.

    Attributes
    ----------
    reward : array of float
        The reward of the chosen arm that the policy saw, immediately or later; NaN if it never saw one.
    expected : array of float
        The true mean reward of the chosen arm; NaN where it is unknown, as in the replay of a log.
    best, worst : arrays of float
        The highest and the lowest true mean reward among the arms on offer; NaN if one of them is unknown.
    probability : array of float
        The probability with which the arm was chosen; NaN where it is unknown.
    arm : array of object
        The id of the chosen arm; for a slate, the tuple of ids.
    part : array of object
        "train" or "test".
    group : mapping of str to arrays of object
        The users' groups, by attribute; None where a group is unknown. Groups without an attribute name are
        under "group".
    data_source : str
        One line that names the data.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.simulate import simulate
    >>> from fairbandits.worlds import LinearWorld
    >>> trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=200))
    >>> len(trace), trace.parts
    (200, ('test',))
    >>> list(trace.metrics())[:2]
    ['utility_loss', 'reward_gap']
    """

    reward: Floats
    expected: Floats
    best: Floats
    worst: Floats
    probability: Floats
    arm: NDArray[Any]
    part: NDArray[Any]
    group: Mapping[str, NDArray[Any]]
    data_source: str = ""

    def __len__(self) -> int:
        return len(self.reward)

    def __repr__(self) -> str:
        attributes = join_names([shorten_name(name) for name in self.group], 3) if self.group else "none"
        return f"<Trace of {counted(len(self), 'round')}: {', '.join(self.parts)}; attributes: {attributes}>"

    def _repr_html_(self) -> str:
        return trace_html(self)

    def plot(self, ax: Axes | None = None, *, attribute: str | None = None) -> Axes:
        """Plot the cumulative mean reward of each group over the rounds, part by part; return the axes.

        As in `running_means`, these are true mean rewards, and start at the first round of each part.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; by default those of a new figure.
        attribute : str, optional
            The attribute that defines the groups; by default the first one.
        """
        return plot_trace(self, ax, attribute)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the run, in order."""
        return tuple(dict.fromkeys(self.part.tolist()))

    def in_part(self, part: str) -> Trace:
        """Return the rounds of one part."""
        if part not in self.parts:
            raise ValueError(f"part must be one of {', '.join(map(repr, self.parts))}, got {part!r}")
        return self._rounds(self.part == part)

    def last(self, rounds: int) -> Trace:
        """Return the last rounds, regardless of their parts."""
        return self._rounds(slice(max(len(self) - rounds, 0), None))

    def _rounds(self, selected: NDArray[np.bool_] | slice) -> Trace:
        columns = {name: getattr(self, name)[selected] for name in (*_FLOATS, "arm", "part")}
        group = {attribute: values[selected] for attribute, values in self.group.items()}
        return replace(self, group=group, **columns)

    def running_means(self, part: str, attribute: str | None = None) -> dict[Any, Floats]:
        """Return the cumulative mean reward of each group after each round of a part, from true mean rewards.

        Parameters
        ----------
        part : str
            "train" or "test"; the means start at the first round of the part.
        attribute : str, optional
            The attribute that defines the groups; by default the first one.
        """
        rounds = self.in_part(part)
        groups = rounds.groups_by(attribute)
        known = ~np.isnan(rounds.expected)
        names = metrics.group_rounds(groups)
        return {name: metrics.cumulative_mean(rounds.expected, (groups == name) & known) for name in names}

    def metrics(self, part: str = "test") -> dict[str, float]:
        """Compute the metrics of the paper's tables for one part, and each group's regret.

        All but one are computed from the true mean rewards of the chosen arms, as in every other output.

        Returns
        -------
        dict
            `utility_loss`, `reward_gap`, `worst_off_reward`, and for each group `cmr_<group>`, its cumulative mean
            reward, and `regret_<group>`, its mean regret. If attributes are named, groups are written
            `<attribute>_<group>`, each attribute has a `reward_gap_<attribute>`, and `reward_gap` is the largest
            of these. `observed_reward_gap` is the same as `reward_gap`, but computed from the rewards that the
            policy saw, with their noise and bias. Groups with hardly any rounds count neither for gaps nor for
            `worst_off_reward` (see `fairbandits.fairness.metrics.assessed_groups`).

            In the replay of a log, only rounds with a known mean reward count; `utility_loss` and regrets are NaN.
        """
        rounds = self.in_part(part)
        seen = rounds._rounds(~np.isnan(rounds.reward))
        observed = [metrics.reward_gap(seen.reward, groups) for groups in seen.group.values()]
        rounds = rounds._rounds(~np.isnan(rounds.expected))
        gaps = {name: metrics.reward_gap(rounds.expected, groups) for name, groups in rounds.group.items()}
        lowest = [metrics.worst_off_reward(rounds.expected, groups) for groups in rounds.group.values()]
        values = {
            "utility_loss": metrics.utility_loss(rounds.best, rounds.expected),
            "reward_gap": max(gaps.values(), default=0.0),
            "observed_reward_gap": max(observed, default=0.0),
            # NaN is the mean of an attribute whose values are all unknown.
            "worst_off_reward": min((mean for mean in lowest if not np.isnan(mean)), default=float("nan")),
        }
        for attribute, groups in rounds.group.items():
            prefix = "" if attribute == DEFAULT_ATTRIBUTE else f"{attribute}_"
            if prefix:
                values[f"reward_gap_{attribute}"] = gaps[attribute]
            means = metrics.group_means(rounds.expected, groups)
            values |= {f"cmr_{prefix}{name}": mean for name, mean in means.items()}
            regrets = metrics.group_regret(rounds.best, rounds.expected, groups)
            values |= {f"regret_{prefix}{name}": regret for name, regret in regrets.items()}
        return values

    def to_frame(self) -> pd.DataFrame:
        """Return the trace as a pandas DataFrame: one row per round, one column per attribute of the groups."""
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError:
            raise ImportError("to_frame needs pandas, which is not installed: pip install pandas") from None
        columns = {name: getattr(self, name) for name in ("part", "arm", *_FLOATS)}
        return pd.DataFrame({**columns, **self.group})

    def to_log(self) -> dict[str, Any]:
        """Return the columns of a log: decision number, arm, reward, propensity and groups.

        `fairbandits.logs.write_log` writes them to a file. The propensity is omitted if any is unknown.
        """
        if any(isinstance(arm, tuple) for arm in self.arm[:1]):
            raise ValueError("a log has one arm per row, but this trace has slates; simulate without k")
        columns: dict[str, Any] = {"decision": np.arange(len(self)), "arm": self.arm, "reward": self.reward}
        if not np.isnan(self.probability).any():
            columns["propensity"] = self.probability
        return columns | dict(self.group)

    def to_bytes(self) -> bytes:
        """Return the trace as the bytes of an npz file without pickle; equal traces have equal bytes."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _FLOATS}
        labels: dict[str, list[Any]] = {}
        for name, values in self._categorical().items():
            labels[name] = list(dict.fromkeys(values.tolist()))
            code = {label: number for number, label in enumerate(labels[name])}
            arrays[f"code {name}"] = np.array([code[value] for value in values.tolist()], np.int32)
        header = json.dumps({"labels": labels, "data_source": self.data_source})
        file = io.BytesIO()
        np.savez_compressed(file, header=np.array(header), **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a file that contains the bytes of `to_bytes`."""
        try:
            # Read first: numpy would leave a file open that it cannot parse.
            with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as arrays:
                header = json.loads(str(arrays["header"]))
                columns = {
                    name: as_objects([*map(_label, labels)])[arrays[f"code {name}"]]
                    for name, labels in header["labels"].items()
                }
                floats = {name: arrays[name] for name in _FLOATS}
            source = str(header["data_source"])
        except (KeyError, ValueError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} is not a trace file ({error}); delete it") from None
        group = {name.removeprefix("group "): columns[name] for name in columns if name.startswith("group ")}
        return cls(**floats, arm=columns["arm"], part=columns["part"], group=group, data_source=source)

    def _categorical(self) -> dict[str, NDArray[Any]]:
        groups = {f"group {attribute}": values for attribute, values in self.group.items()}
        return {"arm": self.arm, "part": self.part, **groups}

    def groups_by(self, attribute: str | None = None) -> NDArray[Any]:
        """Return the group of each round's user by an attribute; by default the first one."""
        name = next(iter(self.group), None) if attribute is None else attribute
        if name is None:
            raise ValueError("the trace has no groups; the visits of the world must have a group")
        if name not in self.group:
            raise ValueError(f"attribute must be one of {', '.join(map(repr, self.group))}, got {attribute!r}")
        return self.group[name]


def _label(label: Any) -> Any:
    # JSON turns the tuple of a slate into a list.
    return tuple(label) if isinstance(label, list) else label


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return an array of the values as they are; numpy would convert numbers among strings to strings."""
    return np.fromiter(values, dtype=object, count=len(values))
