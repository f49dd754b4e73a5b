"""The command `fairbandits`: parses, calls, prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

from fairbandits import __version__, named, worlds
from fairbandits.compare import tables as comparison_tables
from fairbandits.compare.compare import Results as Comparison
from fairbandits.compare.compare import compare as compare_policies
from fairbandits.compare.contenders import POLICIES
from fairbandits.compare.suite import WORLDS
from fairbandits.paper import figures, theory
from fairbandits.paper.experiments import EXPERIMENTS, TITLES, row_title
from fairbandits.paper.reproduce import Results
from fairbandits.paper.reproduce import reproduce as reproduce_paper
from fairbandits.paper.tables import METRIC_TITLES, lines, measured
from fairbandits.report import drawing
from fairbandits.simulate import Trace
from fairbandits.worlds import DataError, StudentsAndVideos

app = typer.Typer(help="Contextual bandits that treat their users fairly.", add_completion=False)

# Whatever is wrong with what somebody typed: no command, no such option, a word for a number.
# Typer shows its own class for it, but not under a public name.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

# Some versions of typer turn an interrupt into this status, others into typer.Abort.
_INTERRUPTED = 130

DataOption = Annotated[
    str, typer.Option(help="auto, local (no download), real, standin, or a folder that holds the data.")
]
OutOption = Annotated[Path, typer.Option(help="The folder to write to.")]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; every error is one line, and status 2."""
    try:
        status = app((sys.argv[1:] if arguments is None else arguments) or ["--help"], standalone_mode=False)
    except typer.Abort:
        status = _INTERRUPTED
    except _UsageError as error:
        message: str = error.format_message()  # type: ignore[attr-defined]  # see above
        return _fail(f"{message.rstrip('.')}; try --help")
    except (ValueError, DataError, OSError, ImportError) as error:
        return _fail(str(error))
    except MemoryError as error:
        return _fail(f"{error}; take fewer arms or rounds")
    if status == _INTERRUPTED:
        return _fail(
            "interrupted; what reproduce or compare has finished is kept, and goes on from there", _INTERRUPTED
        )
    return 0


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    """Contextual bandits that treat their users fairly."""
    if show:
        _say(f"fairbandits {__version__}")


