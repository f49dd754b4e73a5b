"""Compare the speed of the working tree with an earlier commit, interleaved in one run.

    python benchmarks/guard.py                 # the base is the merge base with main; on main, the commit before
    python benchmarks/guard.py --base REV
    python benchmarks/guard.py --threads       # one thread beside all cores

W1, W2, W3 and the parts of a round are measured alternately in fresh processes, nine times each. The ratio is the
median of the paired ratios; its 95% confidence interval is a bootstrap over the pairs. The exit status is 1 if an
interval lies wholly below 0.9 (with --threads, below 0.95 for the working tree).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from threads import thread_variables

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "benchmarks" / "guard_worker.py"
FIGURES = ("W1 round", "W1 choose", "W1 learn", "W2 round", "W3 users")
THREADED_FIGURES = ("W2 round", "W3 users")
REPETITIONS, SECONDS = 9, 0.1
LOWEST_RATIO, LOWEST_THREADS_RATIO = 0.9, 0.95
RESAMPLES = 10_000

#: Calls per second of each figure.
Rates = dict[str, float]


@dataclass(frozen=True)
class Variant:
    """A checkout and a number of threads to measure it with."""

    title: str
    checkout: Path
    threads: int = 1


@dataclass(frozen=True)
class SpeedRatio:
    """The speed of a variant relative to a reference: the median of paired ratios and its confidence interval."""

    reference: float
    rate: float
    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, reference: Sequence[float], rates: Sequence[float]) -> SpeedRatio:
        """Compute the ratio from paired measurements.

        Examples
        --------
        >>> SpeedRatio.of([100.0, 110.0, 90.0], [50.0, 55.0, 45.0])
        SpeedRatio(reference=100.0, rate=50.0, ratio=0.5, low=0.5, high=0.5)
        """
        ratios = np.array(rates) / np.array(reference)
        drawn = np.random.default_rng(0).choice(ratios, (RESAMPLES, len(ratios)))
        low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
        return cls(
            statistics.median(reference),
            statistics.median(rates),
            float(np.median(ratios)),
            float(low),
            float(high),
        )


def git(*arguments: str) -> str:
    """Run git in this repository, and return its output."""
    done = subprocess.run(["git", *arguments], check=False, capture_output=True, text=True, cwd=ROOT)  # noqa: S607
    if done.returncode:
        raise ValueError(f"git {' '.join(arguments)}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip()


def default_base() -> str:
    """Return the merge base with main; on main itself, the commit before."""
    head, base = git("rev-parse", "HEAD"), git("merge-base", "HEAD", "main")
    return git("rev-parse", "HEAD^") if base == head else base


@contextmanager
def checkout_of(revision: str) -> Iterator[Path]:
    """Check a revision out into a temporary worktree."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "base"
        git("worktree", "add", "--detach", str(folder), revision)
        try:
            yield folder
        finally:
            git("worktree", "remove", "--force", str(folder))


def write_workloads(folder: Path) -> None:
    """Write the workloads with the code of the working tree, whichever fairbandits is installed."""
    code = "import pathlib, prepare, sys; prepare.write_all(pathlib.Path(sys.argv[1]))"
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, cwd=WORKER.parent, env=env)


def measure(variant: Variant, workloads: Path, figures: Sequence[str], seconds: float = SECONDS) -> Rates:
    """Measure a variant in a fresh process."""
    request = {"folder": str(workloads), "figures": list(figures), "seconds": seconds}
    env = os.environ | thread_variables(variant.threads) | {"PYTHONPATH": str(variant.checkout / "src")}
    command = [sys.executable, str(WORKER), json.dumps(request)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    if done.returncode:
        raise ValueError(f"{variant.title} cannot be measured: {done.stderr.strip().splitlines()[-1]}")
    answer = json.loads(done.stdout.splitlines()[-1])
    if not Path(answer["package"]).is_relative_to(variant.checkout.resolve()):
        raise ValueError(
            f"{variant.title} must import fairbandits from {variant.checkout}, got {answer['package']}"
        )
    rates: Rates = answer["rates"]
    return rates


def interleaved(
    variants: Sequence[Variant], workloads: Path, figures: Sequence[str], repetitions: int = REPETITIONS
) -> dict[Variant, list[Rates]]:
    """Measure variants alternately; the order is reversed in every other repetition."""
    for variant in variants:
        measure(variant, workloads, figures, seconds=0.001)  # compiles the kernels
    rates: dict[Variant, list[Rates]] = {variant: [] for variant in variants}
    for repetition in range(repetitions):
        for variant in variants if repetition % 2 == 0 else reversed(variants):
            rates[variant].append(measure(variant, workloads, figures))
        print(f"repetition {repetition + 1} of {repetitions}", flush=True)
    return rates


def compared(
    rates: Mapping[Variant, Sequence[Rates]], reference: Variant, variant: Variant, figures: Sequence[str]
) -> dict[str, SpeedRatio]:
    """Return the ratio of a variant to a reference for each figure."""
    return {
        figure: SpeedRatio.of(
            [each[figure] for each in rates[reference]], [each[figure] for each in rates[variant]]
        )
        for figure in figures
    }


def print_ratios(reference: str, variant: str, ratios: Mapping[str, SpeedRatio]) -> None:
    """Print a table of rates, ratios and intervals."""
    print(f"{'per second':<12}{reference:>26}{variant:>26}{'ratio':>8}  95% interval")
    for figure, ratio in ratios.items():
        interval = f"[{ratio.low:.2f}, {ratio.high:.2f}]"
        print(f"{figure:<12}{ratio.reference:>26,.0f}{ratio.rate:>26,.0f}{ratio.ratio:>8.2f}  {interval}")


def exit_status(ratios: Mapping[str, SpeedRatio], lowest: float) -> int:
    """Return 1 if an interval lies wholly below the lowest acceptable ratio."""
    slower = [figure for figure, ratio in ratios.items() if ratio.high < lowest]
    print(f"slower: {', '.join(slower)}" if slower else f"no interval lies wholly below {lowest:g}")
    return 1 if slower else 0


def compare_commits(base: Variant, now: Variant, workloads: Path) -> int:
    """Compare the working tree with the base, on one thread."""
    ratios = compared(interleaved([base, now], workloads, FIGURES), base, now, FIGURES)
    print_ratios(base.title, now.title, ratios)
    return exit_status(ratios, LOWEST_RATIO)


def compare_threads(base: Variant, now: Variant, workloads: Path) -> int:
    """Compare all cores with one thread, for the base and for the working tree."""
    cores = os.cpu_count() or 1
    pairs = [(one, Variant(one.title, one.checkout, cores)) for one in (base, now)]
    rates = interleaved([variant for pair in pairs for variant in pair], workloads, THREADED_FIGURES)
    for one, all_cores in pairs:
        print(one.title)
        ratios = compared(rates, one, all_cores, THREADED_FIGURES)
        print_ratios("one thread", f"{cores} threads", ratios)
    return exit_status(ratios, LOWEST_THREADS_RATIO)


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", help="the revision to compare with (default: the merge base with main)")
    parser.add_argument("--threads", action="store_true", help="compare all cores with one thread")
    options = parser.parse_args()
    try:
        revision = git("rev-parse", "--verify", f"{options.base or default_base()}^{{commit}}")
        with tempfile.TemporaryDirectory() as name, checkout_of(revision) as folder:
            write_workloads(Path(name))
            base, now = Variant(f"base {revision[:10]}", folder), Variant("working tree", ROOT)
            return (compare_threads if options.threads else compare_commits)(base, now, Path(name))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
