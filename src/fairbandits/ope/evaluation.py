"""Off-policy evaluation of policies on a log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairbandits.logs.log import as_log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope import diagnostics
from fairbandits.ope.candidates import Candidate, as_candidates
from fairbandits.ope.evaluation_setup import EvaluationSettings, EvaluationSetup
from fairbandits.ope.log_survey import survey_log
from fairbandits.ope.passes import FirstPass, first_pass, second_pass
from fairbandits.ope.policy_sums import estimator_result
from fairbandits.ope.replay import replay_learning
from fairbandits.ope.results import Estimate, Evaluation, GroupedValue, PolicyEvaluation


def evaluate(
    log: Any,
    policies: Any,
    *,
    table: ArmTable | None = None,
    train: float | None = None,
    learning: bool = False,
    uniform: bool = False,
    clip: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Estimate the value of policies from a log of another policy's decisions.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or a source that `Log.open` accepts.
    policies : str, path, Policy, or several of them
        Names with parameters, `"FairLinUCB(gamma=3)"` or `"module:Class(...)"`; files that policies were saved to;
        or policies, which are copied. Trained policies are evaluated as they are.
    table : ArmTable, optional
        The features of the arms; see `read_arms`. If omitted, the context of every arm is the user's.
    train : float, optional
        The share of the log, its earliest part, that trains untrained policies; all policies are evaluated on the
        rest. By default one half if there are untrained policies, otherwise 0.
    learning : bool
        Whether policies learn during the evaluation, from the rows on which they agree with the log. Replay
        is then the only estimator.
    uniform : bool
        Declares that a log without propensities comes from a uniform policy.
    clip : float, optional
        The maximum importance weight, which trades bias for variance.
    confidence : float
        The confidence of the intervals.
    seed : int
        The random seed of policies given by name and of rejection sampling.

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
    settings = EvaluationSettings(uniform, clip, confidence, seed)
    settings.check(opened)
    if train is None:
        train = 0.0 if learning or all(candidate.is_trained for candidate in candidates) else 0.5
    setup = EvaluationSetup(opened, survey_log(opened, train, table), candidates, settings, table)
    first = first_pass(setup, with_model=not learning)
    warnings = diagnostics.log_warnings(setup, first, learning)
    for candidate in candidates:
        warnings += diagnostics.training_warnings(first.summary, candidate)
    results, more = _evaluate_learning(setup, first) if learning else _evaluate_fixed(setup, first)
    return _evaluation(setup, first, results, warnings + more)


def _evaluate_fixed(setup: EvaluationSetup, first: FirstPass) -> tuple[list[PolicyEvaluation], list[str]]:
    """Evaluate policies that do not learn during the evaluation; return their results and warnings."""
    all_sums = second_pass(setup, first)
    results: list[PolicyEvaluation] = []
    warnings = [*diagnostics.fairness_warnings(setup, all_sums)]
    for candidate, sums in zip(setup.candidates, all_sums, strict=True):
        training = _training(candidate, first)
        results.append(sums.evaluation(candidate.title, training, setup.settings.confidence))
        warnings += diagnostics.policy_warnings(setup, first, results[-1], sums)
    return results, warnings


def _training(candidate: Candidate, first: FirstPass) -> str:
    learned = candidate.policy.rounds_learned
    if candidate.is_trained:
        return f"as given, trained on {learned:,} rewards"
    return f"after training on {first.summary.training_rows:,} earlier rows" if learned else "untrained"


def _evaluate_learning(setup: EvaluationSetup, first: FirstPass) -> tuple[list[PolicyEvaluation], list[str]]:
    """Evaluate policies that learn during the evaluation; return their results and warnings."""
    results = [_replay(setup, first, candidate) for candidate in setup.candidates]
    return results, [warning for result in results for warning in diagnostics.sample_size_warnings(result)]


def _replay(setup: EvaluationSetup, first: FirstPass, candidate: Candidate) -> PolicyEvaluation:
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


def _evaluation(
    setup: EvaluationSetup, first: FirstPass, results: list[PolicyEvaluation], warnings: list[str]
) -> Evaluation:
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
        policies=tuple(results),
        warnings=tuple(warnings),
    )
