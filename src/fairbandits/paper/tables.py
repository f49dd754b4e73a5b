"""Published beside measured: cells, rows and tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairbandits.paper.experiments import ORDER_RATIO, TABLES, ExperimentSetting, row_title
from fairbandits.paper.published import is_far, published_row
from fairbandits.report.number_formats import mean_and_sd, plus_minus
from fairbandits.simulate import Trace

Metrics = Sequence[Mapping[str, float]]

METRIC_TITLES = {
    "utility_loss": "utility loss",
    "reward_difference": "reward difference",
    "cmr_male": "reward, male",
    "cmr_female": "reward, female",
    "worst_off_reward": "worse-off group's reward",
    "regret_male": "regret, male",
    "regret_female": "regret, female",
}

#: A measured mean may be this far from the published one, or two standard deviations if that is more.
TOLERANCE = 0.008


@dataclass(frozen=True)
class Cell:
    """One number of a table: measured over seeds, and published where the paper has it.

    Parameters
    ----------
    mean, sd : float
        Over the seeds; there is no standard deviation of a single one.
    n : int
        How many seeds.
    published : float or None
        What the paper says.
    within : bool or None
        Whether the mean is within max(0.008, 2 sd) of it.
    """

    mean: float
    sd: float | None
    n: int
    published: float | None
    within: bool | None


@dataclass(frozen=True)
class Line:
    """A cell, with its place and what to say of it."""

    row: tuple[str, ...]
    metric: str
    cell: Cell
    verdict: str


Table = dict[tuple[str, ...], dict[str, Cell]]


def as_cell(values: Sequence[float], published: float | None) -> Cell:
    """Sum up what the seeds gave.

    Examples
    --------
    >>> as_cell([0.05, 0.06, 0.07], published=0.052)
    Cell(mean=0.06, sd=0.01, n=3, published=0.052, within=True)
    """
    mean, sd = mean_and_sd(values)
    within = None if published is None else abs(mean - published) <= max(TOLERANCE, 2 * (sd or 0.0))
    return Cell(mean, sd, len(values), published, within)


def as_table(name: str, traces: Mapping[ExperimentSetting, Sequence[Trace]]) -> Table:
    """Assemble a table of the paper out of the traces of all seeds."""
    return {
        path: _row(name, path, [trace.metrics() for trace in traces[setting]])
        for path, setting in TABLES[name].items()
    }


def _row(table: str, path: tuple[str, ...], metrics: Metrics) -> dict[str, Cell]:
    published = published_row(table, path)
    cells = {}
    for metric in METRIC_TITLES:
        number = published.get(metric)
        cells[metric] = as_cell([found[metric] for found in metrics], None if number is None else float(number))
    return cells


def nested(name: str, table: Table) -> dict[str, Any]:
    """Give a table as plain mappings, nested and named as the published one."""
    plain: dict[str, Any] = {"arm_ratio": ORDER_RATIO} if name == "figure_order" else {}
    for path, cells in table.items():
        place = plain
        for level in path:
            place = place.setdefault(level, {})
        place.update({metric: asdict(cell) for metric, cell in cells.items()})
    return plain


def lines(name: str, table: Table, compare: bool = True) -> Iterator[Line]:
    """Go through the cells of a table, row by row; without verdicts where there is nothing to compare with."""
    for path, cells in table.items():
        for metric, cell in cells.items():
            far = is_far(published_row(name, path), metric)
            yield Line(path, metric, cell, verdict(cell, far) if compare else "")


def verdict(cell: Cell, far: bool) -> str:
    """Say in words how a cell compares with the paper.

    Examples
    --------
    >>> verdict(as_cell([0.042, 0.044], 0.053), far=True)
    'far, as known'
    """
    if cell.within is None:
        return ""
    if cell.within:
        return "within"
    # Some numbers do not come out with the reading that fits best; they are shown, not tuned away.
    return "far, as known" if far else "NOT within"


def to_csv(name: str, table: Table, data_source: str, compare: bool = True) -> str:
    """Write a table as CSV; the first line is a remark that says which data it shows."""
    file = io.StringIO()
    file.write(f"# {data_source}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", "metric", "mean", "sd", "n", "published", "within", "verdict"])
    for line in lines(name, table, compare):
        cell = line.cell
        numbers = [cell.mean, cell.sd, cell.n, cell.published, cell.within]
        writer.writerow([row_title(line.row), line.metric, *numbers, line.verdict])
    return file.getvalue()


def measured(cell: Cell) -> str:
    """Write what was measured, for a person to read.

    Examples
    --------
    >>> measured(as_cell([0.05, 0.06, 0.07], published=None))
    '0.060 ± 0.010'
    """
    return plus_minus(cell.mean, cell.sd)
