"""Off-policy evaluation of policies on a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairbandits.cluster import Cluster
from fairbandits.logs.log import as_log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope.candidates.candidate import as_candidates
from fairbandits.ope.candidates.own_policies import PolicyCandidate, own_candidates
from fairbandits.ope.checks import diagnostics
from fairbandits.ope.evaluation_setup import EvaluationSettings, EvaluationSetup
from fairbandits.ope.log_passes import LogPasses, open_passes
from fairbandits.ope.log_survey import survey_log
from fairbandits.ope.passes import FirstPass, first_pass, model_is_too_large, second_pass
from fairbandits.ope.policy_sums import estimator_result
from fairbandits.ope.ranking import compare_policies
from fairbandits.ope.replay import replay_learning
from fairbandits.ope.results import Estimate, Evaluation, GroupedValue, PolicyDifference, PolicyEvaluation


def evaluate(
    log: Any,
    policies: Any,
    *,
    table: ArmTable | None = None,
    train: float | None = None,
    learning: bool = False,
    uniform: bool = False,
    propensities: str | None = None,
    estimate_propensities: bool = False,
    clip: float | None = None,
    confidence: float = 0.95,
    require_gap: float | None = None,
    sequential: bool = False,
    reward_range: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    cluster: Cluster = None,
    checkpoint: str | Path | None = None,
    progress: bool = False,
) -> Evaluation:
    """Estimate the value of policies from a log of another policy's decisions.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or a source that `Log.open` accepts.
    policies : policy, an iterable of policies, or a mapping of names to policies
        A policy is one of these:

        - a name with parameters, `"FairLinUCB(gamma=3)"` or `"module:Class(...)"`; a file to which a policy was
          saved; or a `Policy`, which is copied. Trained policies are evaluated as they are;
        - `ProbabilityColumn("p")` or `"column:p"`: a column of the log with the probability that the policy would
          have chosen the logged arm; `ProbabilityColumns("p_")` or `"columns:p_"`: one column for each arm;
        - a function of a data frame with the features and groups of users, which returns the arm chosen for each
          row, or a data frame with the probability of each arm;
        - a fitted scikit-learn classifier whose classes are arms (it chooses the class that it predicts), or
          regressor with the arm among its features (the arm with the highest prediction is chosen);
        - an obp policy, a Coba learner or a MABWiser bandit, which is given the encoded features.
    table : ArmTable, optional
        The arms on offer and their features; see `read_arms`. A fitted policy encodes them as it did when it was
        fitted. If the table is omitted, recommenders offer their own items, and all other policies offer the arms
        of the log, with the user's features as the context.
    train : float, optional
        The share of the log, taken from its beginning, on which untrained policies are trained; all policies are
        evaluated on the rest. By default one half if there are untrained policies, otherwise 0.
    learning : bool
        Whether policies learn during the evaluation, from the rows on which they agree with the log. Replay
        is then the only estimator.
    uniform : bool
        Whether to treat a log without propensities as that of a uniform policy.
    propensities : str, optional
        The prefix of the names of the columns with the propensities of all arms: with `"mu_"`, the column of the
        arm "biology" is `"mu_biology"`. By default, the log's column with the propensity of the logged arm is
        used.
    estimate_propensities : bool
        Whether to estimate the propensities of a log that has none, by a logistic regression of the arm on the
        user's features and groups. The results are then biased if the logging policy used anything else.
    clip : float, optional
        The maximum importance weight of the IPS, SNIPS and doubly robust estimators. Clipping reduces the variance
        at the cost of bias.
    confidence : float
        The confidence level of the intervals.
    require_gap : float, optional
        The largest gap that is tolerated. If it is given, `Evaluation.status` shows whether the gaps of all
        policies are within it.
    sequential : bool
        Whether the headline intervals are anytime-valid, for a log that is evaluated repeatedly while it grows;
        otherwise they hold only for a single evaluation.
    reward_range : tuple of two floats
        The lowest and the highest possible reward. The intervals depend on this range where rewards are rare.
    seed : int
        The random seed of policies given by name and of rejection sampling.
    cluster : str or distributed.Client, optional
        "local", or the address of a Dask scheduler; by default, the evaluation runs in this process.
    checkpoint : path, optional
        A folder for the sums of finished parts of the log, from which an interrupted evaluation resumes when it is
        started again. The sums are removed at the end. Remove them yourself if you change the code of a function
        that is being evaluated.
    progress : bool
        Whether to show progress bars, in a terminal or a notebook.

    Returns
    -------
    Evaluation
        The results.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.choice(["algebra", "biology"], 2_000)
    >>> rows = pd.DataFrame({"arm": arm, "reward": np.where(arm == "biology", 0.8, 0.4), "propensity": 0.5,
    ...                      "sex": rng.choice(["female", "male"], 2_000)})
    >>> evaluation = evaluate(rows, "LinUCB")
    >>> round(evaluation.logged.value.overall.value, 2)
    0.6
    >>> round(evaluation["LinUCB"].estimates["doubly_robust"].value.overall.value, 2)
    0.8
    """
    opened = as_log(log)
    candidates = as_candidates(policies, seed)
    settings = EvaluationSettings(
        uniform=uniform,
        propensities=propensities,
        estimate_propensities=estimate_propensities,
        clip=clip,
        confidence=confidence,
        require_gap=require_gap,
        sequential=sequential,
        reward_range=reward_range,
        seed=seed,
    )
    settings.check(opened)
    own = own_candidates(candidates)
    if learning and len(own) < len(candidates):
        raise ValueError("learning needs policies of this library, because only these can learn; leave out others")
    if sequential and (learning or cluster is not None):
        raise ValueError("sequential must not be combined with learning or a cluster")
    if sequential and not all(candidate.is_trained for candidate in own):
        raise ValueError(
            "sequential needs trained policies, which are the same in every evaluation, got an untrained one; "
            "train it first (fairbandits fit)"
        )
    if train is None:
        train = 0.0 if learning or all(candidate.is_trained for candidate in own) else 0.5
    if learning and cluster is not None:
        raise ValueError("learning processes the rows of the log in order; evaluate without a cluster")
    if learning:
        checkpoint, progress = None, False
    prints = [] if checkpoint is None else [candidate.fingerprint() for candidate in candidates]
    # The features represent the file from which they were read.
    inputs = prints, settings, train, None if table is None else replace(table, source=None)
    with open_passes(opened, cluster, checkpoint, progress, inputs) as passes:
        setup = EvaluationSetup(passes, survey_log(passes, train, table), candidates, settings, table)
        return _evaluate(setup, learning, passes).in_units(reward_range)


def _evaluate(setup: EvaluationSetup, learning: bool, passes: LogPasses) -> Evaluation:
    own = own_candidates(setup.candidates)
    with_model = not learning and any(candidate.knows_all_arms for candidate in setup.candidates)
    is_too_large = with_model and model_is_too_large(setup)
    first = first_pass(setup, with_model and not is_too_large, passes)
    warnings = diagnostics.log_warnings(setup, first, learning, is_too_large)
    for candidate in own:
        warnings += diagnostics.training_warnings(first.summary, candidate)
    results = _evaluate_learning(setup, first, own) if learning else _evaluate_fixed(setup, first, passes)
    return _evaluation(setup, first, replace(results, warnings=warnings + results.warnings))


@dataclass(frozen=True)
class _Results:
    """The results for the policies, before they are combined with those for the log."""

    policies: list[PolicyEvaluation]
    differences: tuple[PolicyDifference, ...]
    warnings: list[str]


def _evaluate_fixed(setup: EvaluationSetup, first: FirstPass, passes: LogPasses) -> _Results:
    """Evaluate policies that do not learn during the evaluation."""
    all_sums = second_pass(setup, first, passes)
    results: list[PolicyEvaluation] = []
    warnings = [*diagnostics.fairness_warnings(setup), *diagnostics.user_warnings(setup, all_sums[0])]
    confidence, headlines = setup.settings.confidence, {}
    for candidate, sums in zip(setup.candidates, all_sums, strict=True):
        headline = sums.headline(confidence)
        if headline is not None:
            headlines[candidate.title] = headline
        results.append(sums.evaluation(candidate.title, candidate.state, confidence, headline))
        warnings += diagnostics.policy_warnings(setup, first, results[-1], sums)
    return _Results(results, compare_policies(headlines, confidence), warnings)


def _evaluate_learning(
    setup: EvaluationSetup, first: FirstPass, candidates: Sequence[PolicyCandidate]
) -> _Results:
    """Evaluate policies that learn during the evaluation."""
    results = [_replay(setup, first, candidate) for candidate in candidates]
    warnings = [warning for result in results for warning in diagnostics.sample_size_warnings(result)]
    return _Results(results, (), warnings)


def _replay(setup: EvaluationSetup, first: FirstPass, candidate: PolicyCandidate) -> PolicyEvaluation:
    before = candidate.policy.rounds_learned
    sums = replay_learning(candidate, setup, first.summary.min_propensity)
    groups = setup.survey.groups
    result = estimator_result(sums, groups, setup.settings.confidence)
    no_improvement: GroupedValue[Estimate | None] = GroupedValue.from_index(groups, lambda _: None)
    accepted = f"{sums.rows():,} of {first.summary.n_rewards:,} rows, those on which it agreed with the log"
    start = f", starting from {before:,} rewards" if before else ""
    return PolicyEvaluation(
        candidate.title,
        f"while learning from {accepted}{start}",
        {"replay": replace(result, improvement=no_improvement)},
        GroupedValue.from_index(groups, lambda group: float(sums.rows(group))),
        None,
        GroupedValue.from_index(groups, lambda _: 0.0),
    )


def _evaluation(setup: EvaluationSetup, first: FirstPass, results: _Results) -> Evaluation:
    summary, groups = first.summary, setup.survey.groups

    def missing_share(group: int) -> float:
        return float(summary.missing[group] / max(summary.rows[group], 1))

    return Evaluation(
        log=setup.log.name,
        confidence=setup.settings.confidence,
        rows_read=setup.survey.rows,
        rows=GroupedValue.from_index(groups, lambda group: int(summary.rows[group] - summary.missing[group])),
        training_rows=summary.training_rows,
        missing_rewards=GroupedValue.from_index(groups, missing_share),
        logged=estimator_result(first.logged, groups, setup.settings.confidence),
        policies=tuple(results.policies),
        differences=results.differences,
        warnings=tuple(results.warnings),
        require_gap=setup.settings.require_gap,
        sequential=setup.settings.sequential,
        has_users=setup.log.roles.user is not None,
    )
