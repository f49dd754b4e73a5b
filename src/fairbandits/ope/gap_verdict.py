"""Verdicts on whether the gaps of policies are within a tolerance."""

from __future__ import annotations

from typing import Literal

from fairbandits.ope.results import EstimatorResult, Evaluation

#: Exit statuses of the command; 2 is an error.
WITHIN, BEYOND, UNDECIDED = 0, 1, 3
Conclusion = Literal["within", "beyond", "undecided"]


def gap_conclusion(result: EstimatorResult, attribute: str, tolerance: float) -> Conclusion:
    """Return whether the gaps between all groups of an attribute are within a tolerance.

    If a group has no estimate, the question remains open.
    """
    gaps = [gap.estimate for gap in result.gaps if gap.attribute == attribute]
    if any(gap.low > tolerance or gap.high < -tolerance for gap in gaps):
        return "beyond"
    has_all = all(value is not None for value in result.value.by_group[attribute].values())
    is_within = all(-tolerance <= gap.low and gap.high <= tolerance for gap in gaps)
    return "within" if gaps and has_all and is_within else "undecided"


def exit_status(evaluation: Evaluation) -> int:
    """Return 0 if the gaps of all policies are within the required gap, 1 if any exceeds it, 3 if undecided.

    Without a required gap, the status is 0.
    """
    if evaluation.require_gap is None:
        return WITHIN
    conclusions = {
        gap_conclusion(policy.preferred, attribute, evaluation.require_gap)
        for policy in evaluation.policies
        for attribute in policy.preferred.value.by_group
    }
    if "beyond" in conclusions:
        return BEYOND
    return WITHIN if conclusions == {"within"} else UNDECIDED
