"""Certified learning: the best policy of a family that a test on held-out users shows to be fair and safe."""

from __future__ import annotations

import math
from typing import Any

from fairbandits.logs.errors import LogError
from fairbandits.logs.fitting import fit_metadata
from fairbandits.logs.log import Log, as_log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope.candidates.own_policies import PolicyCandidate
from fairbandits.ope.certification.certified_learning import CertifiedLearning, FamilyMember
from fairbandits.ope.certification.certify import Certifier
from fairbandits.ope.certification.family_passes import LearningParts, fit_policy, sum_parts
from fairbandits.ope.certification.family_selection import FamilyPredictor, certification_sequence
from fairbandits.ope.certification.joint_conditions import JointConditions
from fairbandits.ope.certification.joint_test import JointTest
from fairbandits.ope.certification.policy_family import policy_family
from fairbandits.ope.evaluation_setup import EvaluationSettings, EvaluationSetup
from fairbandits.ope.group_index import OVERALL, GroupIndex
from fairbandits.ope.log_passes import LogPasses
from fairbandits.ope.log_survey import survey_log
from fairbandits.ope.results import BoundedValue
from fairbandits.policies import LinUCB

#: The number of users in each group that the selection and the certification part must have.
MIN_USERS = 10


def learn(
    log: Any,
    *,
    tolerance: float,
    margin: float = 0.01,
    confidence: float = 0.95,
    table: ArmTable | None = None,
    seed: int = 0,
) -> CertifiedLearning:
    """Return the best policy of a family that is certified to be fair and safe, if there is one.

    The users of the log are split at random: the rows of 25% of the users are used to fit a policy, those of 15%
    to decide which mixtures of it with the logging policy are worth testing, and those of 60% to test these
    mixtures. A policy is certified if the test shows that its gap is within the tolerance, and that its worst-off
    group receives at least as much as the worst-off group under the logging policy, minus the margin. The
    probability of certifying a policy that violates a condition is at most 1 - confidence.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or a source that `Log.open` accepts; with propensities, groups, and rewards between 0 and 1.
    tolerance : float
        The largest gap between two groups of an attribute, above 0.
    margin : float
        The amount by which the worst-off group may receive less, at least 0.
    confidence : float
        The confidence level of the joint test, above 0.5 and below 1.
    table : ArmTable, optional
        The features of the arms; see `read_arms`. If omitted, the context of every arm consists of the user's
        features.
    seed : int
        The random seed of the fitted policy.

    Returns
    -------
    CertifiedLearning
        The results.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> n = 20_000
    >>> arm, sex = rng.choice(["algebra", "biology"], n), rng.choice(["female", "male"], n)
    >>> mean = np.where(arm == "biology", 0.8, np.where(sex == "male", 0.6, 0.3))
    >>> reward = 1.0 * (rng.random(n) < mean)
    >>> frame = pd.DataFrame({"arm": arm, "reward": reward, "propensity": 0.5, "sex": sex})
    >>> result = learn(frame, tolerance=0.05)
    >>> result.certified.title
    'fitted policy for 100% of female users, 100% of male users'
    """
    opened = as_log(log)
    _check_conditions(tolerance, margin, confidence)
    _check_log(opened)
    passes = LogPasses(opened)
    survey = survey_log(passes, 0.0, table)
    _check_groups(opened, survey.groups)
    model = "disjoint" if table is None else "hybrid"
    policy = LinUCB(alpha=0.0, model=model, random_state=seed)
    candidate = PolicyCandidate("fitted policy", policy, is_trained=False)
    setup = EvaluationSetup(passes, survey, (candidate,), EvaluationSettings(), table)
    parts = sum_parts(setup, candidate, fit_policy(setup, candidate))
    _check_users(opened, parts, survey.groups)
    members, logged = _members(parts, survey.groups, tolerance, margin, 1.0 - confidence)
    policy.metadata |= fit_metadata(opened, setup.encoders[0], table)
    passed = [member for member in members if member.test is not None and member.test.passes]
    return CertifiedLearning(
        log=opened.name,
        tolerance=tolerance,
        margin=margin,
        confidence=confidence,
        rows_read=survey.rows,
        rows=parts.rows,
        users=parts.users,
        groups=survey.groups,
        logged=logged,
        members=members,
        certified=passed[-1] if passed else None,
        policy=policy,
        arms=parts.arms,
    )


def _members(
    parts: LearningParts, groups: GroupIndex, tolerance: float, margin: float, error: float
) -> tuple[tuple[FamilyMember, ...], BoundedValue]:
    """Return the family, with the tested members first, and the mean reward of the logging policy.

    All choices are made before the certification part is used.
    """
    family = policy_family(parts.selection, groups, tolerance)
    conditions = JointConditions.from_selection(parts.selection, groups, tolerance, margin, error)
    predictor = FamilyPredictor(parts.selection, conditions, parts.certification.rows)
    estimates = [predictor.estimates(mixture) for mixture in family]
    sequence = certification_sequence(estimates)
    certifier = Certifier(parts.certification, conditions)
    tests: list[JointTest | None] = [*certifier.run_sequence([family[number] for number in sequence])]
    order = sequence + [number for number in range(len(family)) if number not in sequence]
    tests += [None] * (len(order) - len(tests))
    members = tuple(
        FamilyMember(family[number].title(groups), family[number], estimates[number], test)
        for number, test in zip(order, tests, strict=True)
    )
    return members, certifier.logged(OVERALL)


def _check_conditions(tolerance: float, margin: float, confidence: float) -> None:
    if not tolerance > 0.0:
        raise ValueError(f"tolerance must be above 0, got {tolerance!r}")
    if not 0.0 <= margin < math.inf:
        raise ValueError(f"margin must be a number of at least 0, got {margin!r}")
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"confidence must be above 0.5 and below 1, got {confidence!r}")


def _check_log(log: Log) -> None:
    if log.roles.propensity is None:
        raise LogError(
            f"{log.name}: certified learning needs the propensity of every decision, got a log without "
            "propensities; name the column (--propensity)"
        )
    if not log.roles.groups:
        raise LogError(f"{log.name}: certified learning needs groups of users, got none; name a column (--group)")


def _check_groups(log: Log, groups: GroupIndex) -> None:
    for attribute in groups.attributes:
        labels = [*groups.numbers(attribute)]
        if len(labels) < 2:
            raise LogError(
                f"{log.name}: column {attribute!r} must have at least two groups, got {labels}; name another "
                "(--group)"
            )


def _check_users(log: Log, parts: LearningParts, groups: GroupIndex) -> None:
    for name, sums in (("selection", parts.selection), ("certification", parts.certification)):
        for attribute, label, number in groups.items():
            if (found := sums.n_units(number)) < MIN_USERS:
                raise LogError(
                    f"{log.name}: every group needs at least {MIN_USERS} users for {name}, got {found} with "
                    f"{attribute} = {label}; use a larger log, or merge small groups"
                )
