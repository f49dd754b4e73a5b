"""Write the results of a comparison: JSON, CSV, Markdown, figures and the report."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairbandits import __version__
from fairbandits.compare import figures, rank_figure, tables
from fairbandits.compare.policy_specs import DEFAULT
from fairbandits.compare.promises import check_promises
from fairbandits.compare.ranking import Ranking, count_outcomes, rank_policies
from fairbandits.compare.report import ReportContent, write_report
from fairbandits.compare.settings import Settings
from fairbandits.compare.summary import WorldSummary
from fairbandits.report import figure_style
from fairbandits.simulate.digests import package_digest
from fairbandits.worlds.datasets.published import DATASETS


def write_results(
    folder: Path,
    data_source: str,
    worlds: Mapping[str, WorldSummary],
    titles: Sequence[str],
    settings: Settings,
    skipped: Mapping[str, str],
) -> None:
    """Write all files of a comparison.

    Parameters
    ----------
    folder : Path
        The folder to write to.
    data_source : str
        One line that names the data.
    worlds : mapping
        The summary of each world.
    titles : sequence of str
        The compared policies.
    settings : Settings
        The settings that all runs share.
    skipped : mapping
        The reason why a world was skipped, by world.
    """
    default = DEFAULT if DEFAULT in titles else None
    rankings = rank_policies(worlds, titles, default)
    outcomes = {} if default is None else count_outcomes(worlds, default)
    content = _header(data_source, worlds, titles, settings, default, skipped)
    content["worlds"] = {name: tables.to_dict(summary) for name, summary in worlds.items()}
    content["rankings"] = [_ranking_to_dict(ranking) for ranking in rankings]
    content["outcomes"] = outcomes
    verdict = check_promises(content) if settings.benchmark and default is not None else None
    if verdict is not None:
        content["promises"] = {**asdict(verdict), "kept": verdict.kept, "summary": verdict.summary()}
    _write_text(folder / "results.json", json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    _write_text(folder / "compare.csv", tables.to_csv(worlds, data_source))
    _write_text(folder / "compare.md", tables.to_markdown(worlds, data_source))
    paths, ranks = _write_figures(folder / "figures", worlds, titles, rankings, settings)
    report = ReportContent(
        data_source, worlds, paths, ranks, titles, settings, default, rankings, outcomes, verdict, skipped
    )
    write_report(folder / "report.html", report)


def _header(
    data_source: str,
    worlds: Mapping[str, WorldSummary],
    titles: Sequence[str],
    settings: Settings,
    default: str | None,
    skipped: Mapping[str, str],
) -> dict[str, Any]:
    return {
        "versions": {
            "fairbandits": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "numba", "scikit-learn")},
        },
        "code": package_digest(),
        "data": {
            "source": data_source,
            "sha256": {name: getattr(dataset, "sha256", None) for name, dataset in DATASETS.items()},
        },
        "settings": {
            "worlds": list(worlds),
            "policies": list(titles),
            "default": default,
            "seeds": settings.seeds,
            "tolerance": settings.tolerance,
            "quick": settings.quick,
            "min_rounds": settings.min_rounds,
        },
        "skipped": dict(skipped),
    }


def _ranking_to_dict(ranking: Ranking) -> dict[str, Any]:
    return {
        "measure": ranking.measure,
        "average_ranks": {title: round(rank, 9) for title, rank in ranking.average.items()},
        "friedman": None if ranking.test is None else _finite(asdict(ranking.test)),
        "wilcoxon_holm_p_values": {title: round(p, 9) for title, p in ranking.p_values.items()},
        "caveats": list(ranking.caveats),
    }


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: round(value, 9) if value < float("inf") else None for name, value in values.items()}


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_figures(
    folder: Path,
    worlds: Mapping[str, WorldSummary],
    titles: Sequence[str],
    rankings: Sequence[Ranking],
    settings: Settings,
) -> tuple[dict[str, Path], Path | None]:
    """Draw the figures of the worlds and of the ranks, delete those of an earlier call, and return the paths.

    There is no rank figure for a single policy or a single world.
    """
    for path in [*folder.glob("world_*.p[nd][gf]"), *folder.glob("ranks.p[nd][gf]")]:
        path.unlink()
    common = settings.seeds, titles
    drawn = {
        name: figures.world_figure(name, summary, settings.tolerance, summary.data_source, *common)
        for name, summary in worlds.items()
    }
    paths = {name: figure_style.save_figure(figure, folder, f"world_{name}") for name, figure in drawn.items()}
    if len(worlds) < 2 or len(titles) < 2:
        return paths, None
    return paths, figure_style.save_figure(rank_figure.draw_ranks(rankings, titles), folder, "ranks")
