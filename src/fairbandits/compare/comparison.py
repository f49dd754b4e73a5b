"""All of a comparison, from the data to the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbandits.compare import figures, tables
from fairbandits.compare.cell_sums import sum_up
from fairbandits.compare.contenders import DEFAULT, POLICIES, Contender, as_contenders
from fairbandits.compare.report import write_report
from fairbandits.compare.suite import WORLDS, as_worlds
from fairbandits.compare.summary import Seeds, WorldSummary, summarise_world
from fairbandits.report import figure_style
from fairbandits.report.data_source import about_data, check_source
from fairbandits.simulate import summarise_many
from fairbandits.worlds.checks import between, whole

#: By world and policy, what all seeds came to.
Runs = dict[str, dict[str, Seeds]]


@dataclass(frozen=True)
class ComparisonResults:
    """What was found, and where it was written.

    Attributes
    ----------
    data_source : str
        Which data it shows.
    worlds : dict
        By world, what was found.
    folder : Path
        Where `results.json`, `compare.csv`, `compare.md`, the figures and `report.html` are.
    """

    data_source: str
    worlds: dict[str, WorldSummary]
    folder: Path


def compare(
    folder: str | Path,
    *,
    worlds: Iterable[str] = (),
    policies: Iterable[str] = POLICIES,
    seeds: int = 20,
    jobs: int = 1,
    tolerance: float = 0.01,
    data: str | Path = "auto",
    quick: bool = False,
    progress: bool = False,
) -> ComparisonResults:
    """Run policies over worlds, and write down what comes out beside what an oracle could do.

    The same seeds give the same `results.json` to the bit, whatever `jobs` is. Finished runs are kept in the
    folder, so that what was interrupted goes on where it stopped.

    Parameters
    ----------
    folder : path
        Where to write.
    worlds : iterable of str
        Worlds of `fairbandits.compare.suite.WORLDS`, or the words "paper", "short", "long", "all"; none means
        the short ones.
    policies : iterable of str
        Policies, as `fairbandits.compare.contenders.as_contenders` reads them.
    seeds : int
        How many seeds, from 0.
    jobs : int
        How many processes; -1 for one per core.
    tolerance : float
        How large a difference between groups is tolerated.
    data : {"auto", "local", "real", "standin"} or a folder
        Where the students and videos come from.
    quick : bool
        A tenth of the rounds: to see that all works.
    progress : bool
        Show a progress bar, where somebody sees it.
    """
    names, contenders = as_worlds(worlds), as_contenders(policies)
    whole("seeds", seeds, 1)
    between("tolerance", tolerance, 0, 1)
    figure_style.need_matplotlib()
    data, about = about_data(data)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    how = {"jobs": jobs, "cache": out / "cache", "progress": progress}
    runs = _simulate(names, contenders, seeds, {"data": data}, quick, about["source"], how)

    found = {name: summarise_world(WORLDS[name], runs[name], tolerance) for name in names}
    results = ComparisonResults(about["source"], found, out)
    titles = [contender.title for contender in contenders]
    settings = {
        "worlds": list(names),
        "policies": titles,
        "default": DEFAULT if DEFAULT in titles else None,
        "seeds": seeds,
        "tolerance": tolerance,
        "quick": quick,
    }
    _write_numbers(results, {"data": about, "settings": settings}, seeds)
    drawn = _draw(results, tolerance, seeds)
    write_report(out / "report.html", results.data_source, found, drawn, settings)
    return results


def _simulate(
    names: Sequence[str],
    contenders: Sequence[Contender],
    seeds: int,
    where: dict[str, Any],
    quick: bool,
    source: str,
    how: Mapping[str, Any],
) -> Runs:
    """Simulate all runs in one go, and hand what they came to back by world and policy."""
    runs = [
        contender.run(seed, WORLDS[name].world_params(quick) | where)
        for name in names
        for contender in contenders
        for seed in range(seeds)
    ]
    done = summarise_many(runs, sum_up, **how)
    check_source((shown for shown, _ in done), source)
    cells = (parts for _, parts in done)
    return {
        name: {contender.title: [next(cells) for _ in range(seeds)] for contender in contenders} for name in names
    }


def _write_numbers(results: ComparisonResults, head: dict[str, Any], seeds: int) -> None:
    plain = head | {"worlds": {name: tables.plain(found) for name, found in results.worlds.items()}}
    text = json.dumps(plain, indent=1, allow_nan=False, ensure_ascii=False)
    (results.folder / "results.json").write_text(text + "\n", encoding="utf-8")
    numbers = tables.to_csv(results.worlds, results.data_source, seeds)
    (results.folder / "compare.csv").write_text(numbers, encoding="utf-8")
    readable = tables.to_markdown(results.worlds, results.data_source)
    (results.folder / "compare.md").write_text(readable, encoding="utf-8")


def _draw(results: ComparisonResults, tolerance: float, seeds: int) -> dict[str, Path]:
    """Draw every world, in place of what an earlier call drew, and say where the figures are."""
    folder = results.folder / "figures"
    for path in folder.glob("world_*.p[nd][gf]"):
        path.unlink()
    return {
        name: figure_style.save(
            figures.world_figure(name, found, tolerance, results.data_source, seeds), folder, f"world_{name}"
        )
        for name, found in results.worlds.items()
    }
