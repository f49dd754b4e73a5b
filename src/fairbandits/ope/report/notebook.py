"""Evaluations and certified learning in notebooks: HTML views, and the plot of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fairbandits.ope.certification.certified_learning import CertifiedLearning
from fairbandits.ope.report.figures import draw_values, preferred_results, values_height
from fairbandits.ope.report.learning_sentences import LearningSentences
from fairbandits.ope.report.sentences import EvaluationSentences
from fairbandits.ope.report.slate_sentences import SlateSentences
from fairbandits.ope.results import Estimate, EstimatorResult, Evaluation
from fairbandits.ope.slates.results import SlateEvaluation
from fairbandits.views import html
from fairbandits.views.plot_style import legend_beside, plot_axes
from fairbandits.views.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_ATTRIBUTES = 4
_MAX_WARNINGS = 3


def evaluation_html(evaluation: Evaluation) -> str:
    """Return the view of an evaluation: its sentences, the value and the gaps of every policy, and warnings."""
    sentences, columns, rows, warnings = evaluation_parts(evaluation)
    note = f"{counted(evaluation.rows.overall, 'decision')} with a reward"
    parts = *sentences, html.table(columns, rows, len(rows)), *warnings
    return html.card(f"Off-policy evaluation on {evaluation.log}", *parts, note=note)


def evaluation_parts(evaluation: Evaluation) -> tuple[list[str], list[str], list[list[str]], list[str]]:
    """Return the sentences of an evaluation, the columns and the rows of its table, and its warnings."""
    sentences, attributes = EvaluationSentences(evaluation), list(evaluation.rows.by_group)[:_MAX_ATTRIBUTES]
    improvements = {policy.title: evaluation.improvement(policy.title) for policy in evaluation.policies}
    sizes = {policy.title: f"{policy.effective_rows.overall:,.0f}" for policy in evaluation.policies}
    rows = [
        [
            title,
            *_cells(sentences, result, attributes),
            _with_interval(sentences, improvements.get(title)),
            sizes.get(title, ""),
        ]
        for title, result in preferred_results(evaluation).items()
    ]
    columns = [*_columns(sentences, attributes), "minus the log", "effective rows"]
    return [*sentences.ranking()], columns, rows, _warnings(evaluation.warnings)


def slates_html(evaluation: SlateEvaluation) -> str:
    """Return the view of an evaluation of slates."""
    sentences, attributes = SlateSentences(evaluation), list(evaluation.slates.by_group)[:_MAX_ATTRIBUTES]
    results = {"the log": evaluation.logged} | {policy.title: policy.preferred for policy in evaluation.policies}
    rows = ([title, *_cells(sentences, result, attributes)] for title, result in results.items())
    table = html.table(_columns(sentences, attributes), rows, len(results))
    note = counted(evaluation.slates.overall, "slate")
    return html.card(
        f"Off-policy evaluation on {evaluation.log}", table, *_warnings(evaluation.warnings), note=note
    )


def learning_html(result: CertifiedLearning) -> str:
    """Return the view of certified learning."""
    sentences = LearningSentences(result)
    return html.card(
        f"Certified learning from {result.log}", sentences.headline(), *sentences.details(), sentences.split()
    )


def plot_evaluation(evaluation: Evaluation, ax: Axes | None, attribute: str | None) -> Axes:
    """Plot the value of the log and of each policy."""
    if attribute is not None and attribute not in evaluation.rows.by_group:
        names = ", ".join(map(repr, evaluation.rows.by_group)) or "none"
        raise ValueError(f"attribute must be one of {names}, got {attribute!r}")
    with plot_axes(ax, 6.8, 1.2 + 1.25 * values_height(evaluation, attribute)) as axes:
        handles = draw_values(axes, evaluation, attribute)
        interval = EvaluationSentences(evaluation).interval_name
        axes.set_title(f"Mean reward of each policy, with its {interval} (bar)")
        if attribute is not None:
            legend_beside(axes, handles)
    return axes


def _columns(sentences: EvaluationSentences | SlateSentences, attributes: Iterable[str]) -> list[str]:
    return ["policy", "mean reward", sentences.interval_name, *(f"gap by {name}" for name in attributes)]


def _cells(
    sentences: EvaluationSentences | SlateSentences, result: EstimatorResult, attributes: Iterable[str]
) -> list[str]:
    value, gaps = result.value.overall, (result.largest_gap(attribute) for attribute in attributes)
    cells = ["no estimate", ""] if value is None else [sentences.number(value.value), sentences.interval(value)]
    return [*cells, *(_with_interval(sentences, gap.estimate if gap else None) for gap in gaps)]


def _with_interval(sentences: EvaluationSentences | SlateSentences, estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{sentences.number(estimate.value)} ({sentences.interval(estimate)})"


def _warnings(warnings: Sequence[str]) -> list[str]:
    rest = len(warnings) - _MAX_WARNINGS
    shown = [f"Warning: {warning}" for warning in warnings[:_MAX_WARNINGS]]
    return [*shown, f"and {counted(rest, 'more warning')}"] if rest > 0 else shown
