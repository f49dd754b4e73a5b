"""Sentences about the decomposition of a gap over arms, and about missing rewards."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report.group_phrases import describe_groups
from fairbandits.audit.results import GapAnalysis, GroupResult
from fairbandits.views.text import confidence_percent, join_names, percent

Number = Callable[[float], str]

# If at least this share of the rewards came from one-sided or rare arms, a sentence warns about it.
_LARGE_SHARE = 0.05


def effects_sentence(analysis: GapAnalysis, number: Number, interval_name: str, lower_is_better: bool) -> str:
    """State the exposure effect and the within-arm effect."""
    parts = analysis.decomposition
    exposure, within_arm = parts.exposure_effect, parts.within_arm_effect
    [users] = describe_groups(analysis, analysis.disadvantaged)
    kinds = ("more harmful", "less harmful") if lower_is_better else ("less rewarding", "more rewarding")
    amounts = ("more harm", "less harm") if lower_is_better else ("less reward", "more reward")
    first = (
        f"Exposure effect: both groups were shown equally {'harmful' if lower_is_better else 'rewarding'} arms."
    )
    second = f"Within-arm effect: both groups received the same {amounts[0].split()[1]} from the same arms."
    is_gap = analysis.gap.low > 0.0
    if _is_visible(exposure.value, number):
        arms = kinds[exposure.value < 0.0]
        first = (
            f"Exposure effect: {users} were shown {arms} arms, which "
            f"{_share(exposure, number, interval_name, is_gap)}."
        )
    if _is_visible(within_arm.value, number):
        amount = amounts[within_arm.value < 0.0]
        share = _share(within_arm, number, interval_name, is_gap)
        second = f"Within-arm effect: {users} received {amount} from the same arms, which {share}."
    chance = "" if is_gap else " The gap may be chance, and so may these effects."
    return f"{first} {second}{chance}"


def top_arms_sentence(analysis: GapAnalysis, number: Number) -> str:
    """List the arms that contribute most to the gap."""
    parts = analysis.decomposition
    if parts.n_arms == 1:
        return "There is only one arm."
    top = [part for part in parts.arms if part.total.value > 0.0][:3]
    if not top:
        is_reduced = any(part.total.value < 0.0 for part in parts.arms)
        return (
            "The arms with the largest effects reduce the gap." if is_reduced else "No arm contributes to the gap."
        )
    names = join_names([f"{part.arm} ({number(part.total.value)})" for part in top], 3)
    return f"Of {parts.n_arms:,} arms, these contribute most to the gap: {names}."


def one_sided_sentence(analysis: GapAnalysis, groups: tuple[GroupResult, GroupResult]) -> str | None:
    """Return a warning if many rewards came from arms that only one group was shown.

    Parameters
    ----------
    analysis : GapAnalysis
        The gap.
    groups : tuple of two GroupResult
        The groups of the decomposition, the one with the higher mean first.
    """
    shares = analysis.decomposition.one_sided_shares
    if max(shares) < _LARGE_SHARE:
        return None
    first, second = describe_groups(analysis, *groups)
    return (
        f"{percent(shares[0])} of the rewards of {first} and {percent(shares[1])} of those of {second} came "
        "from arms that the other group was never shown. The rewards that the other group would have received "
        "from them are unknown, so their contribution counts as an exposure effect."
    )


def rare_sentence(analysis: GapAnalysis) -> str | None:
    """Return a warning if many rewards came from arms that one of the groups received too seldom."""
    share = analysis.decomposition.rare_share
    if share < _LARGE_SHARE:
        return None
    return (
        f"{percent(share)} of the rewards came from arms so rare that one of the groups was, by chance, never "
        "shown them. Their within-arm effect is estimated from arms that are equally rare."
    )


def missing_sentence(analysis: GapAnalysis, number: Number, confidence: float) -> str:
    """State the shares of missing rewards, and the worst-case bounds of the gap."""
    if not any(group.missing for group in analysis.groups):
        return "No rewards are missing."
    missing = analysis.missing
    most_users, least_users = describe_groups(analysis, missing.most, missing.least)
    most, least = (percent(group.missing_share.value) for group in (missing.most, missing.least))
    text = f"Rewards are missing most often for {most_users} ({most}) and least often for {least_users} ({least})."
    if most == least and missing.share_gap.low <= 0.0:
        text = f"Rewards are missing about equally often in all groups ({most})."
    if missing.share_gap.low > 0.0:
        points = f"{missing.share_gap.low * 100:.2g} percentage points"
        text += f" The shares differ by at least {points} ({confidence_percent(confidence)} confidence)."
    low, high = missing.gap_bounds
    text += (
        f" Depending on the missing rewards, the observed gap could lie between {number(max(low, 0.0))} and "
        f"{number(high)}, apart from sampling error"
    )
    if low < 0.0:
        return f"{text}, and another group could be the disadvantaged one."
    return f"{text}; the same group would still be disadvantaged." if analysis.gap.low > 0.0 else f"{text}."


def _is_visible(value: float, number: Number) -> bool:
    return number(abs(value)) != number(0.0)


def _share(effect: IntervalEstimate, number: Number, interval_name: str, is_gap: bool) -> str:
    """State the contribution of an effect and, unless the whole gap may be chance, whether the effect may be."""
    reduces = effect.value < 0.0
    low, high = (-effect.high, -effect.low) if reduces else (effect.low, effect.high)
    interval = f" ({interval_name}: {number(low)} to {number(high)})" if not math.isnan(low) else ""
    if is_gap and low <= 0.0 <= high:
        interval += " and may be chance"
    if reduces:
        return f"reduces the gap by {number(-effect.value)}{interval}"
    return f"accounts for {number(effect.value)} of the gap{interval}"
