"""`fairbandits simulate`: one policy in one world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits import registry
from fairbandits.cli.console import console, make_folder, say, table
from fairbandits.cli.options import DataOption, OutOption
from fairbandits.paper import figures
from fairbandits.report import figure_style
from fairbandits.simulate import Trace
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
    sensitive: Annotated[str | None, typer.Option(help="What the groups are: sex, race or sex,race.")] = None,
    rounds: Annotated[int | None, typer.Option(help="How many rounds, in all.")] = None,
    arms: Annotated[int | None, typer.Option(help="How many arms.")] = None,
    seed: Annotated[int, typer.Option(help="Where all randomness comes from.")] = 0,
    data: DataOption = "auto",
    out: OutOption = Path("results"),
) -> None:
    """Run one policy in one world, print who gained what, and draw it."""
    world_params = registry.parse_params(with_ or ())
    if sensitive is not None:
        if "sensitive" in world_params:
            raise ValueError("sensitive is given twice, by --sensitive and by --with; give one")
        names = [name.strip() for name in sensitive.split(",")]
        world_params["sensitive"] = names if len(names) > 1 else names[0]
    if registry.find_world(world) is StudentsAndVideos:
        world_params.setdefault("data", data)
    run = registry.as_run(
        policy,
        world,
        seed=seed,
        policy_params=registry.parse_params(set_ or ()),
        world_params=world_params,
        rounds=rounds,
        arms=arms,
    )
    figure_style.need_matplotlib()
    run.make_policy()  # refuses what is wrong with its parameters before the data is looked for
    make_folder(out)
    title = ", ".join([run.policy.__name__, *(set_ or ())])
    trace = run.simulate(progress=True)
    _print_trace(trace, f"{title} in {run.world.__name__}, seed {seed}")
    if not trace.group:
        say("nobody's group is known in this world, so there is nothing to draw")
    for attribute in trace.group:
        figure = figures.cumulative_rewards({f"{run.policy.__name__}, by {attribute}": [trace]}, attribute)
        say(f"drawn: {figure_style.save(figure, out, f'simulate_{run.policy.__name__}_{attribute}')}")


def _print_trace(trace: Trace, title: str) -> None:
    say(f"{trace.data_source}\n{title}, {len(trace):,} rounds")
    shown = table("", *trace.parts)
    found = [trace.metrics(part) for part in trace.parts]
    for metric in dict.fromkeys(name for metrics in found for name in metrics):
        numbers = (f"{metrics[metric]:.4f}" if metric in metrics else "" for metrics in found)
        shown.add_row(metric, *numbers)
    console().print(shown, "")
