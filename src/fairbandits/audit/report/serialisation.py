"""An audit as JSON values, the content of `audit.json`. `docs/audit.md` documents every key."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from fairbandits import __version__
from fairbandits.audit.audit import Audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report.further_sections import further_to_dict
from fairbandits.audit.report.sentences import AuditSentences
from fairbandits.audit.results import (
    ArmContribution,
    Comparison,
    Decomposition,
    GapAnalysis,
    GroupResult,
    MissingRewards,
    Timeline,
)
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.report.number_formats import nan_to_none

FORMAT, VERSION = "fairbandits audit", 2


def audit_to_dict(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON values.

    Within a version of the format, keys keep their meaning; new ones may be added.
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
        "comparisons": [comparison_to_dict(comparison, audit.sentences) for comparison in audit.comparisons],
    }


def comparison_to_dict(comparison: Comparison, sentences: AuditSentences) -> dict[str, Any]:
    """Return a comparison as JSON values."""
    return {
        "attributes": list(comparison.attributes),
        "conclusion": comparison.conclusion,
        "sentence": sentences.summary(comparison),
        "groups": [_group(group) for group in comparison.groups],
        **(_analysis(comparison.analysis) if comparison.analysis is not None else _no_analysis()),
        **further_to_dict(comparison),
    }


def _no_analysis() -> dict[str, Any]:
    return dict.fromkeys(("gap", "since", "decomposition", "missing", "timeline"))


def _group(group: GroupResult) -> dict[str, Any]:
    return {
        "labels": list(group.labels),
        "large_enough": group.is_large_enough,
        "rewards": group.rewards,
        "missing": group.missing,
        "mean": nan_to_none(group.mean),
        "low": nan_to_none(group.low),
        "high": nan_to_none(group.high),
        "missing_share": _estimate(group.missing_share),
    }


def _analysis(analysis: GapAnalysis) -> dict[str, Any]:
    gap, timeline = analysis.gap, analysis.timeline
    return {
        "gap": {
            **_estimate(IntervalEstimate(float(gap), gap.low, gap.high)),
            "advantaged": list(analysis.advantaged.labels),
            "disadvantaged": list(analysis.disadvantaged.labels),
        },
        "since": None if timeline.since is None else _block_start(timeline.blocks, timeline.since),
        "decomposition": _decomposition(analysis.decomposition),
        "missing": _missing(analysis.missing),
        "timeline": _timeline(timeline),
    }


def _decomposition(parts: Decomposition) -> dict[str, Any]:
    return {
        "exposure_effect": _estimate(parts.exposure_effect),
        "within_arm_effect": _estimate(parts.within_arm_effect),
        "one_sided": {
            **_estimate(parts.one_sided),
            "share_advantaged": parts.one_sided_shares[0],
            "share_disadvantaged": parts.one_sided_shares[1],
        },
        "arms": [_arm(part) for part in parts.arms],
        "n_arms": parts.n_arms,
        "rest": parts.rest,
        "draws": parts.draws,
    }


def _arm(part: ArmContribution) -> dict[str, Any]:
    return {
        "arm": part.arm,
        "exposure_effect": part.exposure_effect,
        "within_arm_effect": part.within_arm_effect,
        "total": _estimate(part.total),
        "share_advantaged": part.shares[0],
        "share_disadvantaged": part.shares[1],
        "mean_advantaged": nan_to_none(part.means[0]),
        "mean_disadvantaged": nan_to_none(part.means[1]),
    }


def _missing(missing: MissingRewards) -> dict[str, Any]:
    return {
        "share_gap": _estimate(missing.share_gap),
        "most": list(missing.most.labels),
        "least": list(missing.least.labels),
        "gap_low": missing.gap_bounds[0],
        "gap_high": missing.gap_bounds[1],
    }


def _timeline(timeline: Timeline) -> dict[str, Any]:
    blocks, means = timeline.blocks, timeline.means
    return {
        "unit": blocks.unit,
        "block_width": blocks.width,
        "starts": [_block_start(blocks, number) for number in range(blocks.n)],
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


def _block_start(blocks: TimeBlocks, number: int) -> Any:
    start = blocks.start(number)
    return np.datetime_as_string(start, "s") if isinstance(start, np.datetime64) else start


def _estimate(estimate: IntervalEstimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
