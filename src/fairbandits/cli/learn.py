"""`fairbandits learn`: find, within a family, the best policy that can be certified on held-out users."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.log_options import reads_log
from fairbandits.cli.options import CatalogueOption, OutOption
from fairbandits.logs import Log, read_arms
from fairbandits.ope import CertifiedLearning
from fairbandits.ope import learn as learn_policy
from fairbandits.ope.certification.certified_learning import POLICY_FILE
from fairbandits.ope.report.learning_sentences import HEADERS, LearningSentences


@reads_log
def learn(
    log: Log,
    tolerance: Annotated[
        float, typer.Option(help="The largest tolerated gap between groups.", show_default=False)
    ],
    margin: Annotated[
        float,
        typer.Option(
            help="The amount by which the worst-off group may receive less than under the logging policy."
        ),
    ] = 0.01,
    confidence: Annotated[float, typer.Option(help="The confidence level of the joint test.")] = 0.95,
    catalogue: CatalogueOption = None,
    seed: Annotated[int, typer.Option(help="The random seed of the fitted policy.")] = 0,
    out: OutOption = Path("results/learning"),
) -> int:
    """Learn a policy that is certified to be fair; the exit status is 0, or 3 if none can be certified."""
    make_folder(out)
    result = learn_policy(
        log,
        tolerance=tolerance,
        margin=margin,
        confidence=confidence,
        table=None if catalogue is None else read_arms(catalogue, log),
        seed=seed,
    )
    page = result.write(out)
    _print_result(result)
    has_policy = result.certified is not None and not result.keeps_logging_policy
    policy = f" and {POLICY_FILE}" if has_policy else ""
    echo(f"written: {page}, {page.with_suffix('.json').name}{policy}")
    return result.status


def _print_result(result: CertifiedLearning) -> None:
    sentences = LearningSentences(result)
    echo(sentences.headline())
    for sentence in sentences.details():
        echo(sentence)
    echo(f"{sentences.split()}\n")
    table = new_table("tested policies", *HEADERS)
    tested = [member for member in result.members if member.test is not None]
    for member in tested:
        table.add_row(member.title, *sentences.cells(member))
    if tested:
        print_table(table)
    echo(f"{len(result.members) - len(tested)} policies of the family were not tested; the report lists them.")
