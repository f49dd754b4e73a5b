"""The page of a judgement: a sentence first, then a picture, then numbers."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from fairbandits.ope.report import figures
from fairbandits.ope.report.sentences import EvaluationSentences, worst_off
from fairbandits.ope.results import TITLES, EstimatorResult, Evaluation, PolicyEvaluation
from fairbandits.ope.value_estimate import ValueEstimate
from fairbandits.report.figure_style import as_svg
from fairbandits.report.page import html_table, render_page, svg_figure

_HOW_TO_READ = (
    "Nobody has tried these policies on users. What they would have earned is worked out from what the log's own "
    "policy tried: rows on which they would have decided as it did count, and count more the rarer that was.",
    "Doubly robust comes first: a model predicts the reward of every arm, and the rows correct the model. SNIPS "
    "and IPS use the rows alone. The direct method uses the model alone; its interval does not know whether the "
    "model is of the right kind. Replay asks that arms were shown at random. Where they contradict each other "
    "beyond their intervals, something is wrong with the propensities or with the model.",
    "Intervals are for one number at a time; those of differences between more than two groups hold together.",
    "Whoever trained on part of the log was judged by the rest of it, and did not go on learning there.",
)


def as_page(found: Evaluation) -> str:
    """Write the page; all that it shows is inside it."""
    words = EvaluationSentences(found)
    attributes: list[str | None] = [*found.rows.groups]
    parts = [
        f'<p class="lead">{escape(words.lead())}</p>',
        *(_pictures(found, words, attribute) for attribute in attributes or [None]),
        _glance(found, words),
        _cautions(found),
        *(_section(found, words, policy) for policy in found.policies),
        _listed("How to read this", _HOW_TO_READ),
    ]
    return render_page("What would other policies have done?", about_log(found), "\n".join(filter(None, parts)))


def about_log(found: Evaluation) -> str:
    """Say which log it is, and how much of it judged."""
    trained = f"; {found.trained:,} earlier ones trained policies" if found.trained else ""
    return f"{found.log}: judged by {found.rows.everybody:,} decisions with a reward{trained}."


def _pictures(found: Evaluation, words: EvaluationSentences, attribute: str | None) -> str:
    heading = "" if attribute is None else f"<h2>By {escape(attribute)}</h2>\n"
    dots = "A dot is what was or would have been earned per decision; the bar is where the truth may lie."
    verdicts = figures.trusted(found)
    said = "; ".join(f"{title}: {_short(words, verdict.value.everybody)}" for title, verdict in verdicts.items())
    shown = svg_figure(as_svg(figures.earned(found, attribute)), f"Mean reward per decision. {said}", dots)
    if attribute is not None and found.logged.widest(attribute) is not None:
        gaps = {title: verdict.widest(attribute) for title, verdict in verdicts.items()}
        text = "; ".join(f"{title}: {_short(words, gap.estimate if gap else None)}" for title, gap in gaps.items())
        caption = "How far apart the groups are. The nearer to zero, the more alike they fare."
        shown += svg_figure(as_svg(figures.apart(found, attribute)), f"PolicyGap by {attribute}. {text}", caption)
    return f'{heading}<div class="figures drawn">{shown}</div>'


def _glance(found: Evaluation, words: EvaluationSentences) -> str:
    attributes = list(found.rows.groups)
    heads = ["earned", "more than the log"]
    heads += [f"{what} by {attribute}" for attribute in attributes for what in ("apart", "worst off")]
    rows = [("the log", _glanced(words, found.logged, attributes, None))]
    rows += [
        (policy.title, _glanced(words, policy.verdicts[policy.trusted], attributes, policy))
        for policy in found.policies
    ]
    heads.append("effective rows")
    return f'<h2>At a glance</h2>\n<div class="scroll">{html_table(heads, rows)}</div>'


def _glanced(
    words: EvaluationSentences,
    verdict: EstimatorResult,
    attributes: Iterable[str],
    policy: PolicyEvaluation | None,
) -> list[str]:
    cells = [_cell(words, verdict.value.everybody), "" if policy is None else _cell(words, verdict.gain.everybody)]
    for attribute in attributes:
        gap, worst = verdict.widest(attribute), worst_off(verdict, attribute)
        cells.append(_cell(words, gap.estimate if gap else None))
        cells.append("" if worst is None else f"{escape(worst[0])} {_cell(words, worst[1])}")
    return [*cells, "" if policy is None else f"{policy.effective.everybody:,.0f}"]


def _section(found: Evaluation, words: EvaluationSentences, policy: PolicyEvaluation) -> str:
    groups = [(attribute, label) for attribute, of in found.rows.groups.items() for label in of]
    heads = ["everybody", *(f"{attribute} {label}" for attribute, label in groups)]
    heads += [f"apart by {attribute}" for attribute in found.rows.groups]
    rows = [
        (TITLES[name], _numbers(words, policy.verdicts[name], groups))
        for name in TITLES
        if name in policy.verdicts
    ]
    counts = [
        policy.effective.everybody,
        *(policy.effective.groups[attribute][label] for attribute, label in groups),
    ]
    rows.append(("effective rows", [*(f"{count:,.0f}" for count in counts), *[""] * len(found.rows.groups)]))
    said = "\n".join(f"<p>{escape(line)}</p>" for line in (*words.about(policy), words.how(policy)))
    return f'<h2>{escape(policy.title)}</h2>\n{said}\n<div class="scroll">{html_table(heads, rows)}</div>'


def _numbers(
    words: EvaluationSentences, verdict: EstimatorResult, groups: list[tuple[str, int | str]]
) -> list[str]:
    cells = [_cell(words, verdict.value.everybody)]
    cells += [_cell(words, verdict.value.groups[attribute][label]) for attribute, label in groups]
    for attribute in verdict.value.groups:
        gap = verdict.widest(attribute)
        cells.append("" if gap is None else f"{_cell(words, gap.estimate)}{_below(f'{gap.first} ahead')}")
    return cells


def _cautions(found: Evaluation) -> str:
    if not found.cautions:
        return "<h2>Before you believe it</h2>\n<p>Nothing stands out that would make these numbers doubtful.</p>"
    return _listed("Before you believe it", found.cautions)


def _listed(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f"<h2>{title}</h2>\n<ul>{items}</ul>"


def _cell(words: EvaluationSentences, estimate: ValueEstimate | None) -> str:
    if estimate is None:
        return "cannot say"
    return f"{words.number(estimate.value)}{_below(words.interval(estimate))}"


def _below(text: str) -> str:
    return f'<span class="below">{escape(text)}</span>'


def _short(words: EvaluationSentences, estimate: ValueEstimate | None) -> str:
    return "cannot say" if estimate is None else f"{words.number(estimate.value)} ({words.interval(estimate)})"
