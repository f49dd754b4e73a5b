"""The results of an audit in sentences for readers without statistical training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fairbandits.audit.report import effect_sentences
from fairbandits.audit.report.clearest_gaps import clearest_gap, clearest_sentence
from fairbandits.audit.report.group_phrases import describe_groups
from fairbandits.audit.report.history_sentences import change_sentence, detectable_sentence, recent_sentence
from fairbandits.audit.report.suppression import Suppression
from fairbandits.audit.report.time_phrases import since
from fairbandits.audit.report.verdict_sentences import VerdictSentences
from fairbandits.audit.results import Comparison, GapAnalysis, GroupResult
from fairbandits.audit.settings import AuditSettings
from fairbandits.report.phrases import capitalise, makes_chance_unlikely
from fairbandits.statistics.fixed_sample import MIN_SUCCESSES, MIN_USERS
from fairbandits.views.text import confidence_label, decimals, join_names, number_formatter, percent

_MAX_NAMES = 6


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
    suppression : Suppression, optional
        The groups that are not shown; by default none.
    lowest : float
        The lowest possible reward.
    """

    def __init__(
        self,
        settings: AuditSettings,
        span: float,
        has_users: bool = False,
        suppression: Suppression | None = None,
        lowest: float = 0.0,
    ) -> None:
        self.lowest = lowest
        self.settings, self.span, self.has_users = settings, span, has_users
        self.suppression = Suppression() if suppression is None else suppression
        self.confidence, self.tolerance = settings.confidence, settings.tolerance
        self.interval_name = confidence_label(settings.confidence)
        self._less, self._reward = ("more", "harm") if settings.lower_is_better else ("less", "reward")

    @property
    def user_name(self) -> str:
        """The units that the audit counts: users, or decisions if users are unknown."""
        return "users" if self.has_users and not self.settings.sequential else "decisions"

    # -- the gap ---------------------------------------------------------------------------------------

    def summary(self, comparison: Comparison) -> str:
        """State the gap, its interval and the conclusion, and describe how the gap changed over time."""
        analysis = comparison.analysis
        if analysis is None:
            return self._no_comparison(comparison)
        parts = self.whole(analysis), self.recent(analysis), self.history(analysis)
        return " ".join(filter(None, parts))

    def whole(self, analysis: GapAnalysis) -> str:
        """State the gap over the whole log, and the conclusion from its interval."""
        parts = self._gap(analysis), self._conclusion(analysis), self._clearest(analysis)
        return " ".join(filter(None, parts))

    def _clearest(self, analysis: GapAnalysis) -> str | None:
        """State the clearest gap between two groups, if they are not the groups with the extreme means."""
        clearest = clearest_gap(analysis, self.tolerance)
        if clearest is None:
            return None
        return clearest_sentence(analysis, clearest, self.formatter(analysis), self.interval_name)

    def recent(self, analysis: GapAnalysis) -> str | None:
        """State the gap in the most recent window; return None if there is no such window."""
        return recent_sentence(
            analysis, self.formatter(analysis), self.interval_name, self.tolerance, self._less, self.span
        )

    def history(self, analysis: GapAnalysis) -> str | None:
        """Describe how the gap changed over time; return None if nothing is known."""
        if analysis.timeline is None:
            return change_sentence(analysis, self.tolerance, self._less)
        if not analysis.is_detectable or analysis.timeline.since is None:
            return None
        return f"The gap has been detectable {since(analysis.timeline.blocks, analysis.timeline.since)}."

    def _gap(self, analysis: GapAnalysis) -> str:
        number, gap = self.formatter(analysis), analysis.gap
        worst, best = analysis.disadvantaged, analysis.advantaged
        worst_users, best_users = describe_groups(analysis, worst, best)
        interval = f"{number(gap.low)} to {number(gap.high)}"
        when = "over the whole log, " if analysis.recent is not None else ""
        if number(gap) == number(0.0):
            nearly = "" if best.mean == worst.mean else "nearly "
            means = dict.fromkeys((number(worst.mean), number(best.mean)))
            return capitalise(
                f"{when}all groups by {analysis.name} received {nearly}the same mean {self._reward} per decision "
                f"({' vs '.join(means)}; {self.interval_name} for the gap: {interval})."
            )
        if len(analysis.groups) == 2:
            return capitalise(
                f"{when}{worst_users} received {number(gap)} {self._less} {self._reward} per decision than "
                f"{best_users} ({number(worst.mean)} vs {number(best.mean)}; {self.interval_name} for the gap: "
                f"{interval})."
            )
        most, least = ("most", "least") if self.settings.lower_is_better else ("least", "most")
        return capitalise(
            f"{when}{worst_users} received the {most} {self._reward} per decision ({number(worst.mean)}) and "
            f"{best_users} the {least} ({number(best.mean)}), a gap of {number(gap)} "
            f"({self.interval_name}: {interval})."
        )

    def _conclusion(self, analysis: GapAnalysis) -> str:
        if analysis.conclusion == "gap":
            unlikely = ", so the gap is unlikely to be chance" if makes_chance_unlikely(self.confidence) else ""
            return f"The interval excludes zero{unlikely}."
        if self.tolerance is None:
            return f"The interval includes zero, so the gap may be chance.{self._detectable(analysis)}"
        tolerance = f"the tolerance of {self.tolerance:g}"
        return {
            "unfair": f"The whole interval lies above {tolerance}.",
            "fair": f"The whole interval lies within {tolerance}.",
            "undecided": (
                f"The interval includes {tolerance}, so there is no decision yet.{self._detectable(analysis)}"
            ),
        }[analysis.conclusion]

    def _detectable(self, analysis: GapAnalysis) -> str:
        if math.isnan(analysis.detectable):
            return ""
        return f" {detectable_sentence(analysis.detectable, self.span, self.formatter(analysis))}"

    # -- the verdict -----------------------------------------------------------------------------------

    def verdict(self, comparisons: Sequence[Comparison], status: int) -> str | None:
        """State the verdict on all comparisons; return None without a tolerance."""
        if self.tolerance is None:
            return None
        sentences = VerdictSentences(self.settings, self.tolerance, self.user_name, self.suppression)
        return sentences.verdict(
            comparisons, status, lambda each: self.comparison_formatter(each)(each.unassessed.worst_case)
        )

    def unassessed(self, comparison: Comparison) -> str | None:
        """State how many users could not be assessed, and why; return None if all users were assessed."""
        unassessed = comparison.unassessed
        if not unassessed.total:
            return None
        counts = {
            "of unknown group": unassessed.unknown,
            "in groups too small to compare": unassessed.in_small_groups,
            "without any reward" if self.user_name == "users" else "without a reward": unassessed.without_reward,
        }
        if self.suppression.hides_small_groups(comparison):
            counts.pop("in groups too small to compare")
            shown = [f"{count:,.0f} {self.user_name} {reason}" for reason, count in counts.items() if count]
            hidden = "in groups too small to be shown"
            if self._revealing(comparison):
                hidden += ", or left out because they would reveal the size of such groups"
            listed = join_names([*shown, f"{self.user_name} {hidden}"], _MAX_NAMES)
            return f"Not assessed by {comparison.name}: {listed}."
        parts = [(reason, count) for reason, count in counts.items() if count]
        listed = join_names([f"{count:,.0f} {reason}" for reason, count in parts], _MAX_NAMES)
        total, everybody = unassessed.total, unassessed.users
        return (
            f"Not assessed by {comparison.name}: {total:,.0f} of {everybody:,.0f} {self.user_name} "
            f"({percent(unassessed.share)}), {f'all {parts[0][0]}' if len(parts) == 1 else listed}."
        )

    def assumption(self) -> str:
        """State the assumption about users on which the intervals rest."""
        if self.settings.sequential:
            return (
                "The intervals are anytime-valid: they hold however often you look while the log grows. They are "
                "about the average conditional mean reward of the rounds so far, not about a population of users."
            )
        if self.has_users:
            return (
                "The intervals are fixed-sample and cluster-robust: they assume that users are independent of "
                "each other, and allow for any dependence between the rewards of one user."
            )
        return (
            "There is no user column, so the intervals assume that all decisions are independent. If users have "
            "more than one decision each, the intervals are too narrow; name the column (--user)."
        )

    def _no_comparison(self, comparison: Comparison) -> str:
        prefix = f"No comparison by {comparison.name} is possible"
        if not comparison.groups:
            return f"{prefix}: no user has known values of all these attributes."
        means = {group.mean for group in comparison.groups if group.rewards}
        if not means:
            return f"{prefix}: all rewards are missing."
        if len(means) == 1 and means < {self.lowest, self.lowest + self.span}:
            return f"{prefix}: all rewards are {means.pop():g}."
        if revealing := self._revealing(comparison):
            return (
                f"{prefix}: {join_names(revealing, _MAX_NAMES)} cannot be shown, because this would reveal the "
                f"size of a group with fewer than {self.settings.min_cell:,} {self.user_name} (--min-cell). Merge "
                "small groups before the audit."
            )
        if not comparison.compared:
            return f"{prefix}: no group has {self.requirement}."
        return f"{prefix}: only {comparison.compared[0].name} has {self.requirement}."

    def _revealing(self, comparison: Comparison) -> list[str]:
        """Return the groups that are left out only because they would reveal the size of smaller groups."""
        suppression = self.suppression
        return [
            group.name
            for group in comparison.too_small
            if suppression.is_hidden(comparison, group) and not suppression.is_small(comparison, group)
        ]

    @property
    def requirement(self) -> str:
        """The minimum size of a group that is compared."""
        if self.settings.sequential:
            return f"at least {self.settings.min_rows:,} rewards"
        users = max(MIN_USERS, self.settings.min_cell)
        return f"at least {users:,} {self.user_name} and {MIN_SUCCESSES:g} expected successes and failures"

    def too_small(self, comparison: Comparison) -> str | None:
        """List the groups that are too small to compare; return None if there are none."""
        small = comparison.too_small
        if not small:
            return None
        names = [f"{each.name} ({self.suppression.count(comparison, each, each.users)})" for each in small]
        listed = join_names(names, _MAX_NAMES)
        text = f"Too small to compare ({self.user_name} in brackets): {listed}. A group needs {self.requirement}."
        if not self._revealing(comparison):
            return text
        return f"{text} Suppressed groups are large enough, but would reveal the size of a small one (--min-cell)."

    # -- effects ---------------------------------------------------------------------------------------

    def effects(self, analysis: GapAnalysis) -> str:
        """State the exposure effect and the within-arm effect."""
        number, lower_is_better = self.formatter(analysis), self.settings.lower_is_better
        return effect_sentences.effects_sentence(analysis, number, self.interval_name, lower_is_better)

    def top_arms(self, analysis: GapAnalysis) -> str:
        """List the arms that contribute most to the gap."""
        return effect_sentences.top_arms_sentence(analysis, self.formatter(analysis, extra_digits=1))

    def one_sided(self, analysis: GapAnalysis) -> str | None:
        """Return a warning if many rewards came from arms shown to only one group, or from rare arms."""
        groups = self.higher_and_lower(analysis)
        warnings = effect_sentences.one_sided_sentence(analysis, groups), effect_sentences.rare_sentence(analysis)
        return " ".join(filter(None, warnings)) or None

    def missing(self, analysis: GapAnalysis) -> str:
        """State the shares of missing rewards, and the worst-case bounds of the gap."""
        return effect_sentences.missing_sentence(analysis, self.formatter(analysis), self.confidence)

    def higher_and_lower(self, analysis: GapAnalysis) -> tuple[GroupResult, GroupResult]:
        """Return the two groups of the decomposition, with the higher mean first."""
        pair = analysis.advantaged, analysis.disadvantaged
        return pair[::-1] if self.settings.lower_is_better else pair

    # -- numbers ---------------------------------------------------------------------------------------

    def comparison_formatter(self, comparison: Comparison) -> Callable[[float], str]:
        """Return the number format of a comparison, even if its groups are too small."""
        return number_formatter(self.digits(comparison.analysis))

    def formatter(self, analysis: GapAnalysis, extra_digits: int = 0) -> Callable[[float], str]:
        """Return the number format of a comparison, with as many decimals as are meaningful."""
        return number_formatter(self.digits(analysis) + extra_digits)

    def digits(self, analysis: GapAnalysis | None) -> int:
        """Return the number of decimals of a comparison's numbers."""
        if analysis is None:
            return decimals(self.span, self.span)
        gap = analysis.gap
        digits = decimals(self.span, gap.high - gap.low)
        if gap.low > 0.0:  # must not be rounded to zero
            digits = max(digits, min(6, math.ceil(-math.log10(gap.low))))
        return digits
