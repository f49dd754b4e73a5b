"""What happened in a simulated run, round by round."""

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

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

_FLOATS = ("reward", "expected", "best", "worst", "probability")


@dataclass(frozen=True, eq=False)
class Trace:
    """A run, as arrays with one entry per round.

    Where the policy put k arms into a slate, `reward` and `expected` are means over the slate, `best` and
    `worst` means over the k best and the k worst arms.

    Attributes
    ----------
    reward : array of float
        The reward of the arm that was picked.
    expected : array of float
        Its true mean.
    best, worst : arrays of float
        The highest and the lowest true mean of any arm of the round.
    probability : array of float
        The probability with which the arm was picked; NaN where it is not known.
    arm : array of object
        The id of the arm that was picked; the ids in their order, a tuple, where slates were.
    part : array of object
        "train" or "test".
    group : mapping of str to arrays of object
        By attribute, the user's group; None where it is not known. The attribute of groups that are given
        as plain values is "group".
    data_source : str
        A line that says which data the run shows.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.simulate import simulate
    >>> from fairbandits.worlds import LinearWorld
    >>> trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=200))
    >>> len(trace), trace.parts
    (200, ('test',))
    >>> sorted(trace.metrics())[:3]
    ['cmr_a', 'cmr_b', 'regret_a']
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

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the run, in the order in which they came."""
        return tuple(dict.fromkeys(self.part.tolist()))

    def in_part(self, part: str) -> Trace:
        """Give the rounds of one part alone."""
        if part not in self.parts:
            raise ValueError(f"part={part!r} came; this trace has {', '.join(map(repr, self.parts))}")
        return self._rounds(self.part == part)

    def last(self, rounds: int) -> Trace:
        """Give the last rounds alone, whatever their parts."""
        return self._rounds(slice(max(len(self) - rounds, 0), None))

    def _rounds(self, mine: NDArray[np.bool_] | slice) -> Trace:
        columns = {name: getattr(self, name)[mine] for name in (*_FLOATS, "arm", "part")}
        group = {attribute: values[mine] for attribute, values in self.group.items()}
        return replace(self, group=group, **columns)

    def running_means(self, part: str, attribute: str | None = None) -> dict[Any, Floats]:
        """Give the cumulative mean reward of each group after each round of a part, which starts anew there.

        Parameters
        ----------
        part : str
            "train" or "test".
        attribute : str, optional
            The attribute whose groups to follow; left out, the first one.
        """
        rounds = self.in_part(part)
        groups = rounds._groups(attribute)
        names = metrics.group_means(rounds.reward, groups)
        return {name: metrics.cumulative_mean(rounds.reward, groups == name) for name in names}

    def metrics(self, part: str = "test") -> dict[str, float]:
        """Give the figures of the paper's tables for one part, and what each group lost.

        Returns
        -------
        dict
            `utility_loss`, `reward_difference`, `worst_off_reward`, and for each group `cmr_<group>`, its
            mean reward, and `regret_<group>`, its own mean regret. Where attributes are named, the names of
            the groups are `<attribute>_<group>`, each attribute has its own
            `reward_difference_<attribute>`, and `reward_difference` is the largest of them.
        """
        rounds = self.in_part(part)
        found = {"utility_loss": metrics.utility_loss(rounds.best, rounds.reward)}
        differences = {name: metrics.reward_gap(rounds.reward, groups) for name, groups in rounds.group.items()}
        found["reward_difference"] = max(differences.values(), default=0.0)
        worst = [metrics.worst_off_reward(rounds.reward, groups) for groups in rounds.group.values()]
        # An attribute of which nobody's value is known says nothing.
        found["worst_off_reward"] = min((w for w in worst if not np.isnan(w)), default=float("nan"))
        for attribute, groups in rounds.group.items():
            label = "" if attribute == DEFAULT_ATTRIBUTE else f"{attribute}_"
            if label:
                found[f"reward_difference_{attribute}"] = differences[attribute]
            means = metrics.group_means(rounds.reward, groups)
            found |= {f"cmr_{label}{name}": mean for name, mean in means.items()}
            regrets = metrics.group_regret(rounds.best, rounds.expected, groups)
            found |= {f"regret_{label}{name}": regret for name, regret in regrets.items()}
        return found

    def to_frame(self) -> pd.DataFrame:
        """Give the trace as a pandas DataFrame with one line per round, the groups in a column per attribute."""
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError:
            raise ImportError("to_frame needs pandas, which is not installed: pip install pandas") from None
        columns = {name: getattr(self, name) for name in ("part", "arm", *_FLOATS)}
        return pd.DataFrame({**columns, **self.group})

    def to_log(self) -> dict[str, Any]:
        """Give the columns of a log: the number of each round, its arm and reward, how likely it was, the groups.

        `fairbandits.logs.write_log` writes them to a file. Probabilities that are not known are left out.
        """
        if any(isinstance(arm, tuple) for arm in self.arm[:1]):
            raise ValueError("a log has one arm a row, and this trace has slates; simulate without k")
        columns: dict[str, Any] = {"decision": np.arange(len(self)), "arm": self.arm, "reward": self.reward}
        if not np.isnan(self.probability).any():
            columns["propensity"] = self.probability
        return columns | dict(self.group)

    def to_bytes(self) -> bytes:
        """Give the trace as the bytes of an npz file, without pickle: equal traces, equal bytes."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _FLOATS}
        labels: dict[str, list[Any]] = {}
        for name, values in self._words().items():
            labels[name] = list(dict.fromkeys(values.tolist()))
            code = {label: number for number, label in enumerate(labels[name])}
            arrays[f"code {name}"] = np.array([code[value] for value in values.tolist()], np.int32)
        header = json.dumps({"labels": labels, "data_source": self.data_source})
        file = io.BytesIO()
        np.savez_compressed(file, header=np.array(header), **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read the file of what `to_bytes` gave."""
        try:
            # Read at once: numpy leaves files open that it cannot make out.
            with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as arrays:
                header = json.loads(str(arrays["header"]))
                words = {
                    name: as_objects([*map(_label, labels)])[arrays[f"code {name}"]]
                    for name, labels in header["labels"].items()
                }
                floats = {name: arrays[name] for name in _FLOATS}
            source = str(header["data_source"])
        except (KeyError, ValueError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path}: not the file of a trace ({error}); remove it") from None
        group = {name.removeprefix("group "): words[name] for name in words if name.startswith("group ")}
        words = {name: words[name] for name in ("arm", "part")}
        return cls(**floats, **words, group=group, data_source=source)

    def _words(self) -> dict[str, NDArray[Any]]:
        groups = {f"group {attribute}": values for attribute, values in self.group.items()}
        return {"arm": self.arm, "part": self.part, **groups}

    def _groups(self, attribute: str | None) -> NDArray[Any]:
        name = next(iter(self.group), None) if attribute is None else attribute
        if name is None:
            raise ValueError("nobody's group is known in this trace; give the visits of the world groups")
        if name not in self.group:
            raise ValueError(f"attribute={attribute!r} came; this trace has {', '.join(self.group)}")
        return self.group[name]


def _label(label: Any) -> Any:
    # JSON knows no tuples, and a slate is one.
    return tuple(label) if isinstance(label, list) else label


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Make an array of the values as they are: numpy would turn numbers among words into words."""
    return np.fromiter(values, dtype=object, count=len(values))
