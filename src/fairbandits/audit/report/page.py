"""The page of an audit: a sentence first, then a picture, then a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from fairbandits.audit.audit import Audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report import figures
from fairbandits.audit.report.phrases import percent
from fairbandits.audit.report.sentences import shows
from fairbandits.audit.results import Comparison, GroupGap
from fairbandits.audit.verdict import FAIR, UNFAIR
from fairbandits.report.figure_style import as_svg
from fairbandits.report.page import html_table, render_page, svg_figure

_VERDICTS = {
    "unfair": "unfair",
    "fair": "fair",
    "apart": "apart",
    "unsure": "cannot say",
    "too small": "too small",
}


def as_page(audit: Audit) -> str:
    """Write the page; all that it shows is inside it."""
    first = audit.foremost
    others = [comparison for comparison in audit.comparisons if comparison is not first]
    parts = [
        f'<p class="lead">{escape(audit.sentence)}</p>',
        _verdict(audit),
        _section(audit, first, is_first=True),
        _overview(audit) if others else "",
        *(_section(audit, comparison) for comparison in others),
        _how_to_read(audit),
    ]
    return render_page("Who gained less?", about_log(audit), "\n".join(filter(None, parts)))


def about_log(audit: Audit) -> str:
    """Say which log it is, and which of its columns were read as what."""
    without = f", {audit.missing:,} of them without a reward" if audit.missing else ""
    given = audit.roles.to_dict()
    named = {role: given[role] for role in ("arm", "reward", "groups", "time") if role in given}
    read = "; ".join(
        f"{role}: {', '.join(columns) if isinstance(columns, list) else columns}"
        for role, columns in named.items()
    )
    guessed = [role for role in named if role in audit.guessed]
    guesses = f" Guessed by their names: {', '.join(guessed)}." if guessed else ""
    return f"{audit.name}: {audit.rows:,} decisions{without}. Its columns are read as {read}.{guesses}"


def _verdict(audit: Audit) -> str:
    if audit.verdict is None:
        return ""
    kind = {FAIR: "fair", UNFAIR: "unfair"}.get(audit.status, "little")
    return f'<p class="verdict {kind}">{escape(audit.verdict)}</p>'


def _overview(audit: Audit) -> str:
    rows = []
    for comparison in audit.comparisons:
        difference = comparison.difference
        if difference is None:
            cells = ["", "", "", ""]
        else:
            number = audit.words.numbers(difference)
            gap = difference.gap
            cells = [
                number(float(gap)),
                f"{number(gap.low)} to {number(gap.high)}",
                escape(difference.behind.name),
                escape(difference.ahead.name),
            ]
        rows.append((comparison.name, [*cells, _VERDICTS[comparison.word]]))
    heads = ["apart", f"{audit.settings.confidence * 100:g}% sure", "gained least", "gained most", "found"]
    return f'<h2>All comparisons</h2>\n<div class="scroll">{html_table(heads, rows)}</div>'


def _section(audit: Audit, comparison: Comparison, is_first: bool = False) -> str:
    words, difference = audit.words, comparison.difference
    sentences = [] if is_first else [words.about(comparison)]
    small = words.too_small(comparison)
    parts = [f"<h2>By {escape(comparison.name)}</h2>", _paragraphs(sentences)]
    if difference is not None:
        parts.append(_pictures(audit, difference))
    parts += [_groups(audit, comparison), _paragraphs([small] if small else [])]
    if difference is not None:
        parts += [_why(audit, difference), f"<h3>Missing rewards</h3>\n{_paragraphs([words.missing(difference)])}"]
    return "\n".join(filter(None, parts))


def _pictures(audit: Audit, found: GroupGap) -> str:
    number = audit.words.numbers(found)
    means = "; ".join(f"{group.name} {number(group.mean)}" for group in found.groups[:20])
    dots = "A dot is what a group gained on average; the bar around it is where its true mean may lie."
    if audit.settings.tolerance is not None:
        dots += " The grey band is as wide as what is tolerated, counted from the group behind."
    lines = "What each group had gained on average up to then, and where its true mean might have been."
    if shows(found):
        lines += " From the dashed line on the difference has shown."
    shown = svg_figure(
        as_svg(figures.gains(found, audit.settings.tolerance)),
        f"Mean reward per decision of each group, with its interval: {means}",
        dots,
    )
    if found.has_times:
        shown += svg_figure(
            as_svg(figures.over_time(found)),
            f"Mean reward so far of each group over time, with its interval. {audit.words.about_time(found)}",
            lines,
        )
    return f'<div class="figures drawn">{shown}</div>'


def _groups(audit: Audit, comparison: Comparison) -> str:
    span = audit.words.number_of(comparison)
    rows = [
        (
            group.name,
            [
                f"{group.rewards:,}",
                span(group.mean),
                f"{span(group.low)} to {span(group.high)}" if group.enough else "too small",
                percent(group.missing_share.value),
            ],
        )
        for group in comparison.groups
    ]
    heads = ["rewards", "mean reward", f"{audit.settings.confidence * 100:g}% sure", "rewards missing"]
    return f'<div class="scroll">{html_table(heads, rows)}</div>'


def _why(audit: Audit, found: GroupGap) -> str:
    words = audit.words
    sentences = [words.causes(found), words.carriers(found), *filter(None, [words.one_sided(found)])]
    caption = (
        f"What each arm adds to the difference between {found.ahead.name} and {found.behind.name}. Bars to the "
        "left of zero make it smaller."
    )
    picture = svg_figure(as_svg(figures.arms(found)), f"{caption} {' '.join(sentences)}", caption)
    return (
        f"<h3>Which arms carry it</h3>\n{_paragraphs(sentences)}\n"
        f'<div class="figures drawn">{picture}</div>\n{_arms(audit, found)}'
    )


def _arms(audit: Audit, found: GroupGap) -> str:
    number, fine = audit.words.numbers(found), audit.words.numbers(found, finer=1)
    parts = found.decomposition
    everything = [
        fine(float(found.gap)),
        _with_interval(parts.shown, fine),
        _with_interval(parts.same_arm, fine),
        "",
        "",
        number(found.ahead.mean),
        number(found.behind.mean),
    ]
    rows = [("all arms", everything)]
    rows += [
        (
            str(part.arm),
            [
                _with_interval(part.total, fine),
                fine(part.shown),
                fine(part.same_arm),
                *(percent(share) for share in part.shares),
                *(number(mean) or "never shown" for mean in part.means),
            ],
        )
        for part in parts.arms
    ]
    if parts.n_arms > len(parts.arms):
        rows.append((f"the other {parts.n_arms - len(parts.arms):,} arms", [fine(parts.rest), *[""] * 6]))
    ahead, behind = found.ahead.name, found.behind.name
    heads = ["adds", "who was shown what", "who got more from it"]
    heads += [f"share of {ahead}", f"share of {behind}", f"gave {ahead}", f"gave {behind}"]
    return f'<div class="scroll">{html_table(heads, rows)}</div>'


def _with_interval(estimate: IntervalEstimate, write: Callable[[float], str]) -> str:
    return f'{write(estimate.value)}<span class="below">{write(estimate.low)} to {write(estimate.high)}</span>'


def _how_to_read(audit: Audit) -> str:
    low, high = audit.reward_range
    n = len(audit.comparisons)
    lines = [
        f"Mean rewards are of the rewards that came; they may lie between {low:g} and {high:g}.",
        f"All intervals of mean rewards hold together, and at all times at once, with "
        f"{audit.settings.confidence * 100:g}% confidence: what may fail is shared by {n} "
        f"comparison{'s' if n > 1 else ''}, and in each by its groups. They do not assume that decisions are "
        "independent of each other. So do those of missing rewards, on their own.",
        "The small numbers below what an arm adds say where it may truly lie: for one number at a time, by a "
        "bootstrap that takes decisions as independent.",
        f"A group needs {audit.settings.min_rows:,} rewards to be compared.",
        "A difference between groups is no proof of its cause: who differs in sex may differ in other things too.",
    ]
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f"<h2>How to read this</h2>\n<ul>{items}</ul>"


def _paragraphs(sentences: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
