"""The leaderboard and the promises, as sections of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from fairbandits.compare.policy_specs import DEFAULT
from fairbandits.compare.promises import EVERYWHERE, Promise, Verdict
from fairbandits.compare.ranking import HEADLINE, Ranking
from fairbandits.compare.summary import WorldSummary
from fairbandits.report.elements import paragraphs, scrollable, with_small_print
from fairbandits.report.page import html_table

_RANK_TITLES = {
    "worst_off_reward": "rank, worst-off",
    "reward_gap": "rank, gap",
    "reward": "rank, reward",
}
_OUTCOME_TITLES = {"worst_off_reward": "worst-off", "reward_gap": "gap", "reward": "reward"}

Outcomes = Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]


def leaderboard_section(
    rankings: Sequence[Ranking], outcomes: Outcomes, worlds: Mapping[str, WorldSummary], titles: Sequence[str]
) -> str:
    """Return the leaderboard: average ranks, and wins, ties and losses of the default policy."""
    headline = next(ranking for ranking in rankings if ranking.measure == HEADLINE)
    ordered = ranks_by_policy(rankings, titles)
    columns = [*_RANK_TITLES.values(), "worlds"]
    if outcomes:
        columns += [f"W / T / L, {title}" for title in _OUTCOME_TITLES.values()]
        columns.append("p, worst-off")
    rows = (
        (title, [*cells, *_further_cells(title, outcomes, worlds, headline)]) for title, cells in ordered.items()
    )
    table = scrollable(html_table(columns, rows), "Leaderboard")
    return f"<h2>Leaderboard</h2>\n{paragraphs(_explanation(headline))}\n{table}\n"


def _explanation(headline: Ranking) -> list[str]:
    texts = [
        "Policies are ordered by their average rank on the worst-off group's reward, which falls as the gap or "
        "the utility loss grows. A rank of 1 is the best; a policy that cannot run in some world has no rank. "
        f"W / T / L: the number of worlds in which {DEFAULT} wins against, ties with and loses to the policy. It "
        "wins or loses if the 95% confidence interval of the difference (Student's t, paired over seeds) excludes "
        "zero; these intervals are not corrected for multiple comparisons. p: Wilcoxon's signed-rank test of "
        f"{DEFAULT} against the policy over worlds, with Holm's correction for the number of policies. The worlds "
        "are not a random sample, and many are variants of one simulation, so tests over worlds describe this "
        "suite only.",
    ]
    if headline.test is not None:
        texts.append(
            f"Friedman test, worst-off group's reward: F = {headline.test.statistic:.1f}, p = "
            f"{headline.test.p_value:.2g} (Iman and Davenport). Ranks that differ by more than "
            f"{headline.test.critical_difference:.2f} differ significantly (Nemenyi, 5%)."
        )
    return [*texts, *headline.caveats]


def ranks_by_policy(rankings: Sequence[Ranking], titles: Sequence[str]) -> dict[str, list[str]]:
    """Return the average ranks of each policy, in the order of the leaderboard; "-" where it has none."""
    headline = next(ranking for ranking in rankings if ranking.measure == HEADLINE)
    order = sorted(titles, key=lambda title: headline.average.get(title, float("inf")))
    return {
        title: [f"{ranking.average[title]:.2f}" if title in ranking.average else "-" for ranking in rankings]
        for title in order
    }


def _further_cells(
    title: str, outcomes: Outcomes, worlds: Mapping[str, WorldSummary], headline: Ranking
) -> list[str]:
    cells = [str(sum(title in summary.policies for summary in worlds.values()))]
    if outcomes:
        of_policy = outcomes.get(title, {})
        cells += [_outcome_cell(of_policy.get(measure, {})) for measure in _OUTCOME_TITLES]
        cells.append(_p_value(headline.p_values.get(title)))
    return cells


def _outcome_cell(by_outcome: Mapping[str, Sequence[str]]) -> str:
    if not by_outcome:
        return "-"
    if not any(by_outcome[outcome] for outcome in ("win", "tie", "loss")):
        return "needs two seeds"
    wins, ties, losses = (len(by_outcome[outcome]) for outcome in ("win", "tie", "loss"))
    lost = escape(", ".join(by_outcome["loss"]))
    return f'<span title="losses: {lost or "none"}">{wins} / {ties} / {losses}</span>'


def _p_value(value: float | None) -> str:
    if value is None:
        return "-"
    return "&lt; 0.001" if value < 0.001 else f"{value:.3f}"


def promises_section(verdict: Verdict) -> str:
    """Return the promises of the default policy, in every world and in all of them."""
    kind, text = ("fair", "keeps all promises") if verdict.kept else ("unfair", "does not keep all promises")
    total = "; ".join(f"{name}: {kept} of {needed}" for name, (kept, needed) in verdict.summary().items())
    rows = (
        (name, [_promise_cell(world.gap), _promise_cell(world.worst_off), _reward_cell(world.reward)])
        for name, world in verdict.worlds.items()
    )
    columns = ["reward gap", "worst-off group below the reference", "reward below the best policy that is as fair"]
    return (
        f"<h2>Promises of {escape(verdict.policy)}</h2>\n"
        f'<p class="verdict {kind}">{escape(verdict.policy)} {text}.</p>\n'
        f"{paragraphs([f'Worlds in which each promise is kept, out of the number required: {total}.'])}\n"
        f"{scrollable(html_table(columns, rows), 'Promises')}\n"
    )


def _promise_cell(promise: Promise | None) -> str:
    if promise is None:
        return "-"
    mark = _mark("within", "kept") if promise.kept else _mark("not", "broken")
    return f"{_promise_text(promise)} {mark}"


def _reward_cell(promise: Promise) -> str:
    if not promise.kept and promise.measured <= EVERYWHERE:
        mark = _mark("far", f"within {EVERYWHERE:g}")
        return f"{_promise_text(promise)} {mark}"
    return _promise_cell(promise)


def _promise_text(promise: Promise) -> str:
    return with_small_print(f"{promise.measured:.3f}, limit {promise.limit:.3f}", promise.note)


def _mark(kind: str, word: str) -> str:
    return f'<span class="mark {kind}">{word}</span>'
