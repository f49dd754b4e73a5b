"""The section on adjusted gaps."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairbandits.audit.adjusted_gaps import AdjustedGap, AdjustedGaps
from fairbandits.audit.audit import Audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report.group_phrases import describe_groups
from fairbandits.audit.report.sections import Section, between
from fairbandits.audit.results import Comparison
from fairbandits.report.phrases import capitalise
from fairbandits.views.text import counted, join_names, percent

_MAX_NAMES = 6
# If at least this share of the rewards is not comparable, a sentence warns about it.
_LARGE_SHARE = 0.05
_WIDTHS = (
    "The adjusted intervals have an error probability of their own, so they may be narrower than the unadjusted "
    "ones."
)
_HIDDEN = (
    "An adjusted gap may hide discrimination, because a factor, such as education or seniority, may itself be a "
    "result of discrimination. The verdict is about the unadjusted gap."
)


def adjusted_section(audit: Audit, comparison: Comparison) -> Section | None:
    """Return the section, or None if there are no factors."""
    result = comparison.adjusted
    if result is None:
        return None
    number, interval = audit.sentences.comparison_formatter(comparison), audit.sentences.interval_name
    rows = [
        (
            each.group.name,
            [
                number(each.raw.value),
                between(each.raw, number),
                number(each.adjusted.value),
                between(each.adjusted, number),
                *(percent(share) for share in each.not_comparable),
            ],
        )
        for each in result.groups
    ]
    reference = result.reference.name
    shares = "not comparable", f"not comparable, {reference}"
    headers = (f"difference to {reference}", interval, "adjusted", interval, *shares)
    texts = [_sentence(audit, comparison, each) for each in result.groups[:_MAX_NAMES]]
    texts += filter(None, [_method(result), _WIDTHS, _overlap(result), _HIDDEN])
    return Section(f"Adjusted for {join_names(result.factors, _MAX_NAMES)}", tuple(texts), headers, rows)


def _sentence(audit: Audit, comparison: Comparison, each: AdjustedGap) -> str:
    result = comparison.adjusted
    assert result is not None  # noqa: S101 - the caller checked it
    number = audit.sentences.comparison_formatter(comparison)
    users, reference = describe_groups(comparison, each.group, result.reference)
    noun = "harm" if audit.settings.lower_is_better else "reward"
    factors = f"the same {join_names(result.factors, _MAX_NAMES)}"
    if math.isnan(each.adjusted.value):
        return capitalise(f"{users} cannot be compared with {reference}: none have {factors}.")
    return capitalise(
        f"given {factors}, {users} received {_more(each.adjusted.value, number)} {noun} than {reference} "
        f"({audit.sentences.interval_name}: {between(_absolute(each.adjusted), number)}), compared with "
        f"{_more(each.raw.value, number)} without adjustment."
    )


def _absolute(estimate: IntervalEstimate) -> IntervalEstimate:
    """Return the estimate without its sign, which the word "more" or "less" conveys."""
    if estimate.value > 0.0:
        return estimate
    return IntervalEstimate(-estimate.value, -estimate.high, -estimate.low)


def _more(value: float, number: Callable[[float], str]) -> str:
    return f"{number(abs(value))} {'more' if value > 0.0 else 'less'}"


def _method(result: AdjustedGaps) -> str:
    if result.method == "standardised":
        strata = counted(result.n_strata, "stratum", "strata")
        return (
            f"The groups are compared within {strata}, weighted by their numbers of rewards. "
            "The intervals are cluster-robust over 64 random folds of users."
        )
    share = percent(result.sample_share)
    sample = "" if result.sample_share == 1.0 else f" They are based on a random sample of {share} of the users."
    return (
        "The adjustment is doubly robust (AIPW): the group and the reward are predicted from the factors, with "
        f"cross-fitting over users. The intervals are cluster-robust over users.{sample}"
    )


def _overlap(result: AdjustedGaps) -> str | None:
    most = max((max(each.not_comparable) for each in result.groups), default=0.0)
    if not most >= _LARGE_SHARE:
        return None
    return (
        f"Up to {percent(most)} of the rewards of a group could not be compared, because the other group has no "
        "users with the same factors. The adjusted gap says nothing about them."
    )
