"""Measure how often `fairbandits learn` returns a policy that violates a condition, and how good its policies are.

    python benchmarks/certified_learning.py                # 1,000 logs per cell; several hours on two cores
    python benchmarks/certified_learning.py --quick        # 20 logs per cell without the largest; about a minute

A cell is a world whose truth is known (the paper's 3:7 world, and the scarce world, in which no video by a male
speaker is rated above 0.5, so that the best arms of male students earn less) and a number of rows. The logging
policy is uniform in every other log, and epsilon-greedy with wrong estimates in the others. A log has students
drawn from the world, with two visits each; the truth of a policy is its mean reward over all its students.

A violation is a returned policy whose true gap exceeds the tolerance of 0.02, or whose worst-off group gets less
than that of the logging policy minus 0.01. The loss is the true reward of the best member of the family that
satisfies both conditions, minus that of the returned policy. The exit status is 1 if a cell has more violations
than the 99% quantile of the binomial distribution with probability 5% (66 of 1,000), or if its mean loss at 50,000
rows is above 0.02.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.logs import Log, Roles, read_arms
from fairbandits.logs.offers import ArmTable, OfferBuilder
from fairbandits.ope import CertifiedLearning, learn
from fairbandits.ope.certification.certified_learning import FamilyMember
from fairbandits.worlds import StudentsAndVideos
from fairbandits.worlds.features import STUDENT_COLUMNS, VIDEO_COLUMNS

Floats = NDArray[np.float64]

WORLDS = {"3:7": None, "scarce": "male"}
ROWS = (2_000, 10_000, 50_000)
TOLERANCE, MARGIN, CONFIDENCE = 0.02, 0.01, 0.95
MAX_LOSS = 0.02
# Students of a world, visits of a student in a log, and different catalogues of videos.
STUDENTS, VISITS, CATALOGUES = 2_000, 2, 5
# The number of logs of one population that a process draws at a time.
BATCH = 25
# The epsilon-greedy logging policy, and the standard deviation of the errors of its estimates.
EPSILON, ESTIMATE_ERROR = 0.3, 0.05
SEXES = ("female", "male")
ROLES = Roles("arm", "reward", ("sex",), "propensity", ("education", "age"), user="user")


class Cell(NamedTuple):
    """One kind of log."""

    world: str
    rows: int


class Outcome(NamedTuple):
    """What certified learning did with one log; rewards are NaN where there is no policy."""

    returned: bool
    violated: bool
    reward: float
    best: float


class Population:
    """The students of a world, their true rewards, and the probabilities of a logging policy."""

    def __init__(self, scarce: str | None, is_uniform: bool, seed: int) -> None:
        world = StudentsAndVideos(train=STUDENTS, test=0, scarce=scarce, random_state=seed)
        visits = list(world.visits())
        students = np.array([np.asarray(visit.contexts)[0, : len(STUDENT_COLUMNS)] for visit in visits])
        education = [column for column in STUDENT_COLUMNS if column.startswith("education=")]
        levels = students[:, [STUDENT_COLUMNS.index(column) for column in education]].argmax(axis=1)
        self.arms = np.array(world.arms)
        self.sex = np.array([visit.group for visit in visits])
        self.users = pd.DataFrame({"education": np.array(education)[levels], "age": students[:, 0]})
        self.expected = np.array([visit.expected for visit in visits])
        videos = np.asarray(visits[0].contexts)[:, len(STUDENT_COLUMNS) : -1]
        self.catalogue = pd.DataFrame(videos, columns=[*VIDEO_COLUMNS, "speaker"]).assign(arm=self.arms)
        self.catalogue["match:sex"] = ["male" if arm.startswith("m") else "female" for arm in self.arms]
        self.logging = np.full_like(self.expected, 1.0 / len(self.arms))
        if not is_uniform:
            errors = np.random.default_rng(seed).normal(0.0, ESTIMATE_ERROR, (2, len(self.arms)))
            estimates = self.expected + errors[(self.sex == "male").astype(int)]
            self.logging *= EPSILON
            self.logging[np.arange(STUDENTS), estimates.argmax(axis=1)] += 1.0 - EPSILON
        self._cumulative = np.cumsum(self.logging, axis=1)

    def log(self, rows: int, rng: np.random.Generator) -> Log:
        """Draw a log."""
        user = np.repeat(np.arange(rows // VISITS), VISITS)
        student = rng.integers(STUDENTS, size=rows // VISITS)[user]
        arm = (rng.random(rows)[:, None] > self._cumulative[student]).sum(axis=1)
        arm = np.minimum(arm, len(self.arms) - 1)  # the sum of probabilities may be below 1 by rounding
        frame = self.users.iloc[student].assign(
            user=user,
            sex=self.sex[student],
            arm=self.arms[arm],
            reward=self.expected[student, arm],
            propensity=self.logging[student, arm],
        )
        return Log.open(frame.reset_index(drop=True), ROLES)

    def by_sex(self, probabilities: Floats) -> Floats:
        """Return the true mean reward of each sex under a policy."""
        reward = (probabilities * self.expected).sum(axis=1)
        return np.array([reward[self.sex == sex].mean() for sex in SEXES])

    def fitted(self, result: CertifiedLearning, table: ArmTable) -> Floats:
        """Return the probabilities of the fitted policy."""
        fitted_with = encoder_in(result.policy.metadata)
        assert fitted_with is not None  # noqa: S101
        encoder = fitted_with.users
        contexts = encoder.encode_rows(self.users.to_dict("records"))
        groups = [{"sex": sex} for sex in self.sex]
        offer = OfferBuilder(table.arms, encoder.width, table).offer_many(contexts, groups)
        among = result.policy.probabilities(offer, groups)
        probabilities = np.zeros_like(self.expected)
        probabilities[:, [self.arms.tolist().index(arm) for arm in table.arms]] = among
        return probabilities


def measure_many(cell: Cell, kind: int, seeds: list[int]) -> list[Outcome]:
    """Learn from several logs of one population."""
    people = Population(WORLDS[cell.world], kind % 2 == 0, kind // 2)
    return [measure(cell, people, seed) for seed in seeds]


def measure(cell: Cell, people: Population, seed: int) -> Outcome:
    """Learn from one log, and compare with the truth."""
    log = people.log(cell.rows, np.random.default_rng([seed, cell.rows]))
    table = read_arms(people.catalogue, log)
    result = learn(log, tolerance=TOLERANCE, margin=MARGIN, confidence=CONFIDENCE, table=table)
    shown = read_arms(people.catalogue[people.catalogue["arm"].isin(result.arms)], log)
    uniform = np.isin(people.arms, result.arms) / len(result.arms)
    values = np.array(
        [
            people.by_sex(people.logging),
            people.by_sex(people.fitted(result, shown)),
            people.by_sex(np.tile(uniform, (STUDENTS, 1))),
        ]
    )
    numbers = result.groups.numbers("sex")
    share = np.array([(people.sex == sex).mean() for sex in SEXES])

    def truth(member: FamilyMember) -> tuple[bool, float]:
        """Return whether a member satisfies both conditions, and its reward."""
        at = [numbers[sex] for sex in SEXES]
        mixture = member.mixture
        by_sex = (np.array([mixture.logging[at], mixture.fitted[at], mixture.uniform[at]]) * values).sum(axis=0)
        is_fair = abs(by_sex[0] - by_sex[1]) <= TOLERANCE
        return bool(is_fair and by_sex.min() >= values[0].min() - MARGIN), float(share @ by_sex)

    allowed = [reward for holds, reward in map(truth, result.members) if holds]
    best = max(allowed, default=np.nan)
    if result.certified is None:
        return Outcome(False, False, np.nan, best)
    holds, reward = truth(result.certified)
    return Outcome(True, not holds, reward, best)


def report(cell: Cell, outcomes: list[Outcome]) -> tuple[list[str], bool]:
    """Return a row of the table, and whether the cell fails."""
    n = len(outcomes)
    returned = [outcome for outcome in outcomes if outcome.returned]
    violations = sum(outcome.violated for outcome in outcomes)
    limit = int(binom.ppf(0.99, n, 1.0 - CONFIDENCE))
    reward = best = np.nan
    if returned:
        reward = float(np.mean([outcome.reward for outcome in returned]))
        best = float(np.nanmean([outcome.best for outcome in returned]))
    is_poor = cell.rows == max(ROWS) and not best - reward <= MAX_LOSS
    cells = [cell.world, f"{cell.rows:,}", f"{n:,}", f"{violations} ({limit})", f"{1.0 - len(returned) / n:.1%}"]
    numbers = ["" if np.isnan(value) else f"{value:.3f}" for value in (reward, best, best - reward)]
    note = "TOO MANY" if violations > limit else "POOR" if is_poor else ""
    return [*cells, *numbers, note], bool(note)


def seeds_by_kind(logs: int) -> list[tuple[int, list[int]]]:
    """Return the seeds of logs in batches, each with the number of its population."""
    n_kinds = 2 * CATALOGUES
    seeds = ((kind, [*range(kind, logs, n_kinds)]) for kind in range(n_kinds))
    return [(kind, part[i : i + BATCH]) for kind, part in seeds for i in range(0, len(part), BATCH)]


def main() -> int:
    """Run all cells, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, help="logs per cell (default: 1,000; 20 with --quick)")
    parser.add_argument("--quick", action="store_true", help="few logs, without the largest")
    parser.add_argument("--rows", type=int, nargs="*", choices=ROWS, help="the sizes of logs")
    parser.add_argument("--worlds", nargs="*", default=[*WORLDS], choices=[*WORLDS])
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    rows = options.rows or (ROWS[:2] if options.quick else ROWS)
    logs = options.logs or (20 if options.quick else 1_000)
    titles = ("world", "rows", "logs", "violations (limit)", "refused", "reward", "best allowed", "loss", "")
    table = Table(*titles)
    failed = False
    with Parallel(n_jobs=options.jobs) as parallel:
        for cell in itertools.starmap(Cell, itertools.product(options.worlds, rows)):
            batches = parallel(delayed(measure_many)(cell, kind, seeds) for kind, seeds in seeds_by_kind(logs))
            row, is_failed = report(cell, list(itertools.chain.from_iterable(batches)))
            failed |= is_failed
            table.add_row(*row)
            print("  ".join(row), flush=True)
    Console(width=120).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
