"""Off-policy evaluation of slates on a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from fairbandits.fairness.group_rewards import as_range
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log, as_log
from fairbandits.ope.array_validation import Floats
from fairbandits.ope.estimator_sums import EstimatorTerms
from fairbandits.ope.results import GroupedValue
from fairbandits.ope.slates import estimators as slate_estimators
from fairbandits.ope.slates.columns import SlateProbabilities, check_columns
from fairbandits.ope.slates.headline import RewardScale, SlateHeadline, last_in_slate
from fairbandits.ope.slates.reading import SLATE_NUMBER, LoggedSlates, read_slates
from fairbandits.ope.slates.results import (
    SLATE_ESTIMATOR_NAMES,
    SlateEstimate,
    SlateEvaluation,
    SlatePolicyEvaluation,
)
from fairbandits.ope.slates.warnings import log_warnings, weight_warnings
from fairbandits.statistics.empirical_likelihood import kish

_Terms = Callable[[Any, ArrayLike, ArrayLike], EstimatorTerms]
# For each estimator, the event whose probabilities it compares, and its plain and its self-normalised form.
_ESTIMATORS: dict[str, tuple[str, _Terms, _Terms]] = {
    "standard": ("slate", slate_estimators.standard_ips, slate_estimators.standard_snips),
    "reward_interaction": (
        "cascade",
        slate_estimators.reward_interaction_ips,
        slate_estimators.reward_interaction_snips,
    ),
    "independent": ("position", slate_estimators.independent_ips, slate_estimators.independent_snips),
}


def evaluate_slates(
    log: Any,
    policies: Mapping[str, SlateProbabilities],
    *,
    propensity: SlateProbabilities,
    position_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    reward_range: tuple[float, float] = (0.0, 1.0),
) -> SlateEvaluation:
    """Estimate the mean reward of a slate under other policies, from a log of slates with a reward per position.

    A row of the log is one position of one slate. The log needs columns with the roles decision (the id of the
    slate) and position. Rows may be in any order, and are read into memory. A slate without a reward at one of its
    positions is left out. The reward of a slate is the sum of its positions' rewards.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or a source that `Log.open` accepts.
    policies : mapping of str to SlateProbabilities
        The title of each policy, and the columns of the log with its probabilities.
    propensity : SlateProbabilities
        The columns with the probabilities of the logging policy. Each estimator needs the probabilities of the
        same event under both policies.
    position_weight : array of shape (n_positions,), optional
        The weight of each position in the reward of a slate; 1 by default.
    confidence : float
        The confidence level of the intervals, which treat users as independent or, if the log has no users,
        slates.
    reward_range : tuple of two floats
        The lowest and the highest possible reward of a position.

    Returns
    -------
    SlateEvaluation
        The results.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.permuted(np.tile(["news", "sport"], (2_000, 1)), axis=1)  # both orders are equally likely
    >>> rows = pd.DataFrame({"decision": np.repeat(np.arange(2_000), 2), "position": np.tile([1, 2], 2_000),
    ...                      "arm": arm.ravel(), "p": 0.5})
    >>> rows["click"] = 1.0 * (rng.random(4_000) < np.where(rows["arm"] == "news", 0.6, 0.2) / rows["position"])
    >>> rows["news_first"] = 1.0 * ((rows["arm"] == "news") == (rows["position"] == 1))
    >>> columns = {"news first": SlateProbabilities(position="news_first")}
    >>> evaluation = evaluate_slates(rows, columns, propensity=SlateProbabilities(position="p"))
    >>> value = evaluation["news first"].estimates["independent"].result.value.overall
    >>> round(evaluation.logged.value.overall.value, 2), round(value.value, 2)  # the truth: 0.6 and 0.7
    (0.62, 0.7)
    """
    opened = as_log(log)
    check_columns(policies, propensity)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, exclusive, got {confidence!r}")
    bounds = as_range(reward_range)
    columns = [column for policy in policies.values() for column in policy.columns]
    slates = read_slates(opened, propensity.columns, columns, bounds, position_weight)
    scale = RewardScale(slates.log, bounds)
    evaluator = _PolicyEvaluator(slates, scale, SlateHeadline(slates, scale, confidence), propensity)
    results = tuple(evaluator.evaluate(opened, title, policy) for title, policy in policies.items())
    missing = _missing_rewards(slates)
    return SlateEvaluation(
        log=opened.name,
        confidence=confidence,
        unit="slate" if slates.user is None else "user",
        rows_read=slates.rows_read,
        slates_read=slates.slates_read,
        slates=GroupedValue.from_index(slates.index, lambda group: int(slates.members(group).sum())),
        missing_rewards=missing,
        logged=evaluator.headline.logged(),
        policies=results,
        warnings=(*log_warnings(slates, missing.overall), *evaluator.warnings),
    )


class _PolicyEvaluator:
    """Computes the estimates of one policy after another, and collects warnings."""

    def __init__(
        self, slates: LoggedSlates, scale: RewardScale, headline: SlateHeadline, propensity: SlateProbabilities
    ) -> None:
        self._slates, self._scale, self.headline, self._propensity = slates, scale, headline, propensity
        self.warnings: list[str] = []

    def evaluate(self, log: Log, title: str, policy: SlateProbabilities) -> SlatePolicyEvaluation:
        estimates: dict[str, SlateEstimate] = {}
        for name, (event, *_) in _ESTIMATORS.items():
            if event in policy.events and event in self._propensity.events:
                try:
                    estimates[name] = self._estimate(f"{title}, {SLATE_ESTIMATOR_NAMES[name]}", name, policy)
                except ValueError as error:
                    raise LogError(f"{log.name}: {title}: {error} ({SLATE_NUMBER})") from None
        return SlatePolicyEvaluation(title, estimates)

    def _estimate(self, where: str, name: str, policy: SlateProbabilities) -> SlateEstimate:
        event, ips, snips = _ESTIMATORS[name]
        slates, log = self._slates, self._slates.log
        pi, p = (self._probabilities(each, event) for each in (policy, self._propensity))
        plain, normalised = ips(log, pi, p), snips(log, pi, p)
        row_weight = log.weights(pi, p)
        if event == "slate":
            weights = self._scale.whole(row_weight[log.rows.start])
        else:
            weights = self._scale.by_position(row_weight)

        def of(function: Callable[[Any], float]) -> GroupedValue[float]:
            return GroupedValue.from_index(slates.index, lambda group: function(slates.members(group)))

        effective = of(lambda members: kish(weights.weight[members]))
        self.warnings += weight_warnings(where, self.headline, weights, effective.overall)
        return SlateEstimate(
            self.headline.result(weights),
            of(lambda members: plain.select(members).value()),
            of(lambda members: normalised.select(members).value()),
            effective,
            of(lambda members: float(weights.weight[members].mean()) if members.any() else float("nan")),
        )

    def _probabilities(self, policy: SlateProbabilities, event: str) -> Floats:
        values = self._slates.probabilities[policy.events[event]]
        if event == "slate" and policy.slate is None:
            self._slates.log.rows.check_prefix(values[self._slates.log.order], str(policy.cascade))
            return last_in_slate(self._slates.log, values)
        return values


def _missing_rewards(slates: LoggedSlates) -> GroupedValue[float]:
    def share(group: int) -> float:
        known, total = slates.members(group).sum(), (slates.all_groups == group).any(axis=1).sum()
        return float(1.0 - known / total) if total else 0.0

    return GroupedValue.from_index(slates.index, share)
