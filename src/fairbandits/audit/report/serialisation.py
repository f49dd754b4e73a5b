"""An audit as plain values: what `audit.json` holds. `docs/audit.md` says what each of them means."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from fairbandits import __version__
from fairbandits.audit.audit import Audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report.sentences import AuditSentences
from fairbandits.audit.results import (
    ArmPart,
    Comparison,
    Decomposition,
    GroupGains,
    GroupGap,
    MissingRewards,
    Timeline,
)
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.report.number_formats import nan_to_none

FORMAT, VERSION = "fairbandits audit", 1


def as_plain(audit: Audit) -> dict[str, Any]:
    """Give an audit as what JSON can hold.

    Names stay as they are within a version of the format; new ones may come.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "fairbandits": __version__,
        "sentence": audit.sentence,
        "verdict": {"status": audit.status, "sentence": audit.verdict},
        "log": {
            "name": audit.name,
            "rows": audit.rows,
            "missing": audit.missing,
            "roles": audit.roles.to_dict(),
            "guessed": sorted(audit.guessed),
            "reward_range": list(audit.reward_range),
        },
        "settings": asdict(audit.settings),
        "comparisons": [comparison_as_plain(comparison, audit.words) for comparison in audit.comparisons],
    }


def comparison_as_plain(comparison: Comparison, words: AuditSentences) -> dict[str, Any]:
    """Give a comparison as what JSON can hold."""
    return {
        "attributes": list(comparison.attributes),
        "word": comparison.word,
        "sentence": words.about(comparison),
        "groups": [_group(group) for group in comparison.groups],
        **(_difference(comparison.difference) if comparison.difference is not None else _nothing()),
    }


def _nothing() -> dict[str, Any]:
    return dict.fromkeys(("gap", "since", "decomposition", "missing", "timeline"))


def _group(group: GroupGains) -> dict[str, Any]:
    return {
        "labels": list(group.labels),
        "enough": group.enough,
        "rewards": group.rewards,
        "missing": group.missing,
        "mean": nan_to_none(group.mean),
        "low": nan_to_none(group.low),
        "high": nan_to_none(group.high),
        "missing_share": _estimate(group.missing_share),
    }


def _difference(found: GroupGap) -> dict[str, Any]:
    gap, timeline = found.gap, found.timeline
    return {
        "gap": {
            **_estimate(IntervalEstimate(float(gap), gap.low, gap.high)),
            "ahead": list(found.ahead.labels),
            "behind": list(found.behind.labels),
        },
        "since": None if timeline.since is None else _moment(timeline.blocks, timeline.since),
        "decomposition": _decomposition(found.decomposition),
        "missing": _missing(found.missing),
        "timeline": _timeline(timeline),
    }


def _decomposition(parts: Decomposition) -> dict[str, Any]:
    return {
        "shown": _estimate(parts.shown),
        "same_arm": _estimate(parts.same_arm),
        "one_sided": {
            **_estimate(parts.one_sided),
            "share_ahead": parts.one_sided_shares[0],
            "share_behind": parts.one_sided_shares[1],
        },
        "arms": [_arm(part) for part in parts.arms],
        "n_arms": parts.n_arms,
        "rest": parts.rest,
        "draws": parts.draws,
    }


def _arm(part: ArmPart) -> dict[str, Any]:
    return {
        "arm": part.arm,
        "shown": part.shown,
        "same_arm": part.same_arm,
        "total": _estimate(part.total),
        "share_ahead": part.shares[0],
        "share_behind": part.shares[1],
        "mean_ahead": nan_to_none(part.means[0]),
        "mean_behind": nan_to_none(part.means[1]),
    }


def _missing(found: MissingRewards) -> dict[str, Any]:
    return {
        "apart": _estimate(found.apart),
        "most": list(found.most.labels),
        "least": list(found.least.labels),
        "gap_low": found.bounds[0],
        "gap_high": found.bounds[1],
    }


def _timeline(timeline: Timeline) -> dict[str, Any]:
    blocks, means = timeline.blocks, timeline.means
    return {
        "by": blocks.kind,
        "block": blocks.width,
        "starts": [_moment(blocks, place) for place in range(blocks.n)],
        "groups": [
            {
                "labels": list(group.labels),
                "mean": [nan_to_none(mean) for mean in means.mean[:, i].tolist()],
                "low": means.low[:, i].tolist(),
                "high": means.high[:, i].tolist(),
            }
            for i, group in enumerate(timeline.groups)
        ],
        "gap_low": timeline.gap_low.tolist(),
        "gap_high": timeline.gap_high.tolist(),
    }


def _moment(blocks: TimeBlocks, place: int) -> Any:
    start = blocks.start(place)
    return np.datetime_as_string(start, "s") if isinstance(start, np.datetime64) else start


def _estimate(estimate: IntervalEstimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
