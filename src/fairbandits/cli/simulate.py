"""`fairbandits simulate`: run one policy in one world."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from fairbandits import registry
from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.options import DataOption, OutOption
from fairbandits.cli.world_options import find_world, modify_world
from fairbandits.paper import figures
from fairbandits.report import figure_style
from fairbandits.simulate import Trace
from fairbandits.views import plot_style


def _column(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel="Columns of a table", metavar="COLUMN")


def _file(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel="Columns of a table", metavar="FILE")


def _change(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel="Changes to the world")


def simulate(
    policy: Annotated[str, typer.Option(help="A policy of fairbandits, or module:Class.")] = "FairLinUCB",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the policy: name=value. Repeatable.")
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            help="A world of fairbandits, module:Class, or a file (CSV, Parquet) of ratings, of labelled rows, or "
            "of decisions made uniformly at random."
        ),
    ] = "StudentsAndVideos",
    with_: Annotated[
        list[str] | None, typer.Option("--with", help="A parameter of the world: name=value. Repeatable.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="The sensitive attributes: sex, race or sex,race.")] = None,
    rounds: Annotated[int | None, typer.Option(help="The total number of rounds.")] = None,
    arms: Annotated[int | None, typer.Option(help="The number of arms.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of the policy and the world.")] = 0,
    user: Annotated[str | None, _column("The id of the user, in a table of ratings.")] = None,
    item: Annotated[str | None, _column("The id of the item, in a table of ratings.")] = None,
    reward: Annotated[str | None, _column("The rating, or the reward of a decision.")] = None,
    group: Annotated[list[str] | None, _column("A sensitive attribute. Repeatable or comma-separated.")] = None,
    label: Annotated[str | None, _column("The label, in a table of labels; its values are the arms.")] = None,
    arm: Annotated[str | None, _column("The arm, in a table of decisions made uniformly at random.")] = None,
    users: Annotated[str | None, _file("The features of users, for ratings.")] = None,
    items: Annotated[str | None, _file("The features of items, for ratings.")] = None,
    delay: Annotated[str | None, _change("Rounds until rewards arrive: 50, or 0,100.")] = None,
    missing: Annotated[str | None, _change("Share of unobserved rewards: 0.3, or female=0.3,male=0.1.")] = None,
    bias: Annotated[str | None, _change("Bias added to observed rewards: -0.1, or female=-0.2.")] = None,
    noise: Annotated[str | None, _change("Standard deviation of noise on rewards, or bernoulli.")] = None,
    drift: Annotated[float | None, _change("Share of rounds after which preferences reverse.")] = None,
    present: Annotated[float | None, _change("Share of arms on offer at a time.")] = None,
    period: Annotated[int | None, _change("Rounds from one arrival of an arm to the next.")] = None,
    data: DataOption = "auto",
    out: OutOption = Path("results"),
) -> None:
    """Run one policy in one world, print its metrics, and draw the rewards of each group."""
    world_params = registry.parse_params(with_ or ())
    if sensitive is not None:
        if "sensitive" in world_params:
            raise ValueError("sensitive must be given only once, got both --sensitive and --with sensitive")
        names = [name.strip() for name in sensitive.split(",")]
        world_params["sensitive"] = names if len(names) > 1 else names[0]
    roles = {"user": user, "item": item, "reward": reward, "label": label, "arm": arm}
    name, table_params = find_world(world, roles, group, {"users": users, "items": items})
    # "auto" is the default of the built-in worlds, too; a custom world may give `data` another meaning.
    if data != "auto" and "data" in inspect.signature(registry.find_world(name)).parameters:
        world_params.setdefault("data", data)
    run = registry.make_run(
        policy,
        name,
        seed=seed,
        policy_params=registry.parse_params(set_ or ()),
        world_params=table_params | world_params,
        rounds=rounds,
        arms=arms,
    )
    feedback = {"delay": delay, "missing": missing, "bias": bias, "noise": noise}
    options = {**feedback, "drift": drift, "present": present, "period": period}
    changes = {option: value for option, value in options.items() if value is not None}
    title = ", ".join([run.policy.__name__, *(set_ or ())])
    title = ", ".join([f"{title} in {run.world.__name__}", *(f"{name}={text}" for name, text in changes.items())])
    run = modify_world(run, changes)
    plot_style.require_matplotlib()
    run.make_policy()  # raises for invalid parameters, before any data is loaded
    make_folder(out)
    trace = run.simulate(progress=True)
    _print_trace(trace, f"{title}, seed {seed}")
    if not trace.group:
        echo("the users of this world have no groups, so there is nothing to draw")
    for attribute in trace.group:
        figure = figures.cumulative_rewards({f"{run.policy.__name__}, by {attribute}": [trace]}, attribute)
        echo(f"written: {figure_style.save_figure(figure, out, f'simulate_{run.policy.__name__}_{attribute}')}")


def _print_trace(trace: Trace, title: str) -> None:
    echo(f"{trace.data_source}\n{title}, {len(trace):,} rounds")
    table = new_table("", *trace.parts)
    by_part = [trace.metrics(part) for part in trace.parts]
    for metric in dict.fromkeys(name for metrics in by_part for name in metrics):
        numbers = (_format(metrics[metric]) if metric in metrics else "" for metrics in by_part)
        table.add_row(metric, *numbers)
    print_table(table)
    echo("")


def _format(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.4f}"
