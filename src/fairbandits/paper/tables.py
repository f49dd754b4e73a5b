"""The tables of the paper, with published and measured numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairbandits.paper.experiments import ORDER_RATIO, TABLES, ExperimentSetting, row_title
from fairbandits.paper.published import is_known_deviation, published_row
from fairbandits.report.number_formats import mean_and_sd, plus_minus
from fairbandits.simulate import Trace

METRIC_TITLES = {
    "utility_loss": "utility loss",
    "reward_gap": "reward gap",
    "cmr_male": "reward, male",
    "cmr_female": "reward, female",
    "worst_off_reward": "worst-off group's reward",
    "regret_male": "regret, male",
    "regret_female": "regret, female",
}

#: A number is reproduced if it is within this distance, or within two standard deviations if that is more.
TOLERANCE = 0.008

REPRODUCED, KNOWN_DEVIATION, NOT_REPRODUCED = "reproduced", "known deviation", "NOT reproduced"


@dataclass(frozen=True)
class TableEntry:
    """One number of a table, measured and published.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation over seeds; a single seed has no standard deviation.
    n : int
        The number of seeds.
    published : float or None
        The published number, if the paper has it.
    within : bool or None
        Whether the mean is within max(0.008, 2 sd) of the published number.
    """

    mean: float
    sd: float | None
    n: int
    published: float | None
    within: bool | None


@dataclass(frozen=True)
class LabelledEntry:
    """An entry with its row, its metric, and its agreement with the paper."""

    row: tuple[str, ...]
    metric: str
    entry: TableEntry
    agreement: str


#: The entries of each row, by metric.
Table = dict[tuple[str, ...], dict[str, TableEntry]]


def as_entry(values: Sequence[float], published: float | None) -> TableEntry:
    """Summarise the values of all seeds.

    Examples
    --------
    >>> as_entry([0.05, 0.06, 0.07], published=0.052)
    TableEntry(mean=0.06, sd=0.01, n=3, published=0.052, within=True)
    """
    mean, sd = mean_and_sd(values)
    within = None if published is None else abs(mean - published) <= max(TOLERANCE, 2 * (sd or 0.0))
    return TableEntry(mean, sd, len(values), published, within)


def as_table(name: str, traces: Mapping[ExperimentSetting, Sequence[Trace]]) -> Table:
    """Return a table of the paper, computed from the traces of all seeds."""
    return {
        path: _row(name, path, [trace.metrics() for trace in traces[setting]])
        for path, setting in TABLES[name].items()
    }


def _row(table: str, path: tuple[str, ...], seeds: Sequence[Mapping[str, float]]) -> dict[str, TableEntry]:
    published = published_row(table, path)
    entries = {}
    for metric in METRIC_TITLES:
        number = published.get(metric)
        entries[metric] = as_entry(
            [metrics[metric] for metrics in seeds], None if number is None else float(number)
        )
    return entries


def to_dict(name: str, table: Table) -> dict[str, Any]:
    """Return a table as dictionaries, nested and named as `PUBLISHED`."""
    nested: dict[str, Any] = {"arm_ratio": ORDER_RATIO} if name == "figure_order" else {}
    for path, entries in table.items():
        node = nested
        for level in path:
            node = node.setdefault(level, {})
        node.update({metric: asdict(entry) for metric, entry in entries.items()})
    return nested


def labelled_entries(name: str, table: Table, compare: bool = True) -> Iterator[LabelledEntry]:
    """Iterate over the entries of a table, row by row; `compare=False` leaves the agreement empty."""
    for path, entries in table.items():
        for metric, entry in entries.items():
            known = is_known_deviation(published_row(name, path), metric)
            yield LabelledEntry(path, metric, entry, agreement(entry, known) if compare else "")


def agreement(entry: TableEntry, known_deviation: bool) -> str:
    """Return how an entry agrees with the paper; empty if nothing was published.

    Examples
    --------
    >>> agreement(as_entry([0.042, 0.044], 0.053), known_deviation=True)
    'known deviation'
    """
    if entry.within is None:
        return ""
    if entry.within:
        return REPRODUCED
    # Some numbers deviate under the reading that fits the paper best; they are reported, not tuned away.
    return KNOWN_DEVIATION if known_deviation else NOT_REPRODUCED


def to_csv(name: str, table: Table, data_source: str, compare: bool = True) -> str:
    """Return a table as CSV; the first line is a comment that names the data."""
    file = io.StringIO()
    file.write(f"# {data_source}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", "metric", "mean", "sd", "n", "published", "within", "agreement"])
    for item in labelled_entries(name, table, compare):
        entry = item.entry
        numbers = [entry.mean, entry.sd, entry.n, entry.published, entry.within]
        writer.writerow([row_title(item.row), item.metric, *numbers, item.agreement])
    return file.getvalue()


def format_measured(entry: TableEntry) -> str:
    """Format the measured number.

    Examples
    --------
    >>> format_measured(as_entry([0.05, 0.06, 0.07], published=None))
    '0.060 ± 0.010'
    """
    return plus_minus(entry.mean, entry.sd)
