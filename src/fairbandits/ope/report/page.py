"""The HTML page of an evaluation: sentences first, then figures, then tables."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from fairbandits.ope.report import figures
from fairbandits.ope.report.sentences import EvaluationSentences, worst_off
from fairbandits.ope.results import ESTIMATOR_NAMES, Estimate, EstimatorResult, Evaluation, PolicyEvaluation
from fairbandits.report import elements
from fairbandits.report.figure_style import as_svg
from fairbandits.report.page import html_table, render_page, svg_figure

_NO_ESTIMATE = "no estimate"
_NOTES = (
    "These policies have not been tried on users. Off-policy evaluation estimates their value, the mean "
    "reward per decision, from the decisions of the logging policy: a row counts if a policy would have made "
    "the same decision, and it counts more the less likely that decision was.",
    "The first estimator is the one to read: empirical likelihood over users, with a reward model as a control "
    "variate, combined with an interval based on the effective number of users. Its intervals stay within the "
    "range of rewards and hold even if rewards are rare or a few rows dominate. Arms that the log never shows "
    "count as the lowest reward in its lower bound and as the highest in its upper bound. With anytime-valid "
    "intervals, a confidence sequence takes its place.",
    "The others are for comparison. Doubly robust: a reward model predicts the reward of every arm, and the "
    "logged rewards correct its predictions. SNIPS and IPS (self-normalised and plain inverse propensity scoring) "
    "use the logged rewards alone. The direct method uses the reward model alone, and its interval does not "
    "account for a misspecified model. Replay is valid only if the logging policy was uniform. If estimators "
    "contradict each other beyond their intervals, the propensities or the reward model are wrong. The "
    "intervals of these estimators (Student's t with a correction for skewness) treat rows as independent.",
    "Each interval holds individually, but the intervals of gaps between more than two groups hold jointly, and "
    "so do those of the differences between policies.",
    "Policies trained on the earlier part of the log were evaluated on the rest of it, without further learning.",
)


def evaluation_page(evaluation: Evaluation) -> str:
    """Return the page, with all figures embedded."""
    sentences = EvaluationSentences(evaluation)
    attributes: list[str | None] = [*evaluation.rows.by_group]
    parts = [
        "\n".join(f'<p class="lead">{escape(sentence)}</p>' for sentence in sentences.ranking()),
        *(_figures(evaluation, sentences, attribute) for attribute in attributes or [None]),
        _overview(evaluation, sentences),
        _warnings(evaluation),
        *(_policy_section(evaluation, sentences, policy) for policy in evaluation.policies),
        elements.bullet_list("How to read this report", _NOTES),
    ]
    return render_page("Off-policy evaluation", describe_log(evaluation), "\n".join(filter(None, parts)))


def describe_log(evaluation: Evaluation) -> str:
    """Describe the log, with the numbers of evaluation and training rows."""
    trained = (
        f"; {evaluation.training_rows:,} earlier decisions trained policies" if evaluation.training_rows else ""
    )
    return f"{evaluation.log}: evaluated on {evaluation.rows.overall:,} decisions with a reward{trained}."


def _figures(evaluation: Evaluation, sentences: EvaluationSentences, attribute: str | None) -> str:
    heading = "" if attribute is None else f"<h2>By {escape(attribute)}</h2>\n"
    results = figures.preferred_results(evaluation)
    interval = sentences.interval_name
    drawings = [
        svg_figure(
            as_svg(figures.values(evaluation, attribute)),
            f"Mean reward per decision. {_describe(sentences, {t: r.value.overall for t, r in results.items()})}",
            f"Mean reward per decision, logged or estimated, with its {interval} (bar).",
        )
    ]
    if attribute is not None and evaluation.logged.largest_gap(attribute) is not None:
        gaps = {title: result.largest_gap(attribute) for title, result in results.items()}
        estimates = {title: gap.estimate if gap else None for title, gap in gaps.items()}
        drawings.append(
            svg_figure(
                as_svg(figures.gaps(evaluation, attribute)),
                f"Gap by {attribute}. {_describe(sentences, estimates)}",
                f"Gap between groups with its {interval} (bar). Zero means that the groups receive the same "
                "reward.",
            )
        )
    return f"{heading}{elements.figures(drawings)}"


def _describe(sentences: EvaluationSentences, estimates: dict[str, Estimate | None]) -> str:
    return "; ".join(
        f"{title}: {_NO_ESTIMATE}"
        if estimate is None
        else f"{title}: {sentences.number(estimate.value)} ({sentences.interval(estimate)})"
        for title, estimate in estimates.items()
    )


def _overview(evaluation: Evaluation, sentences: EvaluationSentences) -> str:
    attributes = list(evaluation.rows.by_group)
    headers = ["value", "difference from the log"]
    headers += [
        f"{quantity} by {attribute}" for attribute in attributes for quantity in ("gap", "worst-off group")
    ]
    rows = [("the log", _overview_cells(evaluation, sentences, evaluation.logged, attributes, None))]
    rows += [
        (policy.title, _overview_cells(evaluation, sentences, policy.preferred, attributes, policy))
        for policy in evaluation.policies
    ]
    headers.append("effective rows")
    return f"<h2>Overview</h2>\n{elements.scrollable(html_table(headers, rows))}"


def _overview_cells(
    evaluation: Evaluation,
    sentences: EvaluationSentences,
    result: EstimatorResult,
    attributes: Iterable[str],
    policy: PolicyEvaluation | None,
) -> list[str]:
    improvement = "" if policy is None else _cell(sentences, evaluation.improvement(policy.title))
    cells = [_cell(sentences, result.value.overall), improvement]
    for attribute in attributes:
        gap, worst = result.largest_gap(attribute), worst_off(result, attribute)
        cells.append(_cell(sentences, gap.estimate if gap else None))
        cells.append("" if worst is None else f"{escape(worst[0])} {_cell(sentences, worst[1])}")
    return [*cells, "" if policy is None else f"{policy.effective_rows.overall:,.0f}"]


def _policy_section(evaluation: Evaluation, sentences: EvaluationSentences, policy: PolicyEvaluation) -> str:
    groups = [(attribute, label) for attribute, labels in evaluation.rows.by_group.items() for label in labels]
    headers = ["overall", *(f"{attribute} {label}" for attribute, label in groups)]
    headers += [f"gap by {attribute}" for attribute in evaluation.rows.by_group]
    rows = [
        (ESTIMATOR_NAMES[name], _estimator_cells(sentences, policy.estimates[name], groups))
        for name in ESTIMATOR_NAMES
        if name in policy.estimates
    ]
    sizes = [
        policy.effective_rows.overall,
        *(policy.effective_rows.by_group[attribute][label] for attribute, label in groups),
    ]
    rows.append(("effective rows", [*(f"{size:,.0f}" for size in sizes), *[""] * len(evaluation.rows.by_group)]))
    texts = elements.paragraphs((*sentences.summary(policy), sentences.method(policy)))
    return f"<h2>{escape(policy.title)}</h2>\n{texts}\n{elements.scrollable(html_table(headers, rows))}"


def _estimator_cells(
    sentences: EvaluationSentences, result: EstimatorResult, groups: list[tuple[str, int | str]]
) -> list[str]:
    cells = [_cell(sentences, result.value.overall)]
    cells += [_cell(sentences, result.value.by_group[attribute][label]) for attribute, label in groups]
    for attribute in result.value.by_group:
        gap = result.largest_gap(attribute)
        cells.append("" if gap is None else _cell(sentences, gap.estimate, f"{gap.first} advantaged"))
    return cells


def _warnings(evaluation: Evaluation) -> str:
    if not evaluation.warnings:
        return "<h2>Warnings</h2>\n<p>There are no warnings.</p>"
    return elements.bullet_list("Warnings", evaluation.warnings)


def _cell(sentences: EvaluationSentences, estimate: Estimate | None, *notes: str) -> str:
    if estimate is None:
        return _NO_ESTIMATE
    return elements.with_small_print(sentences.number(estimate.value), sentences.interval(estimate), *notes)
