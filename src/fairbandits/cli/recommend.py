"""`fairbandits recommend`: recommendations for all users of a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo, new_table, print_table
from fairbandits.cli.options import ClusterOption
from fairbandits.recommendations import Recommendations
from fairbandits.recommendations import recommend as recommend_to_all
from fairbandits.views.text import counted


def recommend(
    policy: Annotated[
        Path, typer.Argument(help="A policy saved by fit, or by Recommender.save.", show_default=False)
    ],
    users: Annotated[
        str, typer.Option(help="The users: a Parquet file, or any format that fit reads.", show_default=False)
    ],
    items: Annotated[
        str | None, typer.Option(help="The items on offer, instead of those in POLICY.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", help="The number of items per user.")] = 10,
    out: Annotated[Path, typer.Option("--out", "-o", help="The Parquet file to write.")] = Path(
        "recommendations.parquet"
    ),
    user_id: Annotated[
        str | None,
        typer.Option(
            help="The column with the ids of users; by default user, user_id or id, or else the row number.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(help="The device that computes scores: cpu, cuda, cuda:N or auto.")
    ] = "cpu",
    cluster: ClusterOption = None,
) -> None:
    """Recommend items to every user of a table; an interrupted run resumes."""
    start = time.perf_counter()
    written = recommend_to_all(
        policy,
        users,
        out,
        items=items,
        k=k,
        user_id=user_id,
        device=device,
        cluster=cluster,
        progress=True,
        notify=echo,
    )
    _print_summary(written, users, time.perf_counter() - start)


def _print_summary(written: Recommendations, users: str, seconds: float) -> None:
    if not written.users:
        echo(f"{users}: there are no users, so the output is empty")
    ids = f"column {written.id_column}" if written.id_column else "row numbers"
    echo(f"{counted(written.users, 'user')} (ids: {ids}), {written.k} of {counted(written.items, 'item')} each")
    if written.unlearned:
        echo(f"nothing has been learned about {written.unlearned:,} of the items")
    if written.groups:
        table = new_table("attribute", "group", "users", "mean score")
        for each in written.groups:
            group = "unknown" if each.group is None else str(each.group)
            table.add_row(each.attribute, group, f"{each.users:,}", f"{each.mean_score:.4f}")
        print_table(table)
    # The time taken by blocks of an earlier run is unknown.
    rate = "" if written.is_resumed else f", {written.users / seconds:,.0f} users/s"
    echo(f"{seconds:.1f} s{rate}")
    echo(f"written: {written.out}, {written.out.stat().st_size:,} bytes")
