"""`fairbandits evaluate --slates`: estimate the reward of slates under other policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.logs import Log
from fairbandits.ope import SlateEvaluation, SlatePolicyEvaluation, SlateProbabilities
from fairbandits.ope import evaluate_slates as evaluate_policies
from fairbandits.ope.report.slate_sentences import SlateSentences
from fairbandits.ope.slates.results import SLATE_ESTIMATOR_NAMES
from fairbandits.registry import split_list

_EVENTS = ("position", "cascade", "slate")
_EXAMPLE = "cascade=COLUMN,position=COLUMN"


def evaluate_slates(log: Log, columns: str, policies: Sequence[str], confidence: float, out: Path) -> None:
    """Evaluate policies given by columns of the log, print the results and write them.

    Parameters
    ----------
    log : Log
        The log.
    columns : str
        The columns of the logging policy's probabilities, `cascade=COLUMN,position=COLUMN`.
    policies : sequence of str
        The policies, `title(cascade=COLUMN,position=COLUMN)`.
    confidence : float
        The confidence level of the intervals.
    out : Path
        The folder to write to.
    """
    propensity = _parse_columns("--slates", columns)
    parsed = [_parse_policy(policy) for policy in policies]
    for title, _ in parsed:
        if [each for each, _ in parsed].count(title) > 1:
            raise ValueError(f"policies must differ, got {title} twice")
    make_folder(out)
    evaluation = evaluate_policies(log, dict(parsed), propensity=propensity, confidence=confidence)
    page = evaluation.write(out)
    _print_evaluation(evaluation)
    echo(f"written: {page} and {page.with_suffix('.json').name}")


def _parse_policy(text: str) -> tuple[str, SlateProbabilities]:
    title, bracket, rest = text.partition("(")
    if not (title.strip() and bracket and rest.endswith(")")):
        raise ValueError(f"--policy must be TITLE({_EXAMPLE}) with --slates, got {text!r}")
    return title.strip(), _parse_columns("--policy", rest[:-1])


def _parse_columns(option: str, text: str) -> SlateProbabilities:
    # Column names may contain any characters except commas and brackets.
    pairs = [pair.partition("=") for pair in split_list(text)]
    columns = {event.strip(): column.strip() for event, _, column in pairs}
    if not (columns.keys() <= set(_EVENTS) and all(columns.values())):
        raise ValueError(
            f"{option} must name columns for some of {', '.join(_EVENTS)}, as in {_EXAMPLE}, got {text!r}"
        )
    return SlateProbabilities(**columns)


def _print_evaluation(evaluation: SlateEvaluation) -> None:
    sentences = SlateSentences(evaluation)
    echo(f"{sentences.data}\n")
    for policy in evaluation.policies:
        for sentence in sentences.summary(policy):
            echo(sentence)
        print_table(_estimate_table(sentences, policy))
        echo("")
    if evaluation.warnings:
        echo("Warnings:")
    for warning in evaluation.warnings:
        echo(f"- {warning}")


def _estimate_table(sentences: SlateSentences, policy: SlatePolicyEvaluation) -> Table:
    attributes = list(policy.preferred.value.by_group)
    gaps = (f"gap by {attribute}" for attribute in attributes)
    table = new_table("", "value", sentences.interval_name, *gaps, "IPS", "SNIPS", "effective slates")
    for name, title in SLATE_ESTIMATOR_NAMES.items():
        if name not in policy.estimates:
            continue
        estimate = policy.estimates[name]
        value = estimate.result.value.overall
        largest = (estimate.result.largest_gap(attribute) for attribute in attributes)
        table.add_row(
            title,
            "no estimate" if value is None else sentences.number(value.value),
            "" if value is None else sentences.interval(value),
            *("" if gap is None else f"{sentences.number(gap.estimate.value)}" for gap in largest),
            sentences.plain(estimate.ips.overall),
            sentences.plain(estimate.snips.overall),
            f"{estimate.effective_slates.overall:,.0f}",
        )
    return table
