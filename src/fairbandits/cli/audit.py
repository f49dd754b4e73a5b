"""`fairbandits audit`: who gained less, by how much, since when, how sure, and by which arms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.audit import Audit
from fairbandits.audit import audit as audit_log
from fairbandits.audit.report.phrases import percent
from fairbandits.audit.results import Comparison, GroupGap
from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.log_options import reads_log
from fairbandits.cli.options import ClusterOption, OutOption
from fairbandits.logs import Log
from fairbandits.report import figure_style

_MOST_ROWS = 20
_MOST_ARMS = 5


@reads_log
def audit(
    log: Log,
    tolerance: Annotated[
        float | None,
        typer.Option(help="How far apart groups may be; the status is then 0 fair, 1 unfair, 3 too little data."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure all intervals are to be together.")] = 0.95,
    min_rows: Annotated[int, typer.Option(help="How many rewards a group needs to be compared.")] = 100,
    reward_range: Annotated[
        str, typer.Option(help="The lowest and the highest possible reward.", metavar="LOW,HIGH")
    ] = "0,1",
    seed: Annotated[int, typer.Option(help="Where the randomness of the bootstrap comes from.")] = 0,
    cluster: ClusterOption = None,
    out: OutOption = Path("results/audit"),
) -> int:
    """Audit a log: who gained less, by how much, since when, how sure, and by which arms."""
    figure_style.require_matplotlib()
    make_folder(out)
    found = audit_log(
        log,
        tolerance=tolerance,
        confidence=confidence,
        min_rows=min_rows,
        reward_range=_as_range(reward_range),
        seed=seed,
        cluster=cluster,
    )
    page = found.write(out)
    _print_audit(found)
    echo(f"written: {page} and {page.with_name('audit.json').name}")
    return found.status


def _as_range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in text.split(","))
    except ValueError:
        raise ValueError(f"--reward-range {text!r} came; expected two numbers, LOW,HIGH, such as 1,5") from None
    return low, high


def _print_audit(audit: Audit) -> None:
    echo(audit.sentence)
    if audit.verdict is not None:
        echo(audit.verdict)
    for comparison in audit.comparisons:
        echo(f"\nBy {comparison.name}")
        if comparison is not audit.foremost:
            echo(audit.words.about(comparison))
        _print_groups(audit, comparison)
        if (small := audit.words.too_small(comparison)) is not None:
            echo(small)
        if comparison.difference is not None:
            _print_causes(audit, comparison.difference)


def _print_groups(audit: Audit, comparison: Comparison) -> None:
    number = audit.words.number_of(comparison)
    shown = new_table("", "rewards", "mean reward", f"{audit.settings.confidence * 100:g}% sure", "missing")
    for group in comparison.groups[:_MOST_ROWS]:
        interval = f"{number(group.low)} to {number(group.high)}" if group.enough else "too small"
        missing = percent(group.missing_share.value)
        shown.add_row(group.name, f"{group.rewards:,}", number(group.mean), interval, missing)
    print_table(shown)
    if len(comparison.groups) > _MOST_ROWS:
        echo(f"and {len(comparison.groups) - _MOST_ROWS:,} more groups, in the report")


def _print_causes(audit: Audit, found: GroupGap) -> None:
    words = audit.words
    number = words.numbers(found, finer=1)
    echo(words.causes(found))
    shown = new_table("arm", "adds", "who was shown what", "who got more from it")
    for part in found.decomposition.arms[:_MOST_ARMS]:
        shown.add_row(str(part.arm), *map(number, (part.total.value, part.shown, part.same_arm)))
    print_table(shown)
    if (warning := words.one_sided(found)) is not None:
        echo(warning)
    echo(words.missing(found))