@app.command()
def reproduce(
    seeds: Annotated[int | None, typer.Option(help="How many seeds (default: 20; 3 with --quick).")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help=f"Experiments, by comma: {', '.join(EXPERIMENTS)}.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="How many processes; -1 for one per core.")] = -1,
    out: OutOption = Path("results"),
    data: DataOption = "auto",
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the rounds, to see that all works.")] = False,
) -> None:
    """Reproduce the paper: every table and figure, published beside measured, and a report."""
    _make_folder(out)
    results = reproduce_paper(
        out,
        seeds=_as_seeds(seeds, quick),
        only=[name.strip() for names in only or () for name in names.split(",")],
        jobs=jobs,
        data=data,
        quick=quick,
        progress=True,
    )
    _print_results(results)


@app.command()
def compare(
    worlds_: Annotated[
        list[str] | None,
        typer.Option(
            "--worlds", help=f"By comma: {', '.join(WORLDS)}; or paper, short, long, all (default: short)."
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(help="By comma: Name, Name(parameter=value,...), module:Class(...) (default: all)."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="How many seeds (default: 20; 3 with --quick).")] = None,
    jobs: Annotated[int, typer.Option(help="How many processes; -1 for one per core.")] = -1,
    tolerance: Annotated[float, typer.Option(help="How large a difference between groups is tolerated.")] = 0.01,
    out: OutOption = Path("results/compare"),
    data: DataOption = "auto",
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the rounds, to see that all works.")] = False,
) -> None:
    """Compare policies over a suite of worlds, beside what an oracle could do: tables, figures, a report."""
    _make_folder(out)
    results = compare_policies(
        out,
        worlds=[name.strip() for names in worlds_ or () for name in names.split(",")],
        policies=[text for texts in policies for text in named.split_outside(texts)] if policies else POLICIES,
        seeds=_as_seeds(seeds, quick),
        jobs=jobs,
        tolerance=tolerance,
        data=data,
        quick=quick,
        progress=True,
    )
    _print_comparison(results)


@app.command()
def simulate(
    policy: Annotated[str, typer.Option(help="A policy of fairbandits, or module:Class.")] = "FairLinUCB",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the policy: name=value. Repeatable.")
    ] = None,
    world: Annotated[str, typer.Option(help="A world of fairbandits, or module:Class.")] = "StudentsAndVideos",
    with_: Annotated[
        list[str] | None, typer.Option("--with", help="A parameter of the world: name=value. Repeatable.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="What the groups are: sex, race or sex,race.")] = None,
    rounds: Annotated[int | None, typer.Option(help="How many rounds, in all.")] = None,
    arms: Annotated[int | None, typer.Option(help="How many arms.")] = None,
    seed: Annotated[int, typer.Option(help="Where all randomness comes from.")] = 0,
    data: DataOption = "auto",
    out: OutOption = Path("results"),
) -> None:
    """Run one policy in one world, print who gained what, and draw it."""
    world_params = named.parse_params(with_ or ())
    if sensitive is not None:
        if "sensitive" in world_params:
            raise ValueError("sensitive is given twice, by --sensitive and by --with; give one")
        names = [name.strip() for name in sensitive.split(",")]
        world_params["sensitive"] = names if len(names) > 1 else names[0]
    if named.find_world(world) is StudentsAndVideos:
        world_params.setdefault("data", data)
    run = named.as_run(
        policy,
        world,
        seed=seed,
        policy_params=named.parse_params(set_ or ()),
        world_params=world_params,
        rounds=rounds,
        arms=arms,
    )
    drawing.need_matplotlib()
    run.make_policy()  # refuses what is wrong with its parameters before the data is looked for
    _make_folder(out)
    title = ", ".join([run.policy.__name__, *(set_ or ())])
    trace = run.simulate(progress=True)
    _print_trace(trace, f"{title} in {run.world.__name__}, seed {seed}")
    if not trace.group:
        _say("nobody's group is known in this world, so there is nothing to draw")
    for attribute in trace.group:
        figure = figures.cumulative_rewards({f"{run.policy.__name__}, by {attribute}": [trace]}, attribute)
        _say(f"drawn: {drawing.save(figure, out, f'simulate_{run.policy.__name__}_{attribute}')}")


@app.command()
def data(
    folder: Annotated[Path | None, typer.Option("--data", help="A folder that holds the data.")] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download what is missing into the cache.")] = False,
) -> None:
    """Say which datasets are on this machine, verify them, and fetch those that are not."""
    if folder is not None and not folder.is_dir():
        raise DataError(f"{folder}: the folder is not there")
    if fetch:
        for record in worlds.status(folder):
            if record.state == "missing":
                _say(f"fetched: {worlds.fetch(record.name)}")
    records = worlds.status(folder)
    for record in records:
        rows = f", {record.rows:,} rows, sha256 as published" if record.state == "ok" else ""
        _say(f"{record.title} ({record.name}): {record.state}{rows}\n  {record.where}")
    damaged = [record.where for record in records if record.state == "damaged"]
    if damaged:
        raise DataError(damaged[0])
    if any(record.state == "missing" for record in records):
        _say("What is missing: fairbandits data --fetch. Until then, a stand-in serves.")


def _as_seeds(seeds: int | None, quick: bool) -> int:
    return seeds if seeds is not None else 3 if quick else 20


def _print_comparison(results: Comparison) -> None:
    _say(results.data_source)
    for name, found in results.worlds.items():
        shown = _table("", "loss", "difference", "worse-off", "below oracle", "front")
        for title, row in found.rows.items():
            metrics = ("utility_loss", "reward_difference", "worst_off_reward", "below_oracle")
            shown.add_row(title, *(comparison_tables.mean(row, metric) for metric in metrics), row.front)
        _say(f"{name}: {found.world.about}")
        _console().print(shown, "")
    _say(f"written: {results.folder / 'report.html'}, results.json, compare.csv, compare.md and figures")


def _print_results(results: Results) -> None:
    for name, table in results.tables.items():
        shown = _table("", "published", "ours", "")
        before = None
        for line in lines(name, table, results.paper_sized):
            if line.row != before:
                shown.add_row(row_title(line.row))
            before = line.row
            if line.cell.published is not None or line.metric == "worst_off_reward":
                published = "" if line.cell.published is None else f"{line.cell.published:.3f}"
                shown.add_row(f"  {METRIC_TITLES[line.metric]}", published, measured(line.cell), line.verdict)
        _say(f"{results.data_source}\n{TITLES[name]}")
        _console().print(shown, "")
    if results.theory:
        _print_theory(results)
    if not results.paper_sized:
        _say("These runs are shorter than the paper's: they show that all works, and compare with nothing.")
    _say(f"written: {results.folder / 'results.json'}, {results.folder / 'report.html'}, figures and CSVs")


def _print_theory(results: Results) -> None:
    shown = _table("", "regret, mean", "largest", "bound", "kept")
    for gamma, line in results.theory.items():
        kept = "yes" if line.kept else "NO"
        shown.add_row(f"gamma {gamma:g}", f"{line.mean:.1f}", f"{line.largest:.1f}", f"{line.bound:,.0f}", kept)
    _say(f"{theory.DATA_SOURCE}\n{TITLES['theory']}")
    _console().print(shown, "")


def _print_trace(trace: Trace, title: str) -> None:
    _say(f"{trace.data_source}\n{title}, {len(trace):,} rounds")
    shown = _table("", *trace.parts)
    found = [trace.metrics(part) for part in trace.parts]
    for metric in dict.fromkeys(name for metrics in found for name in metrics):
        numbers = (f"{metrics[metric]:.4f}" if metric in metrics else "" for metrics in found)
        shown.add_row(metric, *numbers)
    _console().print(shown, "")


def _make_folder(folder: Path) -> None:
    """Make the folder to write to: better now than when all is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {folder}: no folder can be made there ({error.strerror}); name another") from None


def _table(*heads: str) -> Table:
    # Without a frame it fits into eighty columns.
    return Table(
        *(Column(head, overflow="fold") for head in heads), box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )


def _console() -> Console:
    return Console(highlight=False, emoji=False, markup=False)


def _say(text: str) -> None:
    typer.echo(text)


def _fail(message: str, status: int = 2) -> int:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return status
