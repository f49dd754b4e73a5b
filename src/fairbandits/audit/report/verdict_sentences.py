"""Sentences about the verdict: at present, over the whole log, and on the users who could not be assessed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairbandits.audit.report.gap_changes import absent_groups
from fairbandits.audit.report.suppression import Suppression
from fairbandits.audit.results import Comparison
from fairbandits.audit.settings import AuditSettings
from fairbandits.audit.verdict import FAIR, UNFAIR, obstacles
from fairbandits.report.phrases import capitalise
from fairbandits.views.text import confidence_percent, join_names, percent

_MAX_NAMES = 6
_MAX_DECIMALS = 15
_PERIODS = ("over the whole log", "in the most recent window")

Conclusions = Sequence[tuple[str, str]]  # names of comparisons, with the conclusion of each


class VerdictSentences:
    """Sentences about the verdict of one audit.

    Parameters
    ----------
    settings : AuditSettings
        The settings of the audit, with a tolerance.
    tolerance : float
        The tolerance.
    unit : str
        The name of the units that are counted: "users" or "decisions".
    suppression : Suppression
        The groups that are not shown.
    """

    def __init__(self, settings: AuditSettings, tolerance: float, unit: str, suppression: Suppression) -> None:
        self.settings, self.unit, self.suppression = settings, unit, suppression
        self.tolerance = f"the tolerance of {tolerance:g}"
        self.confidence = f"{confidence_percent(settings.confidence)} confidence"

    def verdict(self, comparisons: Sequence[Comparison], status: int, number: Callable[[Comparison], str]) -> str:
        """Return the verdict on all comparisons.

        Parameters
        ----------
        comparisons : sequence of Comparison
            The comparisons.
        status : int
            The exit status.
        number : callable
            A function that returns the largest gap that users of unknown group could hide, formatted.
        """
        whole, recent = _conclusions(comparisons)
        if status == UNFAIR:
            return f"Unfair ({self.confidence}): {self._unfair(whole, recent, _absent_names(comparisons))}"
        if status == FAIR:
            when = ", over the whole log and in the most recent window" if recent else ""
            names = join_names([name for name, _ in whole], _MAX_NAMES)
            text = f"Fair ({self.confidence}): the gap is within {self.tolerance} for {names}{when}."
            absent = _absent_names(comparisons)
            return f"{text} The most recent window has too little data on {absent}." if absent else text
        reasons = [
            *self._open(whole, recent),
            *(text for each in comparisons for text in self._obstacles(each, number)),
        ]
        return f"Undecided: {'; '.join(reasons)}."

    def _unfair(self, whole: Conclusions, recent: Conclusions, absent: str) -> str:
        if not recent:
            return f"the gap exceeds {self.tolerance} for {_names(whole, 'unfair')}."
        periods = [each for each in zip(_PERIODS, (whole, recent), strict=True) if _names(each[1], "unfair")]
        names = [_names(conclusions, "unfair") for _, conclusions in periods]
        if len({*names}) == 1:
            found = f"for {names[0]} {' and '.join(when for when, _ in periods)}"
        else:
            found = "; ".join(f"for {each} {when}" for each, (when, _) in zip(names, periods, strict=True))
        text = f"the gap exceeds {self.tolerance} {found}."
        if len(periods) == 2:
            return text
        other, conclusions = next(e for e in zip(_PERIODS, (whole, recent), strict=True) if e[0] != periods[0][0])
        if undecided := _names(conclusions, "undecided", "too small"):
            return f"{text} {capitalise(other)}, there is too little data to tell for {undecided}."
        left_out = f", with too little data on {absent}" if absent and conclusions is recent else ""
        return f"{text} {capitalise(other)}, it is within the tolerance{left_out}."

    def _open(self, whole: Conclusions, recent: Conclusions) -> list[str]:
        in_whole, in_recent = (_names(conclusions, "undecided", "too small") for conclusions in (whole, recent))
        little = f"there is too little data to tell whether the gap is within {self.tolerance}"
        if in_whole:
            return [f"{little} for {in_whole}"]
        if in_recent:
            return [
                f"over the whole log, the gap is within {self.tolerance}, but there is too little data in the "
                f"most recent window to tell for {in_recent}"
            ]
        return []

    def _obstacles(self, comparison: Comparison, number: Callable[[Comparison], str]) -> list[str]:
        unassessed, found = comparison.unassessed, obstacles(comparison, self.settings)
        texts = []
        if "unassessed" in found:
            share, allowed = _distinct_percents(unassessed.share, self.settings.max_unassessed)
            if self.suppression.hides_small_groups(comparison):
                allowed = percent(self.settings.max_unassessed)
                share = f"more than {allowed}"
            texts.append(
                f"{share} of the {self.unit} could not be assessed by {comparison.name} "
                f"(at most {allowed} may be left out)"
            )
        if "unknown" in found:
            texts.append(
                f"the {unassessed.unknown:,.0f} {self.unit} whose {comparison.name} is unknown could hide a gap "
                f"of up to {number(comparison)}"
            )
        if "outside" in found:
            names = join_names([group.name for group in unassessed.outside], _MAX_NAMES)
            lies = "lies" if len(unassessed.outside) == 1 else "lie"
            texts.append(
                f"{names} ({comparison.name}), too small to compare, demonstrably {lies} beyond the tolerance"
            )
        return texts


def _distinct_percents(share: float, allowed: float) -> tuple[str, str]:
    """Format two different shares with as many decimals as are needed to tell them apart.

    Examples
    --------
    >>> _distinct_percents(0.03, 0.01), _distinct_percents(0.01004, 0.01)
    (('3.0%', '1.0%'), ('1.004%', '1.000%'))
    >>> _distinct_percents(0.00002, 0.0)
    ('0.002%', '0.000%')
    """
    texts, digits = (percent(share), percent(allowed)), 2
    while float(texts[0].rstrip("%")) == float(texts[1].rstrip("%")) and digits < _MAX_DECIMALS:
        texts, digits = (f"{share:.{digits}%}", f"{allowed:.{digits}%}"), digits + 1
    return texts


def _conclusions(comparisons: Sequence[Comparison]) -> tuple[Conclusions, Conclusions]:
    """Return the conclusions about the whole log, and about the most recent window if there is one."""
    whole = [(each.name, each.conclusion) for each in comparisons]
    recent = [(each.name, each.recent_conclusion) for each in comparisons if each.recent_conclusion is not None]
    return whole, recent


def _absent_names(comparisons: Sequence[Comparison]) -> str:
    """Return the groups that are compared over the whole log but not in the most recent window."""
    histories = [each.analysis.history for each in comparisons if each.analysis is not None]
    names = [group.name for history in histories if history is not None for group in absent_groups(history)]
    return join_names(names, _MAX_NAMES) if names else ""


def _names(conclusions: Conclusions, *wanted: str) -> str:
    names = [name for name, conclusion in conclusions if conclusion in wanted]
    return join_names(names, _MAX_NAMES) if names else ""
