"""The gap of a comparison as JSON values, with its history and its decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report.gap_changes import gap_change
from fairbandits.audit.report.sentences import AuditSentences
from fairbandits.audit.results import (
    ArmContribution,
    Decomposition,
    GapAnalysis,
    GroupResult,
    History,
    MissingRewards,
    Timeline,
    WindowGap,
)
from fairbandits.audit.time_blocks import Moment
from fairbandits.audit.windows import Windows
from fairbandits.report.number_formats import json_number


def analysis_to_dict(analysis: GapAnalysis, sentences: AuditSentences) -> dict[str, Any]:
    """Return the gap of a comparison as JSON values."""
    gap, timeline, history = analysis.gap, analysis.timeline, analysis.history
    # The two shares in a decomposition are in the order of mean reward.
    is_swapped = sentences.settings.lower_is_better
    return {
        "gap": {
            **estimate_to_dict(IntervalEstimate(float(gap), gap.low, gap.high)),
            "advantaged": list(analysis.advantaged.labels),
            "disadvantaged": list(analysis.disadvantaged.labels),
        },
        "detectable": json_number(analysis.detectable),
        "recent": None
        if analysis.recent is None or history is None
        else _recent(analysis.recent, history.windows),
        "history": None if history is None else _history(history),
        "since": None
        if timeline is None or timeline.since is None
        else _moment(timeline.blocks.start(timeline.since)),
        "timeline": None if timeline is None else _timeline(timeline),
        "decomposition": _decomposition(analysis.decomposition, is_swapped),
        "missing": _missing(analysis.missing),
    }


def estimate_to_dict(estimate: IntervalEstimate) -> dict[str, float | None]:
    """Return an estimate as JSON values; the bounds are null if there is no interval."""
    return {name: json_number(getattr(estimate, name)) for name in ("value", "low", "high")}


def _recent(recent: WindowGap, windows: Windows) -> dict[str, Any]:
    return _window(recent, windows, windows.n - 1)


def _window(gap: WindowGap, windows: Windows, number: int) -> dict[str, Any]:
    return {
        "start": _moment(windows.start(number)),
        "end": _moment(windows.end(number)),
        "conclusion": gap.conclusion,
        "detectable": json_number(gap.detectable),
        "gap": {
            **estimate_to_dict(gap.gap),
            "advantaged": _labels(gap.advantaged),
            "disadvantaged": _labels(gap.disadvantaged),
        },
    }


def _history(history: History) -> dict[str, Any]:
    windows, change = history.windows, gap_change(history)
    return {
        "unit": windows.blocks.unit,
        "change": change.kind,
        "between": [list(group.labels) for group in change.pair] or None,
        "first": change.first,
        "last": change.last,
        "windows": [_window(gap, windows, number) for number, gap in enumerate(history.gaps)],
        "groups": _groups(history),
    }


def _timeline(timeline: Timeline) -> dict[str, Any]:
    blocks = timeline.blocks
    return {
        "unit": blocks.unit,
        "block_width": blocks.width,
        "starts": [_moment(blocks.start(number)) for number in range(blocks.n)],
        "groups": _groups(timeline),
        "gap_low": _list(timeline.gap_low),
        "gap_high": _list(timeline.gap_high),
    }


def _groups(over_time: History | Timeline) -> list[dict[str, Any]]:
    means = over_time.means
    return [
        {"labels": list(group.labels)}
        | {name: _list(getattr(means, name)[:, i]) for name in ("mean", "low", "high")}
        for i, group in enumerate(over_time.groups)
    ]


def _decomposition(parts: Decomposition, is_swapped: bool) -> dict[str, Any]:
    return {
        "exposure_effect": estimate_to_dict(parts.exposure_effect),
        "within_arm_effect": estimate_to_dict(parts.within_arm_effect),
        "one_sided": {**estimate_to_dict(parts.one_sided), **_pair("share", parts.one_sided_shares, is_swapped)},
        "rare_share": parts.rare_share,
        "arms": [_arm(part, is_swapped) for part in parts.arms],
        "n_arms": parts.n_arms,
        "rest": parts.rest,
    }


def _arm(part: ArmContribution, is_swapped: bool) -> dict[str, Any]:
    return {
        "arm": part.arm,
        "exposure_effect": part.exposure_effect,
        "within_arm_effect": part.within_arm_effect,
        "total": estimate_to_dict(part.total),
        **_pair("share", part.shares, is_swapped),
        **_pair("mean", part.means, is_swapped),
    }


def _pair(name: str, values: tuple[float, float], is_swapped: bool) -> dict[str, float | None]:
    advantaged, disadvantaged = values[::-1] if is_swapped else values
    return {f"{name}_advantaged": json_number(advantaged), f"{name}_disadvantaged": json_number(disadvantaged)}


def _missing(missing: MissingRewards) -> dict[str, Any]:
    return {
        "share_gap": estimate_to_dict(missing.share_gap),
        "most": list(missing.most.labels),
        "least": list(missing.least.labels),
        "gap_low": missing.gap_bounds[0],
        "gap_high": missing.gap_bounds[1],
    }


def _labels(group: GroupResult | None) -> list[Any] | None:
    return None if group is None else list(group.labels)


def _list(values: Any) -> list[float | None]:
    return [json_number(value) for value in values.tolist()]


def _moment(moment: Moment) -> Any:
    return str(np.datetime_as_string(moment, "s")) if isinstance(moment, np.datetime64) else moment
