"""`fairbandits evaluate`: what other policies would have earned, and for whom."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.log_options import reads_log
from fairbandits.cli.options import CatalogueOption, OutOption
from fairbandits.logs import Log, read_arms
from fairbandits.ope import Evaluation
from fairbandits.ope import evaluate as evaluate_policies
from fairbandits.ope.report.sentences import EvaluationSentences
from fairbandits.ope.results import TITLES, PolicyEvaluation
from fairbandits.ope.value_estimate import ValueEstimate
from fairbandits.registry import split_list
from fairbandits.report import figure_style


@reads_log
def evaluate(
    log: Log,
    policy: Annotated[
        list[str],
        typer.Option(
            help="A policy: Name, Name(parameter=value,...), module:Class(...), or a file that one was saved to. "
            "Repeatable, or by comma.",
            show_default=False,
        ),
    ],
    catalogue: CatalogueOption = None,
    train: Annotated[
        float | None,
        typer.Option(
            help="The share of the log, its earliest part, that trains policies which have learned nothing; the "
            "rest judges. [default: 0.5 if there are such policies]",
            show_default=False,
        ),
    ] = None,
    learning: Annotated[
        bool, typer.Option("--learning", help="Let policies learn while they are judged: by replay alone.")
    ] = False,
    uniform: Annotated[
        bool,
        typer.Option("--uniform", help="The log has no propensities, but showed all of its arms at random."),
    ] = False,
    clip: Annotated[float | None, typer.Option(help="The largest weight that a row may have.")] = None,
    confidence: Annotated[float, typer.Option(help="How sure intervals are to be.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Where all randomness comes from.")] = 0,
    out: OutOption = Path("results/evaluate"),
) -> None:
    """Judge policies by a log: what they would have earned, overall, per group and how far apart."""
    figure_style.require_matplotlib()
    make_folder(out)
    start = time.perf_counter()
    found = evaluate_policies(
        log,
        [text for texts in policy for text in split_list(texts)],
        table=None if catalogue is None else read_arms(catalogue, log),
        train=train,
        learning=learning,
        uniform=uniform,
        clip=clip,
        confidence=confidence,
        seed=seed,
    )
    seconds = time.perf_counter() - start
    page = found.write(out)
    _print_judgement(found)
    echo(f"{found.read:,} rows in {seconds:.1f} s, {found.read / seconds:,.0f} rows/s")
    echo(f"written: {page} and {page.with_name('evaluate.json').name}")


def _print_judgement(found: Evaluation) -> None:
    words = EvaluationSentences(found)
    if len(found.policies) > 1:
        echo(f"{words.lead()}\n")
    for policy in found.policies:
        for line in words.about(policy):
            echo(line)
        print_table(_estimates(words, policy))
        echo(f"{words.how(policy)}\n")
    if found.cautions:
        echo("Before you believe it:")
    for caution in found.cautions:
        echo(f"- {caution}")


def _estimates(words: EvaluationSentences, policy: PolicyEvaluation) -> Table:
    attributes = list(policy.effective.groups)
    shown = new_table("", "earned", words.sure, *(f"apart by {attribute}" for attribute in attributes))
    for name in (name for name in TITLES if name in policy.verdicts):
        verdict = policy.verdicts[name]
        value = verdict.value.everybody
        gaps = [verdict.widest(attribute) for attribute in attributes]
        shown.add_row(
            TITLES[name],
            "cannot say" if value is None else words.number(value.value),
            "" if value is None else words.interval(value),
            *("" if gap is None else _with_interval(words, gap.estimate) for gap in gaps),
        )
    return shown


def _with_interval(words: EvaluationSentences, estimate: ValueEstimate) -> str:
    return f"{words.number(estimate.value)} ({words.interval(estimate)})"
