"""Run a comparison: simulate, summarise, and write tables, figures and the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbandits.compare import notebook
from fairbandits.compare.applicability import Trials, try_all
from fairbandits.compare.output import write_results
from fairbandits.compare.policy_specs import POLICIES, PolicyLike, PolicySpec, parse_policies
from fairbandits.compare.run_summary import RUN_SUMMARIES, RunSummary
from fairbandits.compare.settings import Settings
from fairbandits.compare.suite import SuiteWorld
from fairbandits.compare.summary import Seeds, WorldSummary, summarise_world
from fairbandits.compare.world_specs import WorldLike, parse_worlds
from fairbandits.simulate import summarise_many
from fairbandits.views import plot_style
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The summaries of all seeds, by world and policy.
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
    policies : tuple of str
        The compared policies.
    skipped : dict
        The reason why a world was skipped, by world.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from fairbandits.compare.comparison import compare
    >>> from fairbandits.worlds import LinearWorld
    >>> with TemporaryDirectory() as folder:
    ...     results = compare(folder, worlds={"mine": LinearWorld(rounds=100)}, policies=["Uniform"], seeds=2)
    >>> results.policies, list(results.worlds), results.tolerance
    (('Uniform',), ['mine'], 0.01)
    """

    data_source: str
    worlds: dict[str, WorldSummary]
    folder: Path
    tolerance: float
    policies: tuple[str, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return notebook.comparison_html(self.worlds, self.policies, self.data_source)

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
        return notebook.plot_world(self.worlds[name], name, self.tolerance, self.policies, ax)


def compare(
    folder: str | Path,
    *,
    worlds: Iterable[WorldLike] | Mapping[str, WorldLike] = (),
    policies: Iterable[PolicyLike] = POLICIES,
    seeds: int = 20,
    jobs: int = 1,
    tolerance: float = 0.01,
    data: str | Path = "auto",
    quick: bool = False,
    progress: bool = False,
) -> ComparisonResults:
    """Compare policies with an oracle in several worlds, and write tables, figures and a report.

    The same seeds give a bitwise identical `results.json` for every value of `jobs`. Finished runs are cached in
    the folder, so that an interrupted comparison resumes where it stopped.

    Parameters
    ----------
    folder : path
        The folder to write to.
    worlds : iterable of worlds, or mapping of names to worlds
        Worlds of the suite by name, or "paper", "short", "long", "real", "synthetic", "fairbench" or "all"; by
        default the short ones. Also accepted are `Name(parameter=value, ...)` and `module:Class(...)` as text,
        classes, and world objects. A class receives the seed as `random_state`. A class without that parameter and
        an object give the same world for every seed; the seed then affects only the policy.
    policies : iterable of policies
        Policies that `fairbandits.compare.policy_specs.parse_policies` accepts: text, classes or objects.
    seeds : int
        The number of seeds.
    jobs : int
        The number of processes; -1 for one per core.
    tolerance : float
        The tolerated reward gap of the oracle and the report. It is not passed to the policies: set the tolerance
        of a policy with its own parameter, as in `"EvenLinUCB(tolerance=0.02)"`.
    data : {"auto", "local", "real", "stand-in"} or a folder
        The source of the data, for worlds that have the parameter `data`.
    quick : bool
        Whether to run only a tenth of the rounds, to check that everything works.
    progress : bool
        Whether to show a progress bar, on a terminal or in a notebook.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from fairbandits import LinUCB, Uniform
    >>> from fairbandits.worlds import LinearWorld
    >>> mine = {"mine": LinearWorld(rounds=100)}
    >>> with TemporaryDirectory() as folder:
    ...     results = compare(folder, worlds=mine, policies=[LinUCB(alpha=0.2), Uniform], seeds=2)
    >>> list(results.worlds["mine"].policies)
    ['LinUCB(alpha=0.2)', 'Uniform']
    """
    settings = Settings(seeds, tolerance, quick=quick)
    execution = {"jobs": jobs, "progress": progress}
    return run_comparison(folder, parse_worlds(worlds), parse_policies(policies), settings, data, execution)


def run_comparison(
    folder: str | Path,
    worlds: Mapping[str, SuiteWorld],
    specs: Sequence[PolicySpec],
    settings: Settings,
    data: str | Path,
    execution: Mapping[str, Any],
) -> ComparisonResults:
    """Simulate, summarise and write; `compare` and `fairbench` differ in their settings."""
    plot_style.require_matplotlib()
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    trials = try_all(worlds, specs, quick=settings.quick, data=data)
    # After the trials, everything that can be downloaded is in the cache: no run waits for a download that fails.
    source = "local" if data == "auto" else data
    there = {name: world for name, world in worlds.items() if name in trials.data_sources}
    runs = _simulate(there, specs, settings, source, trials, {**execution, "cache": out / "cache"})
    summaries = {
        name: summarise_world(
            world,
            runs[name],
            settings.tolerance,
            min_rounds=settings.min_rounds,
            not_applicable=trials.not_applicable[name],
        )
        for name, world in there.items()
    }
    titles = tuple(spec.title for spec in specs)
    write_results(out, trials.sources(), summaries, titles, settings, trials.skipped)
    return ComparisonResults(trials.sources(), summaries, out, settings.tolerance, titles, trials.skipped)


def _simulate(
    worlds: Mapping[str, SuiteWorld],
    specs: Sequence[PolicySpec],
    settings: Settings,
    data: str | Path,
    trials: Trials,
    execution: Mapping[str, Any],
) -> Runs:
    """Simulate all runs, and return their summaries by world and policy."""
    # Seeds first: slow and fast runs alternate, so that the time left can be estimated.
    keys = [
        (name, spec, seed)
        for seed in range(settings.seeds)
        for name in worlds
        for spec in specs
        if spec.title not in trials.not_applicable[name]
    ]
    prepared = {
        name: (world.world_class(), world.world_params(settings.quick, data)) for name, world in worlds.items()
    }
    runs = [spec.run(seed, *prepared[name], trials.data_sources[name]) for name, spec, seed in keys]
    found: dict[str, dict[str, list[RunSummary]]] = {name: {} for name in worlds}
    for (name, spec, _), summary in zip(keys, summarise_many(runs, RUN_SUMMARIES, **execution), strict=True):
        found[name].setdefault(spec.title, []).append(summary)
    return {name: dict(by_policy) for name, by_policy in found.items()}
