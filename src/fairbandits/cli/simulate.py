"""`fairbandits simulate`: run one policy in one world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits import registry
from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.options import DataOption, OutOption
from fairbandits.paper import figures
from fairbandits.report import figure_style
from fairbandits.simulate import Trace
from fairbandits.views import plot_style
from fairbandits.worlds import StudentsAndVideos


def simulate(
    policy: Annotated[str, typer.Option(help="A policy of fairbandits, or module:Class.")] = "FairLinUCB",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the policy: name=value. Repeatable.")
    ] = None,
    world: Annotated[str, typer.Option(help="A world of fairbandits, or module:Class.")] = "StudentsAndVideos",
    with_: Annotated[
        list[str] | None, typer.Option("--with", help="A parameter of the world: name=value. Repeatable.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="The sensitive attributes: sex, race or sex,race.")] = None,
    rounds: Annotated[int | None, typer.Option(help="The total number of rounds.")] = None,
    arms: Annotated[int | None, typer.Option(help="The number of arms.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of policy and world.")] = 0,
    data: DataOption = "auto",
    out: OutOption = Path("results"),
) -> None:
    """Run one policy in one world, print its metrics, and draw the rewards of each group."""
    world_params = registry.parse_params(with_ or ())
    if sensitive is not None:
        if "sensitive" in world_params:
            raise ValueError("sensitive must be given once, got it by --sensitive and by --with")
        names = [name.strip() for name in sensitive.split(",")]
        world_params["sensitive"] = names if len(names) > 1 else names[0]
    if registry.find_world(world) is StudentsAndVideos:
        world_params.setdefault("data", data)
    run = registry.make_run(
        policy,
        world,
        seed=seed,
        policy_params=registry.parse_params(set_ or ()),
        world_params=world_params,
        rounds=rounds,
        arms=arms,
    )
    plot_style.require_matplotlib()
    run.make_policy()  # raises for invalid parameters, before any data is loaded
    make_folder(out)
    title = ", ".join([run.policy.__name__, *(set_ or ())])
    trace = run.simulate(progress=True)
    _print_trace(trace, f"{title} in {run.world.__name__}, seed {seed}")
    if not trace.group:
        echo("the visitors of this world have no groups, so there is nothing to draw")
    for attribute in trace.group:
        figure = figures.cumulative_rewards({f"{run.policy.__name__}, by {attribute}": [trace]}, attribute)
        echo(f"written: {figure_style.save_figure(figure, out, f'simulate_{run.policy.__name__}_{attribute}')}")


def _print_trace(trace: Trace, title: str) -> None:
    echo(f"{trace.data_source}\n{title}, {len(trace):,} rounds")
    table = new_table("", *trace.parts)
    by_part = [trace.metrics(part) for part in trace.parts]
    for metric in dict.fromkeys(name for metrics in by_part for name in metrics):
        numbers = (f"{metrics[metric]:.4f}" if metric in metrics else "" for metrics in by_part)
        table.add_row(metric, *numbers)
    print_table(table)
    echo("")
