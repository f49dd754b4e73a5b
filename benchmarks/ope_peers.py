"""Confidence intervals of obp and vw-estimators; each runs in an environment of its own, without fairbandits.

    python ope_peers.py {obp,vw} FOLDER

reads the logs FOLDER/*.npz and writes FOLDER/obp.json or FOLDER/vw.json: the bounds for each log, part of the log
(all rows, then each group) and method. Both libraries treat rows as independent and know no gaps.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock, patch

import numpy as np

# obp draws 10,000 samples unless told otherwise, which takes a minute for 100,000 rows.
_BOOTSTRAP_SAMPLES = 500

Bounds = tuple[float, float]


def obp_intervals(log: dict[str, Any], rows: Any) -> dict[str, Bounds]:
    """Return the bootstrap intervals of obp; its doubly robust estimator gets the reward model of fairbandits."""
    ope = _import_obp()
    shared = {
        "reward": log["reward"][rows],
        "action": log["arm"][rows],
        "pscore": log["propensity"][rows],
        "action_dist": log["candidate"][log["kind"][rows]][:, :, None],
    }
    options = {"alpha": 0.05, "n_bootstrap_samples": _BOOTSTRAP_SAMPLES, "random_state": 0}
    predictions = log["predictions"][log["fold"][rows], log["kind"][rows]][:, :, None]
    found = {
        "obp SNIPS": ope.SelfNormalizedInverseProbabilityWeighting().estimate_interval(**shared, **options),
        "obp DR": ope.DoublyRobust().estimate_interval(
            **shared, **options, estimated_rewards_by_reg_model=predictions
        ),
    }
    return {name: (each["95.0% CI (lower)"], each["95.0% CI (upper)"]) for name, each in found.items()}


def vw_intervals(log: dict[str, Any], rows: Any) -> dict[str, Bounds]:
    """Return the intervals of vw-estimators, which gets the same largest weight as fairbandits."""
    bandits = {
        name: importlib.import_module(f"estimators.bandits.{name}")
        for name in ("cressieread", "clopper_pearson", "gaussian")
    }
    top = 1.0 / float(log["propensity"].min())
    intervals = {
        "vw CR": bandits["cressieread"].Interval(wmin=0.0, wmax=top),
        "vw CP": bandits["clopper_pearson"].Interval(),
        "vw Gauss": bandits["gaussian"].Interval(),
    }
    probability = log["candidate"][log["kind"][rows], log["arm"][rows]]
    columns = (log["propensity"][rows], log["reward"][rows], probability)
    for interval in intervals.values():
        for p_log, reward, p_pred in zip(*(column.tolist() for column in columns), strict=True):
            interval.add_example(p_log, reward, p_pred)
    return {name: _whole_if_unknown(*interval.get(0.05)) for name, interval in intervals.items()}


def _whole_if_unknown(low: float | None, high: float | None) -> Bounds:
    """Return the bounds, or the whole range where there are none or not a number (more successes than trials)."""
    bounds = 0.0 if low is None else low, 1.0 if high is None else high
    return (0.0, 1.0) if np.isnan(bounds).any() else bounds


def _import_obp() -> Any:
    """Import only its estimators; the package would import torch and pandas, which they do not use."""
    if "obp" not in sys.modules:
        importlib.import_module("sklearn.utils")  # before torch is mocked, because it inspects torch
        spec = importlib.util.find_spec("obp")
        if spec is None or spec.origin is None:
            raise ImportError("obp is not installed")
        for name in ("obp", "obp.ope"):
            package = ModuleType(name)
            package.__path__ = [str(Path(spec.origin).parent.joinpath(*name.split(".")[1:]))]
            sys.modules[name] = package
    with patch.dict(sys.modules, torch=MagicMock(), pandas=MagicMock()):
        return importlib.import_module("obp.ope.estimators")


def parts(log: dict[str, Any]) -> Iterator[Any]:
    """Yield all rows, then those of each group."""
    yield slice(None)
    for group in range(int(log["n_groups"])):
        yield np.flatnonzero(log["group"] == group)


def main(peer: str, folder: Path) -> None:
    """Write the intervals of all logs."""
    intervals: Callable[[dict[str, Any], Any], dict[str, Bounds]] = {"obp": obp_intervals, "vw": vw_intervals}[
        peer
    ]
    found = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as stored:
            log = dict(stored)
        found.append([intervals(log, rows) for rows in parts(log)])
    (folder / f"{peer}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
