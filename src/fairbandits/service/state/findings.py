"""Findings: the disadvantaged group, the gap with its interval, its beginning and the arms behind it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.special  # noqa: F401 - imported now, so that the first visitor of the page does not wait for it
from numpy.typing import NDArray

from fairbandits.audit import verdict
from fairbandits.audit.grouped_sums import GroupedSums, RewardSums, attribute_combinations
from fairbandits.audit.log_sums import COUNT, SQUARES, TOTAL
from fairbandits.audit.report.sentences import AuditSentences
from fairbandits.audit.report.serialisation import comparison_to_dict
from fairbandits.audit.results import Comparison
from fairbandits.audit.sequential import compare_sequentially
from fairbandits.audit.settings import AuditSettings
from fairbandits.service.config import Config
from fairbandits.service.state.monitor import MAX_OPEN_GROUPS, Monitor
from fairbandits.views.text import join_names, percent

#: The confidence level at which all intervals of all groups hold jointly at all times.
CONFIDENCE = 0.95
_STATUS = {verdict.FAIR: "fair", verdict.UNFAIR: "unfair", verdict.UNDECIDED: "undecided"}
# The parts of a sequential audit that are shown; the others need a finished log.
_KEYS = ("attributes", "conclusion", "sentence", "groups", "gap", "since", "decomposition", "missing", "timeline")
_GROUP_KEYS = ("labels", "large_enough", "rewards", "missing", "mean", "low", "high", "missing_share")
_NO_GROUPS = "No decision so far was for a user with a known group, so there are no groups to compare yet."
_NO_ATTRIBUTES = "No sensitive attributes are configured, so there are no groups to compare."


class Findings:
    """The findings at one moment.

    Parameters
    ----------
    monitor : Monitor
        A frozen monitor.
    config : Config
        The configuration, with the tolerance and the minimum size of groups that are shown.
    """

    def __init__(self, monitor: Monitor, config: Config) -> None:
        self._monitor, self._config = monitor, config
        self._settings = AuditSettings(CONFIDENCE, config.tolerance, sequential=True, min_rows=config.min_group)
        span = config.reward.high - config.reward.low
        self.words = AuditSentences(self._settings, span, lowest=config.reward.low)
        self._attributes = config.inputs.attributes
        known = {attribute for attribute, _ in monitor.groups}
        self.comparisons = tuple(self._compare(attribute) for attribute in self._attributes if attribute in known)

    @property
    def status(self) -> str:
        """The verdict: "fair", "unfair" or "undecided"."""
        return _STATUS[verdict.exit_status(self.comparisons, self._settings)] if self.comparisons else "undecided"

    def sentences(self) -> tuple[str, str]:
        """Return the main finding as a sentence, and a second sentence with details."""
        if not self.comparisons:
            return _NO_GROUPS if self._attributes else _NO_ATTRIBUTES, ""
        about = self.words.summary(verdict.headline(self.comparisons))
        status = verdict.exit_status(self.comparisons, self._settings)
        said = self.words.verdict(self.comparisons, status) or ""
        return (about, said) if status == verdict.UNFAIR else (said, about)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON values, without groups that are too small to be shown."""
        sentence, detail = self.sentences()
        monitor, config = self._monitor, self._config
        plain = {
            "seq": monitor.seq,
            "time": _format_time(time.time()),
            "title": config.title,
            "status": self.status,
            "sentence": sentence,
            "detail": detail,
            "headline": verdict.headline(self.comparisons).name if self.comparisons else None,
            "tolerance": config.tolerance,
            "confidence": CONFIDENCE,
            "min_group": config.min_group,
            "reward_range": list(monitor.reward_range),
            "decisions": monitor.decisions,
            "rewards": monitor.rewards,
            "comparisons": [self._plain(comparison) for comparison in self.comparisons],
            "recent": self._recent(),
        }
        return {name: _rounded(value) for name, value in plain.items()}

    def _compare(self, attribute: str) -> Comparison:
        compared = self._compared(attribute)
        # The error is divided as in an audit of the log, which also compares intersections. It is shared by all
        # groups that may occur, so that no interval changes when the first user in a group arrives.
        n_comparisons = len(attribute_combinations(list(self._attributes)))
        configured = self._attributes[attribute]
        n_groups = MAX_OPEN_GROUPS if configured is None else len(configured)
        error = (1.0 - CONFIDENCE) / n_comparisons / n_groups
        return compare_sequentially(compared, self._settings, error)

    def _compared(self, attribute: str) -> GroupedSums:
        monitor = self._monitor
        groups = [group for name, group in monitor.groups if name == attribute]
        at = np.array([monitor.groups.index((attribute, group)) for group in groups])
        missing = monitor.decided[at] - monitor.totals[at, COUNT]
        return GroupedSums(
            (attribute,),
            [(group,) for group in groups],
            _sums(monitor.totals[at], missing),
            _sums(monitor.by_block[:, at]),
            monitor.blocks,
            lambda group: _sums(monitor.by_arm[: len(monitor.arms), at[group]]),
            monitor.arms,
            monitor.reward_range,
            RewardSums(
                np.zeros(()), np.zeros(()), np.zeros(()), np.array(monitor.decisions - monitor.decided[at].sum())
            ),
        )

    def _group_indices(self, comparison: Comparison) -> dict[str, int]:
        """Return the indices of the groups of a comparison that are shown, by name, in configured order."""
        [attribute] = comparison.attributes
        shown = {group.name for group in comparison.compared}
        groups = enumerate(self._monitor.groups)
        return {group: number for number, (name, group) in groups if name == attribute and group in shown}

    def _plain(self, comparison: Comparison) -> dict[str, Any]:
        found = comparison_to_dict(comparison, self.words)
        plain = {key: found[key] for key in _KEYS}
        if plain["decomposition"] is not None:
            plain["decomposition"] = _without_intervals(plain["decomposition"])
        explorations = self._explorations(comparison)
        gains = {group["labels"][0]: {key: group[key] for key in _GROUP_KEYS} for group in plain["groups"]}
        # Groups are in configured order, so that they keep their places on the page.
        plain["groups"] = [gains[name] | explorations[name] for name in explorations]
        plain["not_shown"] = len(comparison.too_small)
        plain["about"] = self._about(comparison, explorations)
        if plain["timeline"] is not None:
            plain["timeline"] = self._shown_timeline(plain["timeline"], self._group_indices(comparison))
        return plain

    def _explorations(self, comparison: Comparison) -> dict[str, dict[str, Any]]:
        """Return the exploration burden of each group, together with its share of the decisions."""
        monitor, numbers = self._monitor, self._group_indices(comparison)
        at = list(numbers.values())
        in_all = monitor.decided[at].sum(), monitor.explored[at].sum()
        groups = [group for name, group in monitor.groups if name == comparison.name]
        return {
            name: {
                "place": groups.index(name),
                "decisions": int(monitor.decided[number]),
                "share_of_decisions": _share(monitor.decided[number], in_all[0]),
                "explorations": int(monitor.explored[number]),
                "share_of_explorations": _share(monitor.explored[number], in_all[1]),
                "exploration_rate": _share(monitor.explored[number], monitor.decided[number]),
            }
            for name, number in numbers.items()
        }

    def _about(self, comparison: Comparison, explorations: dict[str, dict[str, Any]]) -> dict[str, str]:
        """Describe the charts in sentences."""
        found, words = comparison.analysis, self.words
        if found is None:
            return {}
        rates = [f"{percent(each['exploration_rate'])} for {name}" for name, each in explorations.items()]
        return {
            "arms": " ".join(filter(None, (words.effects(found), words.top_arms(found), words.one_sided(found)))),
            "missing": words.missing(found),
            "exploration": f"Exploration rate: {join_names(rates, len(rates))}.",
        }

    def _shown_timeline(self, timeline: dict[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
        """Remove the times at which a group was still too small to be shown, and add the ends of the blocks."""
        monitor = self._monitor
        so_far = np.cumsum(monitor.by_block[:, :, COUNT], axis=0) >= self._config.min_group
        groups = [
            {"labels": group["labels"]}
            | {
                name: _where(group[name], so_far[:, numbers[group["labels"][0]]])
                for name in ("mean", "low", "high")
            }
            for group in timeline["groups"]
        ]
        are_two = so_far[:, list(numbers.values())].sum(axis=1) > 1
        gap = {name: _where(timeline[name], are_two) for name in ("gap_low", "gap_high")}
        ends = [monitor.blocks.start(place + 1) for place in range(monitor.blocks.n)]
        last = np.datetime64(round(monitor.last * 1e6), "us")
        return {"ends": [_format_time(min(end, last)) for end in ends], "groups": groups, **gap}

    def _recent(self) -> list[dict[str, Any]]:
        """Return the recent decisions, newest first, without groups that are too small to be shown."""
        shown = {
            (comparison.attributes[0], group.labels[0])
            for comparison in self.comparisons
            for group in comparison.compared
        }
        decisions = [
            each
            | {
                "time": _format_time(each["time"]),
                "groups": {name: group for name, group in each["groups"].items() if (name, group) in shown},
            }
            for each in self._monitor.recent.values()
        ]
        return decisions[::-1]


def _sums(table: Any, missing: Any = 0.0) -> RewardSums:
    count = table[..., COUNT]
    return RewardSums(count, table[..., TOTAL], table[..., SQUARES], np.zeros_like(count) + missing)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _where(values: list[Any], mask: NDArray[np.bool_]) -> list[Any]:
    return [value if there else None for value, there in zip(values, mask.tolist(), strict=True)]


def _format_time(when: Any) -> str:
    """Format a time (UTC)."""
    moment = when if isinstance(when, np.datetime64) else np.datetime64(round(when * 1e6), "us")
    return f"{np.datetime_as_string(moment, 'ms')}Z"


def _rounded(plain: Any) -> Any:
    """Round floats to six significant digits, because the result is sent to every visitor every second."""
    if isinstance(plain, dict):
        return {name: _rounded(value) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_rounded(value) for value in plain]
    return float(f"{plain:.6g}") if isinstance(plain, float) else plain


def _without_intervals(parts: dict[str, Any]) -> dict[str, Any]:
    """Return a decomposition without intervals, which would hold for a single look, but the page is watched."""
    one_sided = {key: value for key, value in parts["one_sided"].items() if key not in ("low", "high")}
    effects = {key: parts[key]["value"] for key in ("exposure_effect", "within_arm_effect")}
    arms = [arm | {"total": arm["total"]["value"]} for arm in parts["arms"]]
    return parts | effects | {"one_sided": one_sided, "arms": arms}
