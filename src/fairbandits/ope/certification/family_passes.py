"""The passes of certified learning over a log: the first fits a policy, the second computes sums for tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.audit.unit_index import UnitIndex
from fairbandits.logs.errors import LogError
from fairbandits.logs.offers import ArmTable, OfferBuilder
from fairbandits.ope.candidates.own_policies import PolicyCandidate
from fairbandits.ope.certification.family_sums import FamilySums
from fairbandits.ope.certification.user_split import CERTIFICATION, FITTING, PART_NAMES, SELECTION, assign_parts
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.training import PolicyTrainer
from fairbandits.policies.picker import share_of_best

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittingPass:
    """The results of the first pass.

    Attributes
    ----------
    rows : int
        The number of rows with a reward on which the policy was fitted.
    users : tuple of int, or None
        The number of users in each part; None if the log has no users.
    arm_counts : array of int
        The number of times the log shows each arm.
    """

    rows: int
    users: tuple[int, ...] | None
    arm_counts: Ints


@dataclass(frozen=True, eq=False)
class LearningParts:
    """The results of both passes.

    Attributes
    ----------
    rows : tuple of int
        The number of rows with a reward in each part.
    users : tuple of int, or None
        The number of users in each part; None if the log has no users.
    selection, certification : FamilySums
        The sums of the other two parts.
    arms : tuple of ids
        The arms that the log shows.
    """

    rows: tuple[int, ...]
    users: tuple[int, ...] | None
    selection: FamilySums
    certification: FamilySums
    arms: tuple[ArmId, ...]


def fit_policy(setup: EvaluationSetup, candidate: PolicyCandidate) -> FittingPass:
    """Fit a policy on the fitting part."""
    trainer, users = PolicyTrainer(candidate, setup), UnitIndex()
    counts = np.zeros(len(setup.survey.arms), np.int64)
    for chunk, rows in setup.read():
        counts += np.bincount(rows.arm, minlength=len(counts))
        numbers = np.arange(chunk.first_row, chunk.first_row + len(chunk))
        if rows.user is not None:
            users.numbers(rows.user, assign_parts(rows.user, rows.numbers).astype(np.int32))
        is_fitting = (assign_parts(chunk.user, numbers) == FITTING) & ~np.isnan(chunk.reward)
        if is_fitting.any():
            trainer.add(chunk, is_fitting)
    trainer.finish(candidate.policy)
    learned = candidate.policy.rounds_learned
    if not learned:
        raise LogError(f"{setup.log.name}: needs more rows with a reward to fit a policy, got none for fitting")
    by_part = np.bincount(users.combinations[users.users != 0], minlength=len(PART_NAMES))
    return FittingPass(learned, tuple(by_part.tolist()) if len(users) else None, counts)


def sum_parts(setup: EvaluationSetup, candidate: PolicyCandidate, fitting: FittingPass) -> LearningParts:
    """Read the log again, and compute the sums of the selection part and the certification part.

    The policies choose among the arms that the log shows, because nothing is known about other arms.
    """
    survey = setup.survey
    shown = np.flatnonzero(fitting.arm_counts)
    number_of_arm = np.cumsum(fitting.arm_counts > 0) - 1
    arms = tuple(survey.arms[i] for i in shown)
    offers = OfferBuilder(arms, setup.encoders[0].width, _select(setup.table, shown))
    parts = {part: FamilySums(survey.groups, survey.rows) for part in (SELECTION, CERTIFICATION)}
    for _, all_rows in setup.read():
        part_of_row = assign_parts(all_rows.user, all_rows.numbers)
        for part, sums in parts.items():
            for rows in all_rows.select(part_of_row == part).batches(len(shown)):
                labels = survey.groups.decode(rows.groups)
                scores = candidate.policy.score(offers.offer_many(rows.contexts[0], labels), labels)
                recoded = replace(rows, arm=number_of_arm[rows.arm])
                sums.add(recoded, share_of_best(scores.total), scores.mean)
    n_rows = (fitting.rows, parts[SELECTION].rows, parts[CERTIFICATION].rows)
    return LearningParts(n_rows, fitting.users, parts[SELECTION], parts[CERTIFICATION], arms)


def _select(table: ArmTable | None, arms: Ints) -> ArmTable | None:
    if table is None:
        return None
    matches = {name: [values[i] for i in arms] for name, values in table.matches.items()}
    chosen = [table.arms[i] for i in arms]
    return ArmTable(chosen, table.features[arms], table.encoder, matches, table.compared)
