"""All of the paper, from the data to the report."""

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
    PAPER_SIZE,
    QUICK_SIZE,
    RATIOS,
    RIDGE,
    TABLES,
    ExperimentSetting,
    Size,
    as_experiments,
    row_title,
    settings_of,
)
from fairbandits.paper.published import CITATION
from fairbandits.paper.report import write_report
from fairbandits.report import figure_style
from fairbandits.report.data_source import about_data, check_source
from fairbandits.simulate import Run, Trace, simulate_many
from fairbandits.worlds.checks import whole

Traces = dict[ExperimentSetting, list[Trace]]


@dataclass(frozen=True)
class ReproductionResults:
    """What was found, and where it was written.

    Attributes
    ----------
    data_source : str
        Which data it shows.
    tables : dict
        By name, the tables of the paper that were asked for.
    theory : dict
        By gamma, regret and bound; empty if that was not asked for.
    folder : Path
        Where `results.json`, the CSVs, the figures and `report.html` are.
    paper_sized : bool
        Whether the runs are as long as the paper's, so that the two compare.
    """

    data_source: str
    tables: dict[str, tables.Table]
    theory: dict[float, theory.Regret]
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
    """Run the paper's experiments and write down what comes out, beside what was published.

    The same seeds give the same `results.json` to the bit, whatever `jobs` is. Finished runs are kept in the
    folder, so that what was interrupted goes on where it stopped.

    Parameters
    ----------
    folder : path
        Where to write.
    seeds : int
        How many seeds, from 0.
    only : iterable of str
        The experiments, of `fairbandits.paper.experiments.EXPERIMENTS`; none means all.
    jobs : int
        How many processes; -1 for one per core.
    data : {"auto", "local", "real", "standin"} or a folder
        Where the students and videos come from.
    quick : bool
        A tenth of the rounds: to see that all works, not to compare with the paper.
    progress : bool
        Show a progress bar, where somebody sees it.
    """
    experiments = as_experiments(only)
    whole("seeds", seeds, 1)
    figure_style.need_matplotlib()
    size = QUICK_SIZE if quick else PAPER_SIZE
    data, about = about_data(data)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    runs = {
        setting: [setting.run(seed, size, data) for seed in range(seeds)] for setting in settings_of(experiments)
    }
    bounded = theory.runs(seeds, size.train + size.test) if "theory" in experiments else {}
    traces = _simulate({**runs, **bounded}, jobs=jobs, cache=out / "cache", progress=progress)
    check_source((trace.data_source for setting in runs for trace in traces[setting]), about["source"])
    of_theory = {gamma: traces.pop(gamma) for gamma in bounded}

    found = {name: tables.as_table(name, traces) for name in experiments if name in TABLES}
    results = ReproductionResults(about["source"], found, theory.sum_up(of_theory), out, not quick)
    settings = _settings(experiments, seeds, size)
    _clear(out)
    _write_numbers(results, {"data": about, "settings": settings})
    drawn = _draw(results, traces, of_theory)
    write_report(out / "report.html", results.data_source, found, results.theory, drawn, settings)
    return results


def _settings(experiments: Sequence[str], seeds: int, size: Size) -> dict[str, Any]:
    return {
        "citation": CITATION,
        "experiments": list(experiments),
        "seeds": seeds,
        "train": size.train,
        "test": size.test,
        "alpha": ALPHA,
        "ridge": RIDGE,
        "model": "disjoint",
        "videos": {ratio: list(counts) for ratio, counts in RATIOS.items()},
        "tolerance": tables.TOLERANCE,
        "paper_sized": size == PAPER_SIZE,
    }


def _simulate(runs: Mapping[Any, list[Run]], **how: Any) -> dict[Any, list[Trace]]:
    """Simulate all runs in one go, and hand the traces back under the names of their runs."""
    traces = iter(simulate_many([run for group in runs.values() for run in group], **how))
    return {name: [next(traces) for _ in group] for name, group in runs.items()}


def _clear(folder: Path) -> None:
    """Remove what an earlier call wrote, which may have been for other experiments or seeds."""
    for name in EXPERIMENTS:
        for path in (folder / f"{name}.csv", *(folder / "figures").glob(f"{name}*.p[nd][gf]")):
            path.unlink(missing_ok=True)


def _write_numbers(results: ReproductionResults, head: dict[str, Any]) -> None:
    plain = head | {
        "tables": {name: tables.nested(name, table) for name, table in results.tables.items()},
        "theory": theory.plain(results.theory),
    }
    text = json.dumps(plain, indent=1, allow_nan=False, ensure_ascii=False)
    (results.folder / "results.json").write_text(text + "\n", encoding="utf-8")
    for name, table in results.tables.items():
        text = tables.to_csv(name, table, results.data_source, results.paper_sized)
        (results.folder / f"{name}.csv").write_text(text, encoding="utf-8")
    if results.theory:
        (results.folder / "theory.csv").write_text(theory.to_csv(results.theory), encoding="utf-8")


def _draw(
    results: ReproductionResults, traces: Traces, of_theory: Mapping[float, Sequence[Trace]]
) -> dict[str, list[Path]]:
    """Draw the figures of each experiment, and say where they are."""
    folder = results.folder / "figures"
    drawn: dict[str, list[Path]] = {}
    for name in results.tables:
        drawn[name] = []
        for label, rows in _panels(name).items():
            panels = {row_title(path): traces[TABLES[name][path]] for path in rows}
            drawn[name].append(figure_style.save(figures.cumulative_rewards(panels), folder, f"{name}{label}"))
    if "table_gamma" in results.tables:
        figure = figures.gamma_trade_off(results.tables["table_gamma"], results.data_source)
        drawn["table_gamma"].insert(0, figure_style.save(figure, folder, "table_gamma_trade_off"))
    if of_theory:
        drawn["theory"] = [figure_style.save(figures.regret_and_bound(of_theory), folder, "theory")]
    return drawn


def _panels(name: str) -> dict[str, list[tuple[str, ...]]]:
    """Say which rows of a table share a figure; those with a policy above the row have one for each row."""
    panels: dict[str, list[tuple[str, ...]]] = {}
    for path in TABLES[name]:
        label = f"_{path[1].replace(':', '_to_')}" if len(path) > 1 else ""
        panels.setdefault(label, []).append(path)
    return panels
