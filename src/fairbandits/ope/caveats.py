"""What to know before an estimate is believed, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fairbandits.ope.candidates import Candidate
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.group_index import ALL
from fairbandits.ope.log_summary import LogSummary
from fairbandits.ope.passes import PreparedEvaluation
from fairbandits.ope.results import PerGroup, PolicyEvaluation
from fairbandits.ope.trial import LEAST, PolicyTrial

# With fewer effective rows than this, intervals cover less than they say.
_FEW = 100
# A share that is worth a word.
_NOTABLE = 0.01
# Standard errors that chance does not explain.
_FAR = 5.0


def of_log(case: EvaluationSetup, prepared: PreparedEvaluation, learning: bool) -> list[str]:
    """Say what to know of the log."""
    account = prepared.account
    said = [*_propensities(case, account, learning), *_missing(case, account)]
    if prepared.model is None and not learning:
        said.append(
            f"There are {len(case.survey.arms):,} arms and {case.encoders[0].width:,} features: a model of the "
            "reward for each arm would take more than 1 GiB, so the direct method and doubly robust are left out."
        )
    if learning and account.lowest < account.highest:
        said.append(
            "Arms were not shown at random, so a coin decides whether a row counts on which a policy agrees with "
            f"the log: the rarest, with propensity {account.lowest:.2g}, always do, others in proportion."
        )
    for attribute in case.survey.cells.attributes:
        places = case.survey.cells.groups(attribute)
        unknown = account.rows[ALL] - account.rows[list(places.values())].sum()
        if unknown:
            said.append(
                f"{attribute} is not known in {_share(unknown, account.rows[ALL])} of the rows, "
                "which count for no group."
            )
        if len(places) < 2:
            said.append(f"{attribute} has one group only: there is no difference to evaluate.")
    return said


def of_frozen(case: EvaluationSetup, trials: Sequence[PolicyTrial]) -> Iterator[str]:
    """Say which policies would look at who is behind, and are judged as if nothing changed there."""
    both = zip(case.candidates, trials, strict=True)
    titles = [candidate.title for candidate, trial in both if trial.looks_at_groups]
    if titles:
        yield (
            f"{', '.join(titles)}: what fairness adds depends on who is behind, and is judged as it stood before "
            "the first of these rows. A policy that pays a group back what it is owed pays on and on here; live, "
            "it would stop. --learning lets policies go on learning."
        )


def of_policy(
    case: EvaluationSetup, prepared: PreparedEvaluation, judged: PolicyEvaluation, trial: PolicyTrial
) -> list[str]:
    """Say what to know of a policy's estimates."""
    account = prepared.account
    said = [*_unsupported(case, judged, trial), *of_rows(judged)]
    said += _clipped(case, account, judged, trial)
    if judged.mean_weight is not None and case.setting.clip is None:
        said += _weights(case, judged, trial)
    return said


def _propensities(case: EvaluationSetup, account: LogSummary, learning: bool) -> Iterator[str]:
    n_arms = len(case.survey.arms)
    if not case.is_weighed:
        left_out = "" if learning else "IPS, SNIPS and doubly robust need them, and are left out. "
        yield (
            f"The log has no propensities. {left_out}Replay is right only if all arms were shown at random, each "
            "as often as the other; if they were, say so (--uniform)."
        )
        return
    if case.setting.uniform:
        share = account.shown[ALL] / account.used
        most = int(np.argmax(np.abs(share - 1.0 / n_arms)))
        if abs(share[most] - 1.0 / n_arms) > _FAR * math.sqrt((1.0 - 1.0 / n_arms) / n_arms / account.used):
            yield (
                f"The log is said to have shown {n_arms:,} arms at random, but {case.survey.arms[most]!r} was "
                f"shown in {share[most]:.1%} of the rows rather than {1.0 / n_arms:.1%}: believe nothing below."
            )
    if account.tiny:
        yield (
            f"{_share(account.tiny, account.used)} of the propensities are tiny, below {account.tiny_below:.2g}, "
            f"the smallest {account.lowest:.2g}: a single row can weigh as much as {1.0 / account.lowest:,.0f}. "
            "Look at the effective number of rows; --clip bounds the weights."
        )
    if not learning and account.highest - account.lowest > 1e-9:
        yield "Propensities differ, so arms were not shown at random alike: replay is off; look at the others."


