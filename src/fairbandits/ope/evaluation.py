"""A log judges policies: what each would have earned, for everybody and for each group, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairbandits.logs.log import as_log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope import caveats
from fairbandits.ope.candidates import Candidate, as_candidates
from fairbandits.ope.evaluation_setup import EvaluationSettings, EvaluationSetup
from fairbandits.ope.learners import replay_learning
from fairbandits.ope.passes import PreparedEvaluation, hear, prepare
from fairbandits.ope.results import Evaluation, PerGroup, PolicyEvaluation
from fairbandits.ope.survey import survey
from fairbandits.ope.trial import verdict_of
from fairbandits.ope.value_estimate import ValueEstimate


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
    """Judge policies by a log of what another policy decided.

    Parameters
    ----------
    log : Log, path or dataframe
        The log; whatever `Log.open` takes.
    policies : str, path, Policy, or several of them
        Names with parameters, `"FairLinUCB(gamma=3)"` or `"module:Class(...)"`; files that policies were saved to;
        or policies, which are copied. Those that have learned before are judged as they are.
    table : ArmTable, optional
        What is known of arms; see `read_arms`. Left out, the context of every arm is the user's.
    train : float, optional
        The share of the log, its earliest part, from which policies learn that have learned nothing; the rest
        judges all. Left out, it is a half if there are such policies, and nothing if not.
    learning : bool
        Whether policies learn while they are judged: from the rows on which they agree with the log, and from no
        others. That leaves replay as the one estimator.
    uniform : bool
        Says of a log without propensities that it showed all of its arms at random, each as often as the other.
    clip : float, optional
        The largest weight that a row may have: a bias in exchange for a smaller error.
    confidence : float
        The confidence of the intervals.
    seed : int
        The randomness of named policies and of rejections.

    Returns
    -------
    Evaluation
        All that was found.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.choice(["algebra", "biology"], 2_000)
    >>> rows = pd.DataFrame({"arm": arm, "reward": np.where(arm == "biology", 0.8, 0.4), "propensity": 0.5,
    ...                      "sex": rng.choice(["female", "male"], 2_000)})
    >>> found = evaluate(rows, "LinUCB")
    >>> round(found.logged.value.everybody.value, 2)
    0.6
    >>> round(found["LinUCB"].verdicts["doubly_robust"].value.everybody.value, 2)
    0.8
    """
    opened = as_log(log)
    candidates = as_candidates(policies, seed)
    setting = EvaluationSettings(uniform, clip, confidence, seed)
    setting.check(opened)
    if train is None:
        train = 0.0 if learning or all(candidate.is_trained for candidate in candidates) else 0.5
    case = EvaluationSetup(opened, survey(opened, train, table), candidates, setting, table)
    prepared = prepare(case, with_model=not learning)
    said = caveats.of_log(case, prepared, learning)
    for candidate in candidates:
        said += caveats.of_past(prepared.account, candidate)
    judged: list[PolicyEvaluation] = []
    if learning:
        for candidate in candidates:
            judged.append(_learned(case, prepared, candidate))
            said += caveats.of_rows(judged[-1])
    else:
        trials = hear(case, prepared)
        said += caveats.of_frozen(case, trials)
        for candidate, trial in zip(candidates, trials, strict=True):
            judged.append(trial.judged(candidate.title, _how(candidate, prepared), confidence))
            said += caveats.of_policy(case, prepared, judged[-1], trial)
    return _judgement(case, prepared, judged, said)


def _how(candidate: Candidate, prepared: PreparedEvaluation) -> str:
    learned = candidate.policy.rounds_learned
    if candidate.is_trained:
        return f"as it came, having learned {learned:,} rewards"
    return f"after training on {prepared.account.trained:,} earlier rows" if learned else "as it starts"


def _learned(case: EvaluationSetup, prepared: PreparedEvaluation, candidate: Candidate) -> PolicyEvaluation:
    account = prepared.account
    before = candidate.policy.rounds_learned
    sums = replay_learning(candidate, case, account.lowest)
    cells = case.survey.cells
    verdict = verdict_of(sums, cells, case.setting.confidence)
    nothing: PerGroup[ValueEstimate | None] = PerGroup.of(cells, lambda _: None)
    taken = f"{sums.rows():,} of {account.used:,} rows"
    start = f" after {before:,} rewards" if before else ""
    return PolicyEvaluation(
        candidate.title,
        f"while it learned from {taken}, those on which it agreed{start}",
        {"replay": replace(verdict, gain=nothing)},
        PerGroup.of(cells, lambda cell: float(sums.rows(cell))),
        None,
        PerGroup.of(cells, lambda _: 0.0),
    )


def _judgement(
    case: EvaluationSetup, prepared: PreparedEvaluation, judged: list[PolicyEvaluation], said: list[str]
) -> Evaluation:
    account, cells = prepared.account, case.survey.cells
    logged = verdict_of(prepared.logged, cells, case.setting.confidence)
    return Evaluation(
        case.log.name,
        case.setting.confidence,
        case.survey.rows,
        PerGroup.of(cells, lambda cell: int(account.rows[cell] - account.missing[cell])),
        account.trained,
        PerGroup.of(cells, lambda cell: float(account.missing[cell] / max(account.rows[cell], 1))),
        logged,
        tuple(judged),
        tuple(said),
    )
