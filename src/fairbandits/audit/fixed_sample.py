"""Fixed-sample comparison of groups, for a finished log: intervals that hold for a population of users."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.decomposition import decompose, jackknife_error, leave_out_each
from fairbandits.audit.effects import arm_effects, conclusion, missing_rewards, named_gap
from fairbandits.audit.group_means import GroupMeansOverTime, group_means
from fairbandits.audit.grouped_sums import GroupedSums, RewardSums
from fairbandits.audit.intervals import GroupMeans, IntervalEstimate
from fairbandits.audit.results import ClearestGap, Comparison, GapAnalysis, GroupResult, History, WindowGap
from fairbandits.audit.settings import AuditSettings
from fairbandits.audit.simultaneous import PairwiseGaps
from fairbandits.audit.unassessed import unassessed_users, worst_case_gap
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.windows import Windows
from fairbandits.statistics.clusters import ClusterMeans, Floats
from fairbandits.statistics.fixed_sample import is_large_enough, mean_bounds
from fairbandits.statistics.multiplicity import divide_error, sidak

#: The division of a comparison's error probability among its statements, which all hold jointly. Most of it goes
#: to the gap over the whole log, because the verdict depends on it.
WEIGHTS = {"gap": 0.5, "recent": 0.2, "windows": 0.1, "means": 0.1, "effects": 0.05, "missing": 0.05}
# If a larger share of the users than this appears in several groups, the groups are not independent.
_MAX_SHARED = 0.01


def compare_fixed_sample(
    sums: GroupedSums,
    units: UnitSums,
    windows: Windows,
    settings: AuditSettings,
    error: float,
    is_hidden: NDArray[np.bool_],
) -> Comparison:
    """Compare groups with fixed-sample intervals.

    Parameters
    ----------
    sums : GroupedSums
        The sums of the groups.
    units : UnitSums
        The sums by user, and by fold of users.
    windows : Windows
        The windows of time; the last one is the most recent.
    settings : AuditSettings
        The settings.
    error : float
        The error probability of all statements of the comparison together.
    is_hidden : array of bool
        Whether each group must be hidden.
    """
    return _FixedSampleComparison(sums, units, windows, settings, error, is_hidden).result()


class _FixedSampleComparison:
    def __init__(
        self,
        sums: GroupedSums,
        units: UnitSums,
        windows: Windows,
        settings: AuditSettings,
        error: float,
        is_hidden: NDArray[np.bool_],
    ) -> None:
        self.sums, self.units, self.windows, self.settings = sums, units, windows, settings
        self.lowest = sums.reward_range[0]
        self.span = sums.reward_range[1] - self.lowest
        self.tolerance = settings.tolerance
        self.means: GroupMeansOverTime = group_means(sums, units)
        self.large = np.flatnonzero(self._is_usable(self.means.whole) & ~is_hidden)
        self.are_shared = self.means.shared_users > _MAX_SHARED * self.means.users
        has_history = windows.n > 1
        families = {k: w for k, w in WEIGHTS.items() if has_history or k not in ("recent", "windows")}
        self.errors = divide_error(error, families)
        n = max(len(self.large), 1)
        self.bounds = mean_bounds(self.means.whole, sidak(self.errors["means"], n))
        self.share_bounds = mean_bounds(self.means.missing, sidak(self.errors["missing"], n))

    # -- the groups ------------------------------------------------------------------------------------

    def result(self) -> Comparison:
        groups = [self._group(number) for number in range(len(self.sums.labels))]
        sign = -1.0 if self.settings.lower_is_better else 1.0
        large = sorted(self.large.tolist(), key=lambda number: sign * self.means.whole.mean[number])
        small = [number for number in range(len(groups)) if number not in set(large)]
        analysis = self._analyse(groups, large) if len(large) > 1 else None
        return Comparison(
            self.sums.attributes,
            tuple(groups[number] for number in (*large, *small)),
            analysis.conclusion if analysis is not None else "too small",
            analysis,
            unassessed_users(self.sums, self.means, groups, self.large, self.bounds, self.settings),
            self.means.shared_users,
        )

    def _group(self, number: int) -> GroupResult:
        whole, is_large = self.means.whole, number in self.large
        overall = self.sums.overall
        low, high = (self._in_units(bound[number]) for bound in self.bounds)
        share = self.means.missing.mean[number]
        return GroupResult(
            labels=self.sums.labels[number],
            rewards=int(overall.count[number]),
            missing=int(overall.missing[number]),
            users=int(whole.users[number]),
            effective_users=float(np.nan_to_num(whole.effective_users[number])),
            mean=self._in_units(whole.mean[number]),
            low=low if is_large else math.nan,
            high=high if is_large else math.nan,
            missing_share=IntervalEstimate(
                float(share), *(float(bound[number]) if is_large else math.nan for bound in self.share_bounds)
            ),
            is_large_enough=is_large,
        )

    # -- the gap ---------------------------------------------------------------------------------------

    def _analyse(self, groups: list[GroupResult], large: list[int]) -> GapAnalysis:
        gaps = PairwiseGaps(self.means.whole, self.large, self.errors["gap"], self.are_shared)
        value, low, high = (part * self.span for part in gaps.range())
        disadvantaged, advantaged = large[0], large[-1]
        pair = (disadvantaged, advantaged) if self.settings.lower_is_better else (advantaged, disadvantaged)
        gap = named_gap((value, low, high), self.sums, self.settings, groups[advantaged], groups[disadvantaged])
        compared = [groups[number] for number in self.large]
        shares = GroupMeans(self.means.missing.mean[self.large], *(b[self.large] for b in self.share_bounds))
        share_gap = PairwiseGaps(self.means.missing, self.large, self.errors["missing"], self.are_shared).range()
        return GapAnalysis(
            self.sums.attributes,
            tuple(groups[number] for number in large),
            conclusion(low, high, self.tolerance),
            gap,
            (self.tolerance or 0.0) + gaps.detectable(*pair) * self.span,
            self._recent(groups) if self.windows.n > 1 else None,
            self._history(groups) if self.windows.n > 1 else None,
            None,
            arm_effects(
                self.sums, pair, self._effect, lambda arms: self._effect_errors(pair, arms), self.settings.min_cell
            ),
            missing_rewards(
                self.sums,
                shares,
                IntervalEstimate(*share_gap),
                compared,
                self.large,
                disadvantaged,
                self.settings.lower_is_better,
            ),
            gaps,
            self._clearest(gaps, groups),
        )

    def _clearest(self, gaps: PairwiseGaps, groups: list[GroupResult]) -> ClearestGap:
        low, means = gaps.lower_bounds * self.span, gaps.means.mean[gaps.large] * self.span

        def difference(i: Any, j: Any) -> IntervalEstimate:
            return IntervalEstimate(float(means[i] - means[j]), float(low[i, j]), float(-low[j, i]))

        i, j = np.unravel_index(np.argmax(low), low.shape)
        order = np.argsort(means, kind="stable")
        ends = groups[gaps.large[i]], groups[gaps.large[j]]
        return ClearestGap(
            *(ends[::-1] if self.settings.lower_is_better else ends),
            difference(i, j),
            difference(order[-1], order[0]),
        )

    # -- over time -------------------------------------------------------------------------------------

    def _history(self, groups: list[GroupResult]) -> History:
        n = self.windows.n
        error = sidak(self.errors["windows"], n)
        pairs = [self._pairs_in_window(window, error / 2.0) for window in range(n)]
        window_means = self.means.windows[:, self.large]
        usable = np.stack([self._is_usable(window_means[window]) for window in range(n)])
        # The intervals of a window's means are only drawn, and the gap decides. They share the window's error
        # probability.
        low, high = mean_bounds(window_means, sidak(error / 2.0, len(self.large)))
        means, low, high = (
            np.where(usable, self._in_units(part), np.nan) for part in (window_means.mean, low, high)
        )
        return History(
            self.windows,
            tuple(groups[number] for number in self.large),
            GroupMeans(means, low, high),
            tuple(self._window_gap(groups, gaps) for gaps in pairs),
            np.stack([self._difference_bounds(gaps) for gaps in pairs]),
            self.tolerance,
        )

    def _recent(self, groups: list[GroupResult]) -> WindowGap:
        """Return the gap in the most recent window; it is "fair" only if nearly all its users are compared."""
        window = self.windows.n - 1
        pairs = self._pairs_in_window(window, self.errors["recent"])
        gap, means, compared = self._window_gap(groups, pairs), pairs.means, pairs.large
        users = float(means.users.sum() + self.means.unknown_in_windows[window])
        left_out = 1.0 - float(means.users[compared].sum()) / users if users else 1.0
        is_open = left_out > self.settings.max_unassessed or self._could_be_hidden(window, compared)
        return replace(gap, conclusion="undecided") if is_open and gap.conclusion == "fair" else gap

    def _could_be_hidden(self, window: int, compared: NDArray[np.int64]) -> bool:
        """Return whether users of unknown group could hide a gap above the tolerance in a window."""
        unknown = self.means.unknown.select(np.array(window))
        if self.tolerance is None or not unknown.count or len(compared) < 2:
            return False
        means: ClusterMeans = self.means.windows[window, compared]
        known = RewardSums(means.rows, means.mean * means.rows * self.span, means.rows, means.rows)
        return worst_case_gap(known, unknown, self.span) > self.tolerance

    def _pairs_in_window(self, window: int, error: float) -> PairwiseGaps:
        means: ClusterMeans = self.means.windows[window]
        return PairwiseGaps(means, self.large[self._is_usable(means[self.large])], error, self.are_shared)

    def _difference_bounds(self, pairs: PairwiseGaps) -> Floats:
        """Return the lower bounds of the differences between all groups that are compared over the whole log."""
        bounds = np.full((len(self.large), len(self.large)), np.nan)
        if pairs.n_pairs:
            at = np.searchsorted(self.large, pairs.large)
            bounds[np.ix_(at, at)] = np.where(np.eye(len(at), dtype=bool), np.nan, pairs.lower_bounds * self.span)
        return bounds

    def _window_gap(self, groups: list[GroupResult], gaps: PairwiseGaps) -> WindowGap:
        if not gaps.n_pairs:
            return WindowGap(IntervalEstimate(math.nan, math.nan, math.nan), None, None, "too small", math.nan)
        value, low, high = (part * self.span for part in gaps.range())
        order = gaps.large[np.argsort(gaps.means.mean[gaps.large], kind="stable")]
        lowest, highest = groups[order[0]], groups[order[-1]]
        if self.settings.lower_is_better:
            lowest, highest = highest, lowest
        detectable = (self.tolerance or 0.0) + gaps.detectable(order[0], order[-1]) * self.span
        return WindowGap(
            IntervalEstimate(value, low, high),
            highest,
            lowest,
            conclusion(low, high, self.tolerance),
            detectable,
            self._clearest(gaps, groups),
        )

    # -- effects ---------------------------------------------------------------------------------------

    def _effect_errors(self, pair: tuple[int, int], arms: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        """Return the standard errors of the summed effects and of each total effect, and the users per arm."""
        tables = [table for group in pair for table in self._fold_tables(group, arms)]
        folds = np.flatnonzero((tables[0] + tables[2]).sum(axis=0) > 0)
        left = [leave_out_each(table, folds) for table in tables]
        usable = (left[0].sum(axis=1) > 0) & (left[2].sum(axis=1) > 0)
        effects = decompose(*(table[usable] for table in left))
        self.n_folds = int(usable.sum())
        # Each user is in only one fold, so an arm has at least as many users as folds.
        has_users = self.units.has_users
        users = [(counts > 0 if has_users else counts).sum(axis=1) for counts in (tables[0], tables[2])]
        return jackknife_error(effects.sums()), jackknife_error(effects.total), users

    def _fold_tables(self, group: int, arms: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return the counts and sums of a group by arm and fold."""
        units = self.units
        chosen = np.flatnonzero(self.sums.groups_of(units.combinations)[units.combination] == group)
        position = {self.sums.arms[arm]: row for row, arm in enumerate(arms)}
        row_of_arm = np.array([position.get(arm, -1) for arm in units.arms])
        rows = row_of_arm[units.arm[chosen]]
        chosen, rows = chosen[rows >= 0], rows[rows >= 0]
        tables = []
        for source in (units.fold_counts, units.fold_totals):
            table = np.zeros((arms.size, source.shape[1]))
            np.add.at(table, rows, source[chosen])
            tables.append(table)
        return tables[0], tables[1]

    def _effect(self, value: float, standard_error: Any) -> IntervalEstimate:
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

        # The two effects have joint intervals, but each interval of a single arm holds only individually.
        quantile = -float(stdtrit(max(self.n_folds - 1, 1), sidak(self.errors["effects"], 2) / 2.0))
        radius = quantile * float(standard_error)
        return IntervalEstimate(float(value), float(value) - radius, float(value) + radius)

    def _is_usable(self, means: ClusterMeans) -> NDArray[np.bool_]:
        # A group that may not be shown cannot be compared either.
        usable: NDArray[np.bool_] = is_large_enough(means) & (means.users >= self.settings.min_cell)
        return usable

    def _in_units(self, value: Any) -> Any:
        scaled = self.lowest + np.asarray(value) * self.span
        return float(scaled) if np.ndim(scaled) == 0 else scaled
