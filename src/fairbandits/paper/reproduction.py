"""Reproduce the paper: simulate, and write tables, figures and the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbandits.paper import figures, tables, theory
from fairbandits.paper.experiments import (
    ALPHA,
    EXPERIMENTS,
    PAPER_LENGTH,
    QUICK_LENGTH,
    RATIOS,
    RIDGE,
    TABLES,
    ExperimentSetting,
    RunLength,
    as_experiments,
    row_title,
    settings_of,
)
from fairbandits.paper.published import CITATION
from fairbandits.paper.report import write_report
from fairbandits.report import figure_style
from fairbandits.report.data_source import check_same_source, load_and_describe_data
from fairbandits.simulate import Run, Trace, simulate_many
from fairbandits.validation import check_integer
from fairbandits.views import plot_style
from fairbandits.views.short_repr import ShortRepr

Traces = dict[ExperimentSetting, list[Trace]]


@dataclass(frozen=True, repr=False)
class ReproductionResults(ShortRepr):
    """The results of a reproduction, and the folder they were written to.

    Attributes
    ----------
    data_source : str
        One line that names the data.
    tables : dict
        The requested tables of the paper, by name.
    theory : dict
        Regret and bound by gamma; empty if not requested.
    folder : Path
        The folder of `results.json`, the CSV files, the figures and `report.html`.
    paper_sized : bool
        Whether the runs are as long as the paper's, so that the numbers are comparable.
    """

    data_source: str
    tables: dict[str, tables.Table]
    theory: dict[float, theory.RegretSummary]
    folder: Path
    paper_sized: bool


def reproduce(
    folder: str | Path,
    *,
    seeds: int = 20,
    only: Iterable[str] = (),
    jobs: int = 1,
    data: str | Path = "auto",
    quick: bool = False,
    progress: bool = False,
) -> ReproductionResults:
    """Run the paper's experiments, and write the measured numbers next to the published ones.

    The same seeds give a bitwise identical `results.json` for every value of `jobs`. Finished runs are cached in
    the folder, so that an interrupted reproduction resumes where it stopped.

    Parameters
    ----------
    folder : path
        The folder to write to.
    seeds : int
        The number of seeds.
    only : iterable of str
        Some of `fairbandits.paper.experiments.EXPERIMENTS`; by default all.
    jobs : int
        The number of processes; -1 for one per core.
    data : {"auto", "local", "real", "stand-in"} or a folder
        The source of the students and videos.
    quick : bool
        Whether to run a tenth of the rounds only, to check that everything works.
    progress : bool
        Whether to show a progress bar, on a terminal or in a notebook.
    """
    experiments = as_experiments(only)
    check_integer("seeds", seeds, 1)
    plot_style.require_matplotlib()
    length = QUICK_LENGTH if quick else PAPER_LENGTH
    data, description = load_and_describe_data(data)
    source = description["source"]
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    runs = {
        setting: [setting.run(seed, length, data) for seed in range(seeds)] for setting in settings_of(experiments)
    }
    theory_runs = theory.runs(seeds, length.train + length.test) if "theory" in experiments else {}
    traces = _simulate({**runs, **theory_runs}, jobs=jobs, cache=out / "cache", progress=progress)
    check_same_source((trace.data_source for setting in runs for trace in traces[setting]), source)
    theory_traces = {gamma: traces.pop(gamma) for gamma in theory_runs}

    measured = {name: tables.as_table(name, traces) for name in experiments if name in TABLES}
    results = ReproductionResults(source, measured, theory.summarise(theory_traces), out, not quick)
    settings = _settings(experiments, seeds, length)
    _remove_earlier_files(out)
    _write_tables(results, {"data": description, "settings": settings})
    paths = _write_figures(results, traces, theory_traces)
    write_report(out / "report.html", source, measured, results.theory, paths, settings)
    return results


def _settings(experiments: Sequence[str], seeds: int, length: RunLength) -> dict[str, Any]:
    return {
        "citation": CITATION,
        "experiments": list(experiments),
        "seeds": seeds,
        "train": length.train,
        "test": length.test,
        "alpha": ALPHA,
        "ridge": RIDGE,
        "model": "disjoint",
        "videos": {ratio: list(counts) for ratio, counts in RATIOS.items()},
        "tolerance": tables.TOLERANCE,
        "paper_sized": length == PAPER_LENGTH,
    }


def _simulate(runs: Mapping[Any, list[Run]], **execution: Any) -> dict[Any, list[Trace]]:
    """Simulate all runs together, and return the traces under the keys of their runs."""
    traces = iter(simulate_many([run for group in runs.values() for run in group], **execution))
    return {key: [next(traces) for _ in group] for key, group in runs.items()}


def _remove_earlier_files(folder: Path) -> None:
    """Remove the files of an earlier call, which may have had other experiments or seeds."""
    for name in EXPERIMENTS:
        for path in (folder / f"{name}.csv", *(folder / "figures").glob(f"{name}*.p[nd][gf]")):
            path.unlink(missing_ok=True)


def _write_tables(results: ReproductionResults, header: dict[str, Any]) -> None:
    content = header | {
        "tables": {name: tables.to_dict(name, table) for name, table in results.tables.items()},
        "theory": theory.to_dict(results.theory),
    }
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    (results.folder / "results.json").write_text(text + "\n", encoding="utf-8")
    for name, table in results.tables.items():
        text = tables.to_csv(name, table, results.data_source, results.paper_sized)
        (results.folder / f"{name}.csv").write_text(text, encoding="utf-8")
    if results.theory:
        (results.folder / "theory.csv").write_text(theory.to_csv(results.theory), encoding="utf-8")


def _write_figures(
    results: ReproductionResults, traces: Traces, theory_traces: Mapping[float, Sequence[Trace]]
) -> dict[str, list[Path]]:
    """Draw the figures of each experiment, and return their paths."""
    folder = results.folder / "figures"
    paths: dict[str, list[Path]] = {}
    for name in results.tables:
        paths[name] = []
        for suffix, rows in _rows_by_figure(name).items():
            figure = figures.cumulative_rewards({row_title(row): traces[TABLES[name][row]] for row in rows})
            paths[name].append(figure_style.save_figure(figure, folder, f"{name}{suffix}"))
    if "table_gamma" in results.tables:
        figure = figures.gamma_trade_off(results.tables["table_gamma"], results.data_source)
        paths["table_gamma"].insert(0, figure_style.save_figure(figure, folder, "table_gamma_trade_off"))
    if theory_traces:
        paths["theory"] = [figure_style.save_figure(figures.regret_and_bound(theory_traces), folder, "theory")]
    return paths


def _rows_by_figure(name: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the rows that share a figure, by the suffix of its file name.

    Where rows are nested in policies, the policies of a row share a figure.
    """
    rows: dict[str, list[tuple[str, ...]]] = {}
    for path in TABLES[name]:
        suffix = f"_{path[1].replace(':', '_to_')}" if len(path) > 1 else ""
        rows.setdefault(suffix, []).append(path)
    return rows
