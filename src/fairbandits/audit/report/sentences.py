"""The results of an audit in sentences for readers without statistical training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fairbandits.audit.report.history_sentences import history_sentence, recent_sentence
from fairbandits.audit.report.time_phrases import since
from fairbandits.audit.results import Comparison, GapAnalysis, GroupResult
from fairbandits.audit.settings import AuditSettings
from fairbandits.audit.verdict import FAIR, UNFAIR, conclusions_of, obstacles
from fairbandits.report.phrases import (
    capitalise,
    confidence_label,
    decimals,
    describe_users,
    join_names,
    number_formatter,
    percent,
)
from fairbandits.statistics.fixed_sample import MIN_SUCCESSES, MIN_USERS

_MAX_NAMES = 6
# From this share of rewards from one-sided arms on, a sentence warns about them.
_LARGE_SHARE = 0.05


class AuditSentences:
    """Sentences about the results of one audit.

    Parameters
    ----------
    settings : AuditSettings
        The settings of the audit.
    span : float
        The highest possible reward minus the lowest.
    has_users : bool
        Whether the log has a user column.
    """

    def __init__(self, settings: AuditSettings, span: float, has_users: bool = False) -> None:
        self.settings, self.span, self.has_users = settings, span, has_users
        self.confidence, self.tolerance = settings.confidence, settings.tolerance
        self.interval_name = confidence_label(settings.confidence)

    def summary(self, comparison: Comparison) -> str:
        """Return the gap, its interval, the conclusion, and how the gap developed over time."""
        analysis = comparison.analysis
        if analysis is None:
            return self._no_comparison(comparison)
        recent = recent_sentence(analysis, self.formatter(analysis), self.interval_name, self.tolerance)
        parts = self._gap(analysis), self._conclusion(analysis), recent, self.history(analysis)
        return " ".join(filter(None, parts))

    def verdict(self, comparisons: Sequence[Comparison], status: int) -> str | None:
        """Return the verdict on all comparisons; None without a tolerance."""
        if self.tolerance is None:
            return None
        confidence, tolerance = f"{self.confidence * 100:g}% confidence", f"the tolerance of {self.tolerance:g}"
        if status == UNFAIR:
            return f"Unfair ({confidence}): the gap exceeds {tolerance} {self._unfair_when(comparisons)}."
        if status == FAIR:
            when = "" if self.settings.sequential else ", now and over the whole log"
            said = f"Fair ({confidence}): the gap is within {tolerance}{when} for {_names(comparisons, 'fair')}."
            return f"{said}{self._said_of(comparisons)}"
        return f"Undecided: {self._undecided(comparisons, tolerance)}"

    def _unfair_when(self, comparisons: Sequence[Comparison]) -> str:
        whole = [each.name for each in comparisons if each.conclusion == "unfair"]
        if self.settings.sequential:
            return f"for {join_names(whole, _MAX_NAMES)}"
        now = [each.name for each in comparisons if each.recent_conclusion == "unfair"]
        parts = (("over the whole log", whole), ("in the most recent window", now))
        return "; ".join(f"{when} for {join_names(names, _MAX_NAMES)}" for when, names in parts if names)

    def _undecided(self, comparisons: Sequence[Comparison], tolerance: str) -> str:
        reasons = []
        is_open = [c for c in comparisons if {*conclusions_of(c)} & {"undecided", "too small"}]
        if is_open:
            names = join_names([comparison.name for comparison in is_open], _MAX_NAMES)
            reasons.append(f"there is too little data to tell whether the gap is within {tolerance} for {names}")
        reasons += [text for comparison in comparisons for text in self._obstacles(comparison)]
        return capitalise("; ".join(reasons)) + "." if not is_open else "; ".join(reasons) + "."

    def _obstacles(self, comparison: Comparison) -> list[str]:
        unassessed, found = comparison.unassessed, obstacles(comparison, self.settings)
        texts = []
        if "unassessed" in found:
            texts.append(
                f"by {comparison.name}, {percent(unassessed.share)} of the {self.user_name} could not be assessed, "
                f"more than the {percent(self.settings.max_unassessed)} allowed"
            )
        if "unknown" in found:
            texts.append(
                f"by {comparison.name}, the {unassessed.unknown:,.0f} {self.user_name} of unknown group could hide a "
                f"gap of up to {self.comparison_formatter(comparison)(unassessed.worst_case)}"
            )
        if "outside" in found:
            names = join_names([group.name for group in unassessed.outside], _MAX_NAMES)
            texts.append(f"by {comparison.name}, the small group {names} lies beyond the tolerance (exact test)")
        return texts

    def _said_of(self, comparisons: Sequence[Comparison]) -> str:
        left_out = [self.unassessed(comparison) for comparison in comparisons]
        return "".join(f" {text}" for text in left_out if text is not None)

    @property
    def user_name(self) -> str:
        """What the audit counts: users, or decisions if users are unknown."""
        return "users" if self.has_users and not self.settings.sequential else "decisions"

    def unassessed(self, comparison: Comparison) -> str | None:
        """Return who could not be assessed; None if everybody was."""
        unassessed = comparison.unassessed
        if not unassessed.unknown + unassessed.in_small_groups:
            return None
        return (
            f"By {comparison.name}, nothing is said about {unassessed.unknown + unassessed.in_small_groups:,.0f} of "
            f"{unassessed.users:,.0f} {self.user_name} ({percent(unassessed.share)}): {unassessed.unknown:,.0f} of "
            f"unknown group, {unassessed.in_small_groups:,.0f} in groups that are too small."
        )

    def assumption(self) -> str:
        """Return what the intervals assume."""
        if self.settings.sequential:
            return (
                "The intervals are anytime-valid: they hold however often one looks while the log grows. They are about "
                "the average conditional mean reward of the rounds so far, not about a population of users."
            )
        if self.has_users:
            return "The intervals are fixed-sample and cluster-robust: rewards of the same user may depend on each other."
        return (
            "There is no user column, so the intervals assume that all decisions are independent. If users come "
            "back, they are too narrow: name the column (--user)."
        )

    def _gap(self, analysis: GapAnalysis) -> str:
        number, gap = self.formatter(analysis), analysis.gap
        lowest, highest = analysis.disadvantaged, analysis.advantaged
        low_users, high_users = _users(analysis, lowest, highest)
        interval = f"{number(gap.low)} to {number(gap.high)}"
        if highest.mean == lowest.mean:
            return (
                f"All groups by {analysis.name} received the same mean reward per decision "
                f"({number(highest.mean)}; {self.interval_name} for the gap: {interval})."
            )
        if len(analysis.groups) == 2:
            return capitalise(
                f"{low_users} received {number(gap)} less reward per decision than {high_users} "
                f"({number(lowest.mean)} vs {number(highest.mean)}; {self.interval_name} for the gap: {interval})."
            )
        return capitalise(
            f"{low_users} received the least reward per decision ({number(lowest.mean)}) and {high_users} the "
            f"most ({number(highest.mean)}), a gap of {number(gap)} ({self.interval_name}: {interval})."
        )

    def _conclusion(self, analysis: GapAnalysis) -> str:
        if analysis.conclusion == "gap":
            return "The interval excludes zero, so the gap is unlikely to be chance."
        if self.tolerance is None:
            return "The interval includes zero, so the gap may be chance."
        return {
            "unfair": f"The whole interval lies above the tolerance of {self.tolerance:g}.",
            "fair": f"The whole interval lies within the tolerance of {self.tolerance:g}.",
            "undecided": self._open(analysis),
        }[analysis.conclusion]

    def _open(self, analysis: GapAnalysis) -> str:
        text = f"The interval includes the tolerance of {self.tolerance:g}: no decision"
        if math.isnan(analysis.detectable):
            return f"{text} yet."
        return f"{text}. A gap of {self.formatter(analysis)(analysis.detectable)} would have been found with 80% power."

    def _no_comparison(self, comparison: Comparison) -> str:
        prefix = f"No comparison by {comparison.name} is possible"
        if not comparison.groups:
            return f"{prefix}: no user has known values of all these attributes."
        if not comparison.compared:
            return f"{prefix}: no group has {self.requirement}."
        return f"{prefix}: only {comparison.compared[0].name} has {self.requirement}."

    @property
    def requirement(self) -> str:
        """What a group needs to be compared."""
        if self.settings.sequential:
            return f"at least {self.settings.min_rows:,} rewards"
        return f"at least {MIN_USERS} users and {MIN_SUCCESSES:g} expected successes and failures"

    def too_small(self, comparison: Comparison) -> str | None:
        """Return the groups that are too small to compare; None if there are none."""
        small = comparison.too_small
        if not small:
            return None
        names = join_names([f"{group.name} ({group.rewards:,})" for group in small], _MAX_NAMES)
        return f"Too small to compare, without {self.requirement} (rewards in brackets): {names}."

    def effects(self, analysis: GapAnalysis) -> str:
        """Return the exposure effect and the within-arm effect."""
        exposure = analysis.decomposition.exposure_effect.value
        within_arm = analysis.decomposition.within_arm_effect.value
        number = self.formatter(analysis)
        [users] = _users(analysis, analysis.disadvantaged)
        first = "Exposure effect: both groups were shown equally rewarding arms."
        second = "Within-arm effect: both groups received the same reward from the same arms."
        if _is_visible(exposure, number):
            arms = "less rewarding arms" if exposure > 0.0 else "more rewarding arms"
            first = f"Exposure effect: {users} were shown {arms}, which {_contribution(exposure, number)}."
        if _is_visible(within_arm, number):
            reward = "less reward" if within_arm > 0.0 else "more reward"
            second = (
                f"Within-arm effect: {users} received {reward} from the same arms, "
                f"which {_contribution(within_arm, number)}."
            )
        chance = " As the gap may be chance, so may these effects." if analysis.gap.low <= 0.0 else ""
        return f"{first} {second}{chance}"

    def top_arms(self, analysis: GapAnalysis) -> str:
        """Return the arms that contribute most to the gap."""
        parts, number = analysis.decomposition, self.formatter(analysis, extra_digits=1)
        if parts.n_arms == 1:
            return "There is only one arm."
        top = [part for part in parts.arms if part.total.value > 0.0][:3]
        if not top:
            is_reduced = any(part.total.value < 0.0 for part in parts.arms)
            return (
                "The arms with the largest effects reduce the gap."
                if is_reduced
                else "No arm contributes to the gap."
            )
        names = join_names([f"{part.arm} ({number(part.total.value)})" for part in top], 3)
        return f"Of {parts.n_arms:,} arms, these contribute most to the gap: {names}."

    def one_sided(self, analysis: GapAnalysis) -> str | None:
        """Return a warning if many rewards came from arms that only one group was shown."""
        shares = analysis.decomposition.one_sided_shares
        if max(shares) < _LARGE_SHARE:
            return None
        first, second = _users(analysis, analysis.advantaged, analysis.disadvantaged)
        return (
            f"{percent(shares[0])} of the rewards of {first} and {percent(shares[1])} of those of {second} came "
            "from arms that the other group was never shown. The rewards that the other group would have received "
            "from them are unknown, so their contribution counts as an exposure effect."
        )

    def missing(self, analysis: GapAnalysis) -> str:
        """Return the shares of missing rewards, and the worst-case bounds of the gap."""
        if not any(group.missing for group in analysis.groups):
            return "No rewards are missing."
        missing, number = analysis.missing, self.formatter(analysis)
        most_users, least_users = _users(analysis, missing.most, missing.least)
        text = (
            f"Rewards are missing most often for {most_users} ({percent(missing.most.missing_share.value)}) and "
            f"least often for {least_users} ({percent(missing.least.missing_share.value)})."
        )
        if missing.share_gap.low > 0.0:
            points = f"{missing.share_gap.low * 100:.2g} percentage points"
            text += f" The shares differ by at least {points} ({self.confidence * 100:g}% confidence)."
        low, high = missing.gap_bounds
        reversal = "it could even reverse" if low < 0.0 else "the same group would still be disadvantaged"
        bounds = f"{number(low)} and {number(high)}"
        return f"{text} Depending on the missing rewards, the gap could lie between {bounds}: {reversal}."

    def history(self, analysis: GapAnalysis) -> str:
        """Return how the gap developed over time."""
        if analysis.timeline is not None:
            return _since(analysis) or ""
        return history_sentence(analysis, self.tolerance) or ""

    def comparison_formatter(self, comparison: Comparison) -> Callable[[float], str]:
        """Return the number format of a comparison, also if its groups are too small."""
        if comparison.analysis is not None:
            return self.formatter(comparison.analysis)
        return number_formatter(decimals(self.span, self.span))

    def formatter(self, analysis: GapAnalysis, extra_digits: int = 0) -> Callable[[float], str]:
        """Return the number format of a comparison, with as many decimals as are meaningful."""
        gap = analysis.gap
        digits = decimals(self.span, gap.high - gap.low)
        if gap.low > 0.0:  # must not be rounded to zero
            digits = max(digits, min(6, math.ceil(-math.log10(gap.low))))
        return number_formatter(digits + extra_digits)


def _names(comparisons: Sequence[Comparison], *conclusions: str) -> str:
    chosen = [comparison.name for comparison in comparisons if comparison.conclusion in conclusions]
    return join_names(chosen, _MAX_NAMES)


def _users(analysis: GapAnalysis, *groups: GroupResult) -> list[str]:
    return describe_users(analysis.attributes, *(group.labels for group in groups))


def _since(analysis: GapAnalysis) -> str | None:
    if not analysis.is_detectable or analysis.timeline is None:
        return None
    return f"The gap has been detectable {since(analysis.timeline.blocks, analysis.timeline.since or 0)}."


def _is_visible(value: float, number: Callable[[float], str]) -> bool:
    return number(abs(value)) != number(0.0)


def _contribution(value: float, number: Callable[[float], str]) -> str:
    if value < 0.0:
        return f"reduces the gap by {number(-value)}"
    return f"accounts for {number(value)} of the gap"