def _missing(case: EvaluationSetup, account: LogSummary) -> Iterator[str]:
    if not account.missing[ALL]:
        return
    shares = {
        f"{attribute} {label}": account.missing[cell] / account.rows[cell]
        for attribute, label, cell in case.survey.cells.named()
        if account.rows[cell]
    }
    by_group = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    yield (
        f"{_share(account.missing[ALL], account.rows[ALL])} of the rows have no reward and are left out"
        f"{f' ({by_group})' if by_group else ''}: where rewards are missing for a reason, estimates are off."
    )


def of_past(account: LogSummary, candidate: Candidate) -> Iterator[str]:
    """Say of a policy that has learned before that it may have learned these very rows."""
    if not candidate.is_trained:
        return
    learned = candidate.policy.rounds_learned
    if learned == account.used and not account.trained:
        yield (
            f"{candidate.title} has learned {learned:,} rewards, as many as the log has: it seems to be judged by "
            "the rows that it learned, and looks better than it is. Judge it by others."
        )
    else:
        yield (
            f"{candidate.title} came with {learned:,} rewards learned. If rows of this log are among them, it "
            "looks better than it is."
        )


def _unsupported(case: EvaluationSetup, judged: PolicyEvaluation, trial: PolicyTrial) -> Iterator[str]:
    for name, cell in _cells(case):
        share = trial.unsupported(cell)
        # What holds for everybody need not be said of each group.
        if share < _NOTABLE or (cell != ALL and trial.unsupported(ALL) >= _NOTABLE):
            continue
        never = np.flatnonzero(trial.shown[cell] == 0)
        arms = [repr(case.survey.arms[i]) for i in never[np.argsort(-trial.wanted[cell][never])]]
        listed = ", ".join(arms[:3]) + (", ..." if len(arms) > 3 else "")
        yield (
            f"{judged.title} would show {name} in {share:.1%} of the rows an arm that the log never shows them "
            f"({listed}): what that earns is not in the log. IPS counts it as nothing, SNIPS leaves it out, the "
            "direct method and doubly robust guess it."
        )


def of_rows(judged: PolicyEvaluation) -> Iterator[str]:
    """Say of whom too few rows speak to say anything, or to be sure."""
    counts = list(_named(judged.effective))
    none = [f"{name} {rows:,.0f}" for name, rows in counts if rows < LEAST]
    few = [f"{name} {rows:,.0f}" for name, rows in counts if LEAST <= rows < _FEW]
    if none:
        yield f"{judged.title}: too few effective rows to say anything, below {LEAST}: {', '.join(none)}."
    if few:
        yield (
            f"{judged.title}: few effective rows, {', '.join(few)}. Below {_FEW}, intervals are narrower than "
            "they should be; do not decide by them."
        )


def _weights(case: EvaluationSetup, judged: PolicyEvaluation, trial: PolicyTrial) -> Iterator[str]:
    for name, cell in _cells(case):
        mean, error = trial.weight(cell)
        missing = trial.unsupported(cell)
        if abs(mean + missing - 1.0) > _FAR * error + 1e-6:
            yield (
                f"{judged.title}: the weights of {name} have mean {mean:.3f}, expected was {1.0 - missing:.3f}. "
                "The propensities are not those with which arms were shown; IPS and doubly robust are off."
            )
            return


def _clipped(
    case: EvaluationSetup, account: LogSummary, judged: PolicyEvaluation, trial: PolicyTrial
) -> Iterator[str]:
    if trial.clipped:
        lost = trial.cut_off / account.used
        yield (
            f"{judged.title}: clipping at {case.setting.clip:g} changed {_share(trial.clipped, account.used)} of "
            f"the weights and took away {lost:.3f} of a mean weight of 1. With rewards from 0 to 1, IPS is too "
            f"low by up to {lost:.3f}; intervals do not know of that."
        )


def _cells(case: EvaluationSetup) -> Iterator[tuple[str, int]]:
    yield "users", ALL
    for attribute, label, cell in case.survey.cells.named():
        yield f"{attribute} {label}", cell


def _named(of: PerGroup[float]) -> Iterator[tuple[str, float]]:
    yield "all", of.everybody
    for attribute, groups in of.groups.items():
        for label, value in groups.items():
            yield f"{attribute} {label}", value


def _share(part: float, whole: float) -> str:
    share = part / whole
    return f"{share:.1%}" if share >= 0.001 else f"{share:.2g}"
