"""Sentences about a gap over time: its present size, and when it opened, closed or reversed."""

from __future__ import annotations

from collections.abc import Callable

from fairbandits.audit.report.clearest_gaps import clearest_gap, clearest_sentence
from fairbandits.audit.report.gap_changes import GapChange, absent_groups, gap_change
from fairbandits.audit.report.group_phrases import describe_groups
from fairbandits.audit.report.time_phrases import during, window_end, window_span, window_start
from fairbandits.audit.results import GapAnalysis, GroupResult, History
from fairbandits.report.phrases import makes_chance_unlikely
from fairbandits.views.text import join_names

Number = Callable[[float], str]

_MAX_NAMES = 3
_ENDINGS = {
    "unfair": ", above the tolerance",
    "fair": ", within the tolerance",
    "gap": ", which is unlikely to be chance",
}


def recent_sentence(
    analysis: GapAnalysis, number: Number, interval_name: str, tolerance: float | None, less: str, span: float
) -> str | None:
    """Describe the gap in the most recent window; return None if there is no such window.

    Parameters
    ----------
    analysis : GapAnalysis
        The gap.
    number : callable
        A function that formats rewards.
    interval_name : str
        The name of the intervals.
    tolerance : float or None
        The largest gap that is tolerated.
    less : str
        "less", or "more" if rewards are harms.
    span : float
        The highest possible reward minus the lowest.
    """
    recent, history = analysis.recent, analysis.history
    if recent is None or history is None:
        return None
    when = f"In the most recent window ({window_span(history.windows, history.windows.n - 1)})"
    if recent.disadvantaged is None or recent.advantaged is None:
        return f"{when}, there is too little data to compare groups."
    lower, higher = _users(analysis, recent.disadvantaged, recent.advantaged)
    gap = recent.gap
    interval = f"{interval_name}: {number(gap.low)} to {number(gap.high)}"
    unclear = (
        ", which may be chance"
        if tolerance is None
        else "; this window does not show whether the tolerance is met"
    )
    text = f"{when}, {lower} received {number(gap.value)} {less} than {higher} ({interval})"
    if len(analysis.groups) > 2:
        least, most = ("least", "most") if less == "less" else ("most", "least")
        text = f"{when}, {lower} received the {least} and {higher} the {most}, a gap of {number(gap.value)}"
        text += f" ({interval})"
    if number(gap.value) == number(0.0):
        text = f"{when}, the groups received nearly the same ({interval.replace(':', ' for the gap:', 1)})"
    ending = _ENDINGS.get(recent.conclusion, unclear)
    if recent.conclusion == "gap" and not makes_chance_unlikely(analysis.gap.confidence):
        ending = ""
    text += f"{ending}."
    if (clearest := clearest_gap(recent, tolerance)) is not None:
        text += f" {clearest_sentence(analysis, clearest, number, interval_name)}"
    if recent.conclusion == "undecided" and tolerance is not None:
        text += f" {detectable_sentence(recent.detectable, span, number)}"
    if absent := absent_groups(history):
        text += f" This window has too little data on {join_names(_users(analysis, *absent), _MAX_NAMES)}."
    return text


def detectable_sentence(gap: float, span: float, number: Number) -> str:
    """State the smallest gap that would have been detected with 80% power.

    Examples
    --------
    >>> detectable_sentence(1.2, 1.0, "{:.3f}".format)
    'No gap could have been detected with 80% power.'
    """
    if gap > span:
        return "No gap could have been detected with 80% power."
    return f"A gap of {number(gap)} would have been detected with 80% power."


def change_sentence(analysis: GapAnalysis, tolerance: float | None, less: str) -> str | None:
    """Describe how the gap changed (opened, closed, reversed, or none of these); return None without a history."""
    history = analysis.history
    if history is None:
        return None
    change, n = gap_change(history), history.windows.n
    above = "above the tolerance" if tolerance is not None else "detectable"
    if change.first is None or change.last is None:
        demonstrably = "demonstrably " if tolerance is not None else ""
        return f"In none of the {n} time windows was the gap {demonstrably}{above}."
    if change.turns:
        return _reversal(analysis, history, change, less)
    gap = _subject(analysis, change)
    last = during(history.windows, change.last)
    still = "and still is" if change.last == n - 1 else f"last {last}"
    often = f"in {_how_many(change, n)} time windows"
    sentence = {
        "opened": f"{gap} opened during the log: {_opening(history, change, above)}.",
        "closed": f"{gap} closed: it was last {above} {last}, and {_within_since(analysis)}.",
        "shrank": f"{gap} became smaller: it was {above} {often}, {still}.",
        "grew": f"{gap} became larger: {_growth(history, change, above, often)}.",
        "returned": f"{gap} came and went: it was {above} {often}, {still}.",
        "ended": f"{gap} was last {above} {last}. Since then, there is too little data on the groups concerned.",
        "steady": f"{gap} was {above} {often}, and no window shows that it opened or closed.",
    }[change.kind]
    others = len(set(history.unfair) - set(change.windows))
    if not others:
        return sentence
    windows = "1 more window" if others == 1 else f"{others} more windows"
    return f"{sentence} In {windows}, the gap between other groups was {above}."


def _subject(analysis: GapAnalysis, change: GapChange) -> str:
    if len(analysis.groups) == 2:
        return "The gap"
    return f"The gap between {' and '.join(_users(analysis, *change.pair))}"


def _how_many(change: GapChange, n: int) -> str:
    found = change.windows
    if len(found) == n:
        return f"all {n}"
    is_last = found == tuple(range(n - len(found), n)) and len(found) > 1
    return f"the last {len(found)} of {n}" if is_last else f"{len(found)} of {n}"


def _growth(history: History, change: GapChange, above: str, often: str) -> str:
    return _opening(history, change, above) if change.first else f"it was {above} {often}, and still is"


def _opening(history: History, change: GapChange, above: str) -> str:
    """State since when the gap has been excessive or, if it was not always so since then, in which windows."""
    first, n = change.windows[0], history.windows.n
    if first == n - 1:
        return f"this is the first window in which it is {above}"
    window = f"the window of {window_span(history.windows, first)}"
    if len(change.windows) == n - first:
        return f"it has been {above} since {window}"
    return f"since {window}, it has been {above} in {len(change.windows)} of {n - first} windows, and still is"


def _within_since(analysis: GapAnalysis) -> str:
    is_fair = analysis.recent is not None and analysis.recent.conclusion == "fair"
    return "is within it now" if is_fair else "was within it later"


def _reversal(analysis: GapAnalysis, history: History, change: GapChange, less: str) -> str:
    before, after = change.turns[0]
    end, start = window_end(history.windows, before), window_start(history.windows, after)
    if len(change.turns) > 1:
        return f"The gap reversed more than once, first after {end}."
    higher, lower = _users(analysis, *change.pair)
    first, second = (lower, higher) if less == "less" else (higher, lower)
    return f"The gap reversed: {first} received {less} until {end}, {second} from {start} on."


def _users(analysis: GapAnalysis, *groups: GroupResult) -> list[str]:
    return describe_groups(analysis, *groups)
