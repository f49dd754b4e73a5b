"""The HTML page of an evaluation of slates: sentences first, then tables."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TypeVar

from fairbandits.categorical import Label
from fairbandits.ope.report.slate_sentences import SlateSentences
from fairbandits.ope.results import Estimate, EstimatorResult, GroupedValue
from fairbandits.ope.slates.results import SLATE_ESTIMATOR_NAMES, SlateEvaluation, SlatePolicyEvaluation
from fairbandits.report import elements
from fairbandits.report.page import html_table, render_page

T = TypeVar("T")

_NOTES = (
    "These policies have not been tried on users. Their value, the mean reward of a slate, is estimated from the "
    "slates of the logging policy, each weighted by how much more likely it is under the policy.",
    "The whole-slate estimator compares the probabilities of whole slates and assumes nothing about users. Reward "
    "interaction compares those of the arms from the first position to each one, and is valid if a reward does "
    "not depend on the arms below. The independent estimator compares those of the arm at each position, and is "
    "valid if a reward does not depend on other arms. A stronger assumption makes more slates count.",
    "The preferred estimator has the weakest assumption among those with at least 100 effective slates.",
    "Each interval holds individually (empirical likelihood, combined with the exact interval for the effective "
    "number of units), but the intervals of gaps between more than two groups hold jointly. IPS and SNIPS are "
    "plain and self-normalised inverse propensity scoring.",
)


def slate_page(evaluation: SlateEvaluation) -> str:
    """Return the page."""
    sentences = SlateSentences(evaluation)
    logged = html_table(_headers(evaluation), [("the log", _cells(sentences, evaluation, evaluation.logged))])
    parts = [
        *(_policy_section(evaluation, sentences, policy) for policy in evaluation.policies),
        f"<h2>The log</h2>\n{elements.scrollable(logged)}",
        elements.bullet_list("Warnings", evaluation.warnings or ("There are no warnings.",)),
        elements.bullet_list("How to read this report", _NOTES),
    ]
    return render_page("Off-policy evaluation of slates", sentences.data, "\n".join(parts))


def _policy_section(evaluation: SlateEvaluation, sentences: SlateSentences, policy: SlatePolicyEvaluation) -> str:
    rows: list[tuple[str, list[str]]] = []
    n_gaps = len(evaluation.slates.by_group)
    for name, title in SLATE_ESTIMATOR_NAMES.items():
        if name in policy.estimates:
            estimate = policy.estimates[name]
            rows.append((title, _cells(sentences, evaluation, estimate.result)))
            for label, values in (("IPS", estimate.ips), ("SNIPS", estimate.snips)):
                rows.append((f"{title}, {label}", [*map(sentences.plain, _values(values)), *[""] * n_gaps]))
            sizes = [f"{size:,.0f}" for size in _values(estimate.effective_slates)]
            rows.append((f"{title}, effective slates", [*sizes, *[""] * n_gaps]))
    table = elements.scrollable(html_table(_headers(evaluation), rows))
    return f"<h2>{escape(policy.title)}</h2>\n{elements.paragraphs(sentences.summary(policy))}\n{table}"


def _headers(evaluation: SlateEvaluation) -> list[str]:
    groups = (f"{attribute} {label}" for attribute, label in _groups(evaluation))
    return ["overall", *groups, *(f"gap by {attribute}" for attribute in evaluation.slates.by_group)]


def _groups(evaluation: SlateEvaluation) -> Iterator[tuple[str, Label]]:
    for attribute, labels in evaluation.slates.by_group.items():
        yield from ((attribute, label) for label in labels)


def _cells(sentences: SlateSentences, evaluation: SlateEvaluation, result: EstimatorResult) -> list[str]:
    cells = [_cell(sentences, estimate) for estimate in _values(result.value)]
    for attribute in evaluation.slates.by_group:
        gap = result.largest_gap(attribute)
        cells.append("" if gap is None else _cell(sentences, gap.estimate, f"{gap.first} advantaged"))
    return cells


def _values(grouped: GroupedValue[T]) -> list[T]:
    return [grouped.overall, *(value for values in grouped.by_group.values() for value in values.values())]


def _cell(sentences: SlateSentences, estimate: Estimate | None, *notes: str) -> str:
    if estimate is None:
        return "no estimate"
    return elements.with_small_print(sentences.number(estimate.value), sentences.interval(estimate), *notes)
