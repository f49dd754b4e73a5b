"""`fairbandits evaluate`: estimate the value of policies from a log (off-policy evaluation)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fairbandits.cli import evaluate_slates
from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.log_options import reads_log
from fairbandits.cli.options import CatalogueOption, ClusterOption, OutOption, RewardRangeOption, parse_range
from fairbandits.logs import Log, read_arms
from fairbandits.ope import Evaluation
from fairbandits.ope import evaluate as evaluate_policies
from fairbandits.ope.report.sentences import EvaluationSentences
from fairbandits.ope.results import ESTIMATOR_NAMES, PolicyEvaluation
from fairbandits.registry import split_list
from fairbandits.views import plot_style


@reads_log
def evaluate(
    log: Log,
    policy: Annotated[
        list[str],
        typer.Option(
            help="A policy: Name, Name(parameter=value,...), module:Class(...), a file with a saved policy, or "
            "probabilities in the log: column:COLUMN for the logged arm, columns:PREFIX for a column of each arm. "
            "With --slates: TITLE(cascade=COLUMN,position=COLUMN,slate=COLUMN). Repeatable or comma-separated.",
            show_default=False,
        ),
    ],
    slates: Annotated[
        str | None,
        typer.Option(
            help="Evaluate slates with a reward per position, given columns with the logging policy's "
            "probabilities of whole slates (slate=), of their first arms (cascade=) or of single positions "
            "(position=).",
            metavar="cascade=COLUMN,...",
            show_default=False,
        ),
    ] = None,
    catalogue: CatalogueOption = None,
    train: Annotated[
        float | None,
        typer.Option(
            help="The share of the log, its earliest part, on which untrained policies are trained; all policies "
            "are evaluated on the rest. [default: 0.5 if there are untrained policies]",
            show_default=False,
        ),
    ] = None,
    learning: Annotated[
        bool,
        typer.Option("--learning", help="Let policies learn during the evaluation, which then uses only replay."),
    ] = False,
    uniform: Annotated[
        bool,
        typer.Option("--uniform", help="The log has no propensities, but comes from a uniform policy."),
    ] = False,
    propensities: Annotated[
        str | None,
        typer.Option(
            help="The propensities of all arms: the prefix of their columns, whose names end with the arm.",
            metavar="PREFIX",
        ),
    ] = None,
    estimate_propensities: Annotated[
        bool,
        typer.Option(
            "--estimate-propensities", help="Estimate the propensities of a log that has none, from its contexts."
        ),
    ] = False,
    clip: Annotated[
        float | None,
        typer.Option(help="The maximum importance weight of the IPS, SNIPS and doubly robust estimators."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="The confidence level of the intervals.")] = 0.95,
    require_gap: Annotated[
        float | None,
        typer.Option(
            help="The largest tolerated gap; the exit status is then 0 if all policies are within it, 1 if one is "
            "beyond it, and 3 if the log is inconclusive."
        ),
    ] = None,
    sequential: Annotated[
        bool,
        typer.Option(
            "--sequential", help="Use anytime-valid intervals, for a log that is being watched while it grows."
        ),
    ] = False,
    reward_range: RewardRangeOption = "0,1",
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0,
    cluster: ClusterOption = None,
    out: OutOption = Path("results/evaluation"),
) -> int:
    """Estimate the value of policies from a log, overall and by group, and the gaps between groups."""
    policies = [text for texts in policy for text in split_list(texts)]
    if slates is not None:
        others = (catalogue, train, propensities, clip, require_gap, cluster)
        flags = learning or uniform or estimate_propensities or sequential
        if flags or any(other is not None for other in others):
            raise ValueError("--slates must be combined with --policy, --confidence and --out only")
        evaluate_slates.evaluate_slates(log, slates, policies, confidence, out)
        return 0
    plot_style.require_matplotlib()
    make_folder(out)
    start = time.perf_counter()
    evaluation = evaluate_policies(
        log,
        policies,
        table=None if catalogue is None else read_arms(catalogue, log),
        train=train,
        learning=learning,
        uniform=uniform,
        propensities=propensities,
        estimate_propensities=estimate_propensities,
        clip=clip,
        confidence=confidence,
        require_gap=require_gap,
        sequential=sequential,
        reward_range=parse_range(reward_range),
        seed=seed,
        cluster=cluster,
        checkpoint=out / "unfinished",
        progress=True,
    )
    seconds = time.perf_counter() - start
    page = evaluation.write(out)
    _print_evaluation(evaluation)
    echo(f"{evaluation.rows_read:,} rows in {seconds:.1f} s, {evaluation.rows_read / seconds:,.0f} rows/s")
    echo(f"written: {page} and {page.with_suffix('.json').name}")
    return evaluation.status


def _print_evaluation(evaluation: Evaluation) -> None:
    sentences = EvaluationSentences(evaluation)
    if len(evaluation.policies) > 1:
        for sentence in sentences.ranking():
            echo(sentence)
        echo("")
    for policy in evaluation.policies:
        for sentence in sentences.summary(policy):
            echo(sentence)
        print_table(_estimate_table(sentences, policy))
        echo(f"{sentences.method(policy)}\n")
    if evaluation.warnings:
        echo("Warnings:")
    for warning in evaluation.warnings:
        echo(f"- {warning}")


def _estimate_table(sentences: EvaluationSentences, policy: PolicyEvaluation) -> Table:
    attributes = list(policy.effective_rows.by_group)
    rows = new_table("", "value", sentences.interval_name, *(f"gap by {attribute}" for attribute in attributes))
    for name in (name for name in ESTIMATOR_NAMES if name in policy.estimates):
        result = policy.estimates[name]
        value = result.value.overall
        gaps = [
            None if (gap := result.largest_gap(attribute)) is None else gap.estimate for attribute in attributes
        ]
        rows.add_row(
            ESTIMATOR_NAMES[name],
            "no estimate" if value is None else sentences.number(value.value),
            "" if value is None else sentences.interval(value),
            *("" if gap is None else f"{sentences.number(gap.value)} ({sentences.interval(gap)})" for gap in gaps),
        )
    return rows
