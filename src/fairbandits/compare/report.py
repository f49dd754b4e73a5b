"""The HTML report of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from fairbandits.compare import leaderboard, sentences, tables
from fairbandits.compare.policy_specs import BASELINE
from fairbandits.compare.promises import Verdict
from fairbandits.compare.ranking import Ranking
from fairbandits.compare.settings import Settings
from fairbandits.compare.subgroups import group_label
from fairbandits.compare.summary import PolicySummary, WorldSummary
from fairbandits.report.elements import bullet_list, paragraphs, scrollable, with_small_print
from fairbandits.report.page import html_table, png_image, render_page

_TITLES = {False: "Comparison of policies: utility loss and reward gap", True: "FairBench"}
# The symbol and the CSS class of each position relative to the front.
_FRONT_MARKS = {"on": ("&#9679;", "within"), "near": ("&#9680;", "far"), "off": ("&#9675;", "not")}


@dataclass(frozen=True)
class ReportContent:
    """The content of a report.

    Attributes
    ----------
    data_source : str
        The first line of the page, which names the data.
    worlds : mapping
        The summary of each world.
    figures : mapping
        The path of each world's figure.
    rank_figure : Path, optional
        The path of the figure of the ranks; without it, the report has no leaderboard.
    titles : sequence of str
        The compared policies.
    settings : Settings
        The settings that all runs share.
    default : str, optional
        The policy that the summary is about.
    rankings : sequence of Ranking
        The policies ranked by each measure.
    outcomes : mapping
        The worlds in which the default policy wins, ties and loses against every other policy, by measure.
    verdict : Verdict, optional
        The promises of the default policy.
    skipped : mapping
        The reason why a world was skipped, by world.
    """

    data_source: str
    worlds: Mapping[str, WorldSummary]
    figures: Mapping[str, Path]
    rank_figure: Path | None
    titles: Sequence[str]
    settings: Settings
    default: str | None
    rankings: Sequence[Ranking]
    outcomes: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]
    verdict: Verdict | None
    skipped: Mapping[str, str]


def write_report(path: Path, content: ReportContent) -> None:
    """Write the report."""
    sections = [_introduction(content)]
    if content.verdict is not None:
        sections.append(leaderboard.promises_section(content.verdict))
    if content.rank_figure is not None:
        sections.append(
            leaderboard.leaderboard_section(content.rankings, content.outcomes, content.worlds, content.titles)
        )
        sections.append(f'<div class="figures wide">{png_image(content.rank_figure, "average ranks")}</div>')
    sections.append(_overview(content))
    sections += [_section(name, summary, content) for name, summary in content.worlds.items()]
    page = render_page(_TITLES[content.settings.benchmark], content.data_source, "\n".join(sections))
    path.write_text(page, encoding="utf-8")


def _introduction(content: ReportContent) -> str:
    settings = content.settings
    texts = sentences.describe_policy(content.worlds, content.default) if content.default else []
    seeds = f"{settings.seeds} seeds" if settings.seeds > 1 else "One seed"
    texts.append(
        f"{seeds}; every policy has the same parameters in all worlds. Losses and gaps are computed from the true "
        "mean rewards of the chosen arms, without the noise that policies saw. Tolerated reward gap: "
        f"{settings.tolerance:g}, for the oracle and this report; policies have parameters of their own. The "
        "numbers in small print are 95% confidence intervals over seeds (Student's t)."
    )
    if settings.seeds > 1:
        texts.append(
            "The line in a figure is the oracle's frontier, a mean over seeds. In each seed, no policy lies below "
            "the frontier; a policy's mean can lie slightly below the line where its gaps differ between seeds."
        )
    html = paragraphs(texts)
    if settings.quick:
        html += "<p><b>Quick run with a tenth of the rounds: it only shows that everything works.</b></p>\n"
    if content.skipped:
        lines = (f"{name}: {reason}" for name, reason in content.skipped.items())
        html += bullet_list("Worlds that were skipped", lines)
    return html


def _overview(content: ReportContent) -> str:
    """Return a table of every policy in every world."""
    rows = (
        (name, [_overview_cell(summary, title) for title in content.titles])
        for name, summary in content.worlds.items()
    )
    return (
        "<h2>Overview</h2>\n<p>Utility loss / reward gap; "
        "&#9679; on the measured Pareto front, &#9680; near it, &#9675; off it.</p>\n"
        f"{scrollable(html_table(content.titles, rows), 'Overview')}\n"
    )


def _overview_cell(summary: WorldSummary, title: str) -> str:
    if title not in summary.policies:
        return '<span class="soft">n/a</span>'
    policy = summary.policies[title]
    loss, gap = policy.metrics["utility_loss"][0], policy.metrics["reward_gap"][0]
    return f"{loss:.3f} / {gap:.3f} {_front_mark(policy.front)}"


def _front_mark(front: str) -> str:
    symbol, kind = _FRONT_MARKS[front]
    return f'<span class="mark {kind}" title="{front} the front" aria-label="{front} the front">{symbol}</span>'


def _section(name: str, summary: WorldSummary, content: ReportContent) -> str:
    text = paragraphs(sentences.describe_world(summary, content.settings.tolerance))
    columns = tables.main_columns(summary)
    main = (
        (title, [_front_mark(policy.front), *_cells(policy, columns)])
        for title, policy in summary.policies.items()
    )
    return (
        f'<h2 id="{escape(name)}">{escape(name)}</h2>\n{text}'
        f'<div class="figures wide">{png_image(content.figures[name], name)}</div>\n'
        f"{scrollable(html_table(['front', *columns.values()], main))}\n"
        f"{_worst_off_notes(summary)}"
        f"{_further(summary, 'Further measures', tables.FURTHER_TITLES)}"
        f"{_further(summary, 'Reward of each group', _of_groups(summary, 'reward'))}"
        f"{_further(summary, 'Regret of each group', _of_groups(summary, 'regret'))}"
    )


def _worst_off_notes(summary: WorldSummary) -> str:
    """Return the policies that lower the worst-off group's reward, as a collapsible list."""
    if not (notes := sentences.worst_off_notes(summary)):
        return ""
    title = f"Policies whose worst-off group receives less than with {BASELINE}: {len(notes)}"
    return f"<details><summary>{escape(title)}</summary>{paragraphs(notes)}</details>\n"


def _of_groups(summary: WorldSummary, measure: str) -> dict[str, str]:
    groups = [*summary.groups, *summary.small_groups]
    small = dict.fromkeys(summary.small_groups, " (does not count)")
    return {f"{measure}_{group_label(group)}": f"{group_label(group)}{small.get(group, '')}" for group in groups}


def _further(summary: WorldSummary, title: str, columns: Mapping[str, str]) -> str:
    """Return a collapsible table; empty if there is nothing to show."""
    if not columns:
        return ""
    rows = ((name, _cells(policy, columns)) for name, policy in summary.policies.items())
    table = scrollable(html_table(columns.values(), rows))
    return f"<details><summary>{escape(title)}</summary>{table}</details>\n"


def _cells(policy: PolicySummary, metrics: Iterable[str]) -> list[str]:
    return [_cell(policy, metric) for metric in metrics]


def _cell(policy: PolicySummary, metric: str) -> str:
    bounds = tables.interval(policy, metric) if metric in policy.metrics else None
    mean = tables.format_mean(policy, metric)
    return mean if bounds is None else with_small_print(mean, f"{bounds[0]:.3f} to {bounds[1]:.3f}")
