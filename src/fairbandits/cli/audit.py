"""`fairbandits audit`: find reward gaps between groups in a log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairbandits.audit import Audit
from fairbandits.audit import audit as audit_log
from fairbandits.audit.report.check_sentences import check_sentences
from fairbandits.audit.report.further_sections import further_sections
from fairbandits.audit.report.omissions import omission_sentences
from fairbandits.audit.report.sections import Section
from fairbandits.audit.report.tables import Row, group_table, verdict_notes, verdict_table
from fairbandits.audit.results import Comparison, GapAnalysis
from fairbandits.audit.settings import MIN_ROWS
from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.log_options import reads_log
from fairbandits.cli.options import ClusterOption, OutOption, RewardRangeOption, parse_range, split_commas
from fairbandits.logs import Log
from fairbandits.views import plot_style

_MAX_GROUPS = 20
_MAX_ARMS = 5


@reads_log
def audit(
    log: Log,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="The largest tolerated gap; the exit status is then 0 (fair), 1 (unfair) or 3 (undecided)."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="The joint confidence level of all intervals.")] = 0.95,
    sequential: Annotated[
        bool,
        typer.Option(
            "--sequential", help="Use anytime-valid intervals, for a log that is being watched while it grows."
        ),
    ] = False,
    min_rows: Annotated[
        int, typer.Option(help="With --sequential: the number of rewards that a group must have to be compared.")
    ] = MIN_ROWS,
    max_unassessed: Annotated[
        float, typer.Option(help="The largest share of unassessed users that still allows a verdict of fair.")
    ] = 0.01,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Rewards are harms: the lower, the better.")
    ] = False,
    min_cell: Annotated[
        int,
        typer.Option(
            help="Neither compare nor show groups with fewer users, and suppress numbers that would reveal them."
        ),
    ] = 0,
    date: Annotated[
        str | None,
        typer.Option(
            help="The date of the report: YYYY-MM-DD, or today. Without a date, the same log gives the same files."
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="The group with which others are compared (default: the advantaged one); one for each attribute."
        ),
    ] = None,
    impact_ratios: Annotated[
        bool,
        typer.Option("--impact-ratios", help="Report impact ratios (Local Law 144) and the four-fifths rule."),
    ] = False,
    reward_range: RewardRangeOption = "0,1",
    cluster: ClusterOption = None,
    out: OutOption = Path("results/audit"),
) -> int:
    """Audit a log: compare the mean rewards of groups, with confidence intervals and a decomposition over arms."""
    plot_style.require_matplotlib()
    make_folder(out)
    result = audit_log(
        log,
        tolerance=tolerance,
        confidence=confidence,
        sequential=sequential,
        min_rows=min_rows,
        max_unassessed=max_unassessed,
        lower_is_better=lower_is_better,
        min_cell=min_cell,
        date=date,
        reference=split_commas(reference),
        impact_ratios=impact_ratios,
        reward_range=parse_range(reward_range),
        cluster=cluster,
    )
    page = result.write(out)
    _print_audit(result)
    echo(f"written: {page} and {page.with_name('audit.json').name}")
    return result.status


def _print_audit(audit: Audit) -> None:
    echo(audit.sentence)
    if audit.verdict is not None:
        echo(audit.verdict)
    # Duplicates were reported when the log was opened, but not if they could not be counted.
    checks = replace(audit.checks, duplicates=0) if audit.checks.duplicates else audit.checks
    for warning in omission_sentences(audit) + check_sentences(checks):
        echo(warning)
    echo(audit.sentences.assumption())
    echo("")
    _print_rows(*verdict_table(audit))
    for note in verdict_notes(audit):
        echo(note)
    for comparison in audit.comparisons:
        echo(f"\nBy {comparison.name}")
        if comparison is not audit.headline:
            echo(audit.sentences.summary(comparison))
        _print_groups(audit, comparison)
        if (too_small := audit.sentences.too_small(comparison)) is not None:
            echo(too_small)
        if comparison.analysis is not None:
            _print_decomposition(audit, comparison.analysis)
        for section in further_sections(audit, comparison):
            _print_section(section)


def _print_section(section: Section) -> None:
    echo(f"\n{section.title}")
    for text in section.texts:
        echo(text)
    rows = new_table("", *section.headers)
    for name, cells in section.rows[:_MAX_GROUPS]:
        rows.add_row(name, *cells)
    print_table(rows)


def _print_groups(audit: Audit, comparison: Comparison) -> None:
    titles, rows = group_table(audit, comparison)
    _print_rows(titles, rows[:_MAX_GROUPS])
    if len(rows) > _MAX_GROUPS:
        echo(f"and {len(rows) - _MAX_GROUPS:,} more groups, in the report")


def _print_rows(titles: list[str], rows: list[Row]) -> None:
    table = new_table("", *titles)
    for name, cells in rows:
        table.add_row(name, *cells)
    print_table(table)


def _print_decomposition(audit: Audit, analysis: GapAnalysis) -> None:
    sentences = audit.sentences
    number = sentences.formatter(analysis, extra_digits=1)
    echo(sentences.effects(analysis))
    rows = new_table("arm", "contribution", "exposure effect", "within-arm effect")
    for part in analysis.decomposition.arms[:_MAX_ARMS]:
        effects = (part.total.value, part.exposure_effect, part.within_arm_effect)
        rows.add_row(str(part.arm), *map(number, effects))
    print_table(rows)
    if (warning := sentences.one_sided(analysis)) is not None:
        echo(warning)
    echo(sentences.missing(analysis))
