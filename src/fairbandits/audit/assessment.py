"""From cells to findings: everything here costs the same however long the log was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit import decomposition
from fairbandits.audit.group_sums import Compared, GroupSums, compare, compared_by
from fairbandits.audit.intervals import (
    GroupMeans,
    IntervalEstimate,
    first_that_stays,
    mean_rewards,
    missing_shares,
)
from fairbandits.audit.log_sums import Floats, LogSums
from fairbandits.audit.results import (
    ArmPart,
    Comparison,
    Decomposition,
    GroupGains,
    GroupGap,
    MissingRewards,
    Timeline,
)
from fairbandits.fairness import Gap
from fairbandits.validation import check_integer

_MOST_ARMS = 10


@dataclass(frozen=True)
class Settings:
    """How an audit is made.

    Attributes
    ----------
    confidence : float
        The probability with which all intervals of mean rewards hold together.
    tolerance : float or None
        How far apart groups may be.
    min_rows : int
        How many rewards a group needs to be compared.
    seed : int
        Where the randomness of the bootstrap comes from.
    """

    confidence: float = 0.95
    tolerance: float | None = None
    min_rows: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.confidence, Real) or not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence is a probability, 0 and 1 excluded; got {self.confidence!r}")
        is_number = isinstance(self.tolerance, Real)
        if self.tolerance is not None and not (is_number and 0.0 <= self.tolerance < np.inf):
            raise ValueError(f"tolerance is how far apart groups may be, not below 0; got {self.tolerance!r}")
        check_integer("min_rows", self.min_rows, 1)
        check_integer("seed", self.seed, 0)


def assess(cells: LogSums, settings: Settings) -> tuple[Comparison, ...]:
    """Compare the groups of each attribute and of their intersections.

    What may fail is shared by all comparisons evenly, and in each by its groups: all intervals hold together.
    """
    by = compared_by(list(cells.labels))
    error = (1.0 - settings.confidence) / len(by)
    found = []
    for number, attributes in enumerate(by):
        compared = compare(cells, attributes)
        large = int((compared.in_all.count >= settings.min_rows).sum())
        found.append(assess_one(compared, settings, error / max(large, 1), number))
    return tuple(found)


def assess_one(
    compared: Compared, settings: Settings, error: float, number: int = 0, draws: int = decomposition.MOST
) -> Comparison:
    """Compare groups.

    Parameters
    ----------
    compared : Compared
        The groups, and what they got.
    settings : Settings
        How it is done.
    error : float
        The probability with which the interval of one group may fail.
    number : int
        The how-manieth of several comparisons this is, from 0: their bootstraps differ.
    draws : int
        How often the bootstrap is drawn at most.
    """
    return _Assessment(compared, settings, error, number, draws).comparison()


class _Assessment:
    """One comparison in the making."""

    def __init__(self, compared: Compared, settings: Settings, error: float, number: int, draws: int) -> None:
        self.compared, self.settings, self.error, self.draws = compared, settings, error, draws
        self.reward_range = compared.reward_range
        self.enough = np.flatnonzero(compared.in_all.count >= settings.min_rows)
        self.rng = np.random.default_rng([settings.seed, number])
        self.gains = mean_rewards(compared.in_all, self.reward_range, error)
        self.shares = missing_shares(compared.in_all, error)

    def comparison(self) -> Comparison:
        """Put together what is found."""
        groups = [self._group(number) for number in range(len(self.compared.labels))]
        small = [group for group in groups if not group.enough]
        enough = sorted(self.enough.tolist(), key=lambda number: self.gains.mean[number])
        difference = self._difference(groups, *enough) if len(enough) > 1 else None
        return Comparison(
            self.compared.attributes,
            (*(groups[number] for number in enough), *small),
            difference.word if difference is not None else "too small",
            difference,
        )

    def _difference(self, groups: list[GroupGains], behind: int, *others: int) -> GroupGap:
        ahead = others[-1]
        gap = self._gap(groups[ahead], groups[behind])
        return GroupGap(
            self.compared.attributes,
            tuple(groups[number] for number in (behind, *others)),
            self._word(gap),
            gap,
            self._timeline(groups),
            self._decomposition(ahead, behind),
            self._missing(groups, ahead, behind),
        )

    def _group(self, number: int) -> GroupGains:
        sums, enough = self.compared.in_all, number in self.enough
        gains = self.gains
        return GroupGains(
            labels=self.compared.labels[number],
            rewards=int(sums.count[number]),
            missing=int(sums.missing[number]),
            mean=float(gains.mean[number]),
            low=float(gains.low[number]) if enough else math.nan,
            high=float(gains.high[number]) if enough else math.nan,
            missing_share=_estimate(self.shares, number),
            enough=enough,
        )

    def _gap(self, ahead: GroupGains, behind: GroupGains) -> Gap:
        value, low, high = (float(part) for part in _only(self.gains, self.enough).apart())
        return Gap(
            value,
            low=low,
            high=high,
            confidence=self.settings.confidence,
            attribute=" x ".join(self.compared.attributes),
            ahead=ahead.name,
            behind=behind.name,
        )

    def _word(self, gap: Gap) -> str:
        tolerance = self.settings.tolerance
        if tolerance is None:
            return "apart" if gap.low > 0.0 else "unsure"
        return "unfair" if gap.low > tolerance else "fair" if gap.high <= tolerance else "unsure"

    def _timeline(self, groups: list[GroupGains]) -> Timeline:
        then = mean_rewards(_columns(self.compared.over_time, self.enough), self.reward_range, self.error)
        _, low, high = then.apart()
        since = first_that_stays(low > (self.settings.tolerance or 0.0))
        return Timeline(self.compared.blocks, tuple(groups[i] for i in self.enough), then, low, high, since)

    def _decomposition(self, ahead: int, behind: int) -> Decomposition:
        groups = [self.compared.by_arm(number) for number in (ahead, behind)]
        served = np.flatnonzero(groups[0].count + groups[1].count)
        first, second = (_columns(group, served) for group in groups)
        parts = decomposition.split(first.count, first.mean, second.count, second.mean)
        shown, one_sided, same_arm, _ = parts.totals()
        errors, by_arm = decomposition.standard_errors(first, second, self.rng, self.draws)
        reach = self._quantile() * errors
        total = parts.shown + parts.same_arm
        top = np.argsort(-np.abs(total), kind="stable")[:_MOST_ARMS]
        shares = [group.count / group.count.sum() for group in (first, second)]
        return Decomposition(
            shown=_around(shown, reach[0]),
            one_sided=_around(one_sided, reach[1]),
            same_arm=_around(same_arm, reach[2]),
            one_sided_shares=(float(shares[0] @ parts.one_sided), float(shares[1] @ parts.one_sided)),
            arms=tuple(
                ArmPart(
                    arm=self.compared.arms[served[i]],
                    shown=float(parts.shown[i]),
                    same_arm=float(parts.same_arm[i]),
                    total=_around(total[i], self._quantile() * by_arm[i]),
                    shares=(float(shares[0][i]), float(shares[1][i])),
                    means=(self._arm_mean(first, i), self._arm_mean(second, i)),
                )
                for i in top
            ),
            n_arms=int(served.size),
            rest=float(np.delete(total, top).sum()),
            draws=decomposition.draws_for(served.size, self.draws),
        )

    def _missing(self, groups: list[GroupGains], ahead: int, behind: int) -> MissingRewards:
        sums, shares = self.compared.in_all, _only(self.shares, self.enough)
        span = self.reward_range[1] - self.reward_range[0]
        decisions = np.maximum(sums.count + sums.missing, 1.0)
        # Counted from the lowest reward: a missing one adds nothing at worst, and the whole range at best.
        worst, best = sums.total / decisions, (sums.total + sums.missing * span) / decisions
        return MissingRewards(
            apart=IntervalEstimate(*(float(part) for part in shares.apart())),
            most=groups[self.enough[np.argmax(shares.mean)]],
            least=groups[self.enough[np.argmin(shares.mean)]],
            bounds=(float(worst[ahead] - best[behind]), float(best[ahead] - worst[behind])),
        )

    def _arm_mean(self, sums: GroupSums, arm: int) -> float:
        return float(self.reward_range[0] + sums.mean[arm]) if sums.count[arm] else math.nan

    def _quantile(self) -> float:
        # Imported where it is used, as in fairness/sequence.py.
        from scipy.special import ndtri  # noqa: PLC0415

        return float(ndtri(0.5 + self.settings.confidence / 2.0))


def _estimate(means: GroupMeans, number: int) -> IntervalEstimate:
    return IntervalEstimate(float(means.mean[number]), float(means.low[number]), float(means.high[number]))


def _around(value: Any, reach: Any) -> IntervalEstimate:
    return IntervalEstimate(float(value), float(value - reach), float(value + reach))


def _only(means: GroupMeans, groups: NDArray[np.int64]) -> GroupMeans:
    return GroupMeans(means.mean[groups], means.low[groups], means.high[groups])


def _columns(sums: GroupSums, which: NDArray[np.int64]) -> GroupSums:
    parts: list[Floats] = [part[..., which] for part in (sums.count, sums.total, sums.squares, sums.missing)]
    return GroupSums(*parts)
