"""Run a comparison: simulate, summarise, and write tables, figures and the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbandits.compare import figures, notebook, tables
from fairbandits.compare.policy_specs import DEFAULT, POLICIES, PolicySpec, parse_policies
from fairbandits.compare.report import write_report
from fairbandits.compare.subgroups import summarise_trace
from fairbandits.compare.suite import WORLDS, as_worlds
from fairbandits.compare.summary import Seeds, WorldSummary, summarise_world
from fairbandits.report import figure_style
from fairbandits.report.data_source import check_same_source, load_and_describe_data
from fairbandits.simulate import summarise_many
from fairbandits.validation import check_integer, check_number
from fairbandits.views import plot_style
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The subgroup means of all seeds, by world and policy.
Runs = dict[str, dict[str, Seeds]]


@dataclass(frozen=True, repr=False)
class ComparisonResults(ShortRepr):
    """The results of a comparison, and the folder they were written to.

    Attributes
    ----------
    data_source : str
        One line that names the data.
    worlds : dict
        The summary of each world.
    folder : Path
        The folder of `results.json`, `compare.csv`, `compare.md`, the figures and `report.html`.
    tolerance : float
        The tolerated reward gap.
    """

    data_source: str
    worlds: dict[str, WorldSummary]
    folder: Path
    tolerance: float

    def _repr_html_(self) -> str:
        return notebook.comparison_html(self.worlds, self.data_source)

    def plot(self, ax: Axes | None = None, *, world: str | None = None) -> Axes:
        """Plot utility loss against reward gap in a world, with the oracle's frontier; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; by default those of a new figure.
        world : str, optional
            One of `worlds`; by default the first one.
        """
        name = next(iter(self.worlds)) if world is None else world
        if name not in self.worlds:
            raise ValueError(f"world must be one of {', '.join(self.worlds)}, got {world!r}")
        return notebook.plot_world(self.worlds[name], name, self.tolerance, ax)


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
    """Compare policies over worlds with an oracle, and write tables, figures and a report.

    The same seeds give a bitwise identical `results.json` for every value of `jobs`. Finished runs are cached in
    the folder, so that an interrupted comparison resumes where it stopped.

    Parameters
    ----------
    folder : path
        The folder to write to.
    worlds : iterable of str
        Worlds of `fairbandits.compare.suite.WORLDS`, or "paper", "short", "long" or "all"; by default the short
        ones.
    policies : iterable of str
        Policies, as `fairbandits.compare.policy_specs.parse_policies` takes them.
    seeds : int
        The number of seeds.
    jobs : int
        The number of processes; -1 for one per core.
    tolerance : float
        The tolerated reward gap.
    data : {"auto", "local", "real", "stand-in"} or a folder
        The source of the students and videos.
    quick : bool
        Whether to run a tenth of the rounds only, to check that everything works.
    progress : bool
        Whether to show a progress bar, on a terminal or in a notebook.
    """
    names, specs = as_worlds(worlds), parse_policies(policies)
    check_integer("seeds", seeds, 1)
    check_number("tolerance", tolerance, 0, 1)
    plot_style.require_matplotlib()
    data, description = load_and_describe_data(data)
    source = description["source"]
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    execution = {"jobs": jobs, "cache": out / "cache", "progress": progress}
    runs = _simulate(names, specs, seeds, {"data": data}, quick, source, execution)

    summaries = {name: summarise_world(WORLDS[name], runs[name], tolerance) for name in names}
    results = ComparisonResults(source, summaries, out, tolerance)
    titles = [spec.title for spec in specs]
    settings = {
        "worlds": list(names),
        "policies": titles,
        "default": DEFAULT if DEFAULT in titles else None,
        "seeds": seeds,
        "tolerance": tolerance,
        "quick": quick,
    }
    _write_tables(results, {"data": description, "settings": settings}, seeds)
    paths = _write_figures(results, seeds)
    write_report(out / "report.html", source, summaries, paths, settings)
    return results


def _simulate(
    names: Sequence[str],
    specs: Sequence[PolicySpec],
    seeds: int,
    data_params: dict[str, Any],
    quick: bool,
    source: str,
    execution: Mapping[str, Any],
) -> Runs:
    """Simulate all runs, and return their summaries by world and policy."""
    runs = [
        spec.run(seed, WORLDS[name].world_params(quick) | data_params)
        for name in names
        for spec in specs
        for seed in range(seeds)
    ]
    summaries = summarise_many(runs, summarise_trace, **execution)
    check_same_source((run_source for run_source, _ in summaries), source)
    parts = (means_by_part for _, means_by_part in summaries)
    return {name: {spec.title: [next(parts) for _ in range(seeds)] for spec in specs} for name in names}


def _write_tables(results: ComparisonResults, header: dict[str, Any], seeds: int) -> None:
    content = header | {"worlds": {name: tables.to_dict(summary) for name, summary in results.worlds.items()}}
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    (results.folder / "results.json").write_text(text + "\n", encoding="utf-8")
    csv = tables.to_csv(results.worlds, results.data_source, seeds)
    (results.folder / "compare.csv").write_text(csv, encoding="utf-8")
    markdown = tables.to_markdown(results.worlds, results.data_source)
    (results.folder / "compare.md").write_text(markdown, encoding="utf-8")


def _write_figures(results: ComparisonResults, seeds: int) -> dict[str, Path]:
    """Draw the figure of every world, delete those of an earlier call, and return the paths."""
    folder = results.folder / "figures"
    for path in folder.glob("world_*.p[nd][gf]"):
        path.unlink()
    settings = results.tolerance, results.data_source, seeds
    return {
        name: figure_style.save_figure(figures.world_figure(name, summary, *settings), folder, f"world_{name}")
        for name, summary in results.worlds.items()
    }
