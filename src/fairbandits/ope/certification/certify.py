"""Certification: a joint test of the conditions, applied to members of a family in a sequence fixed beforehand.

The joint test of one policy is an intersection-union test: all of its one-sided tests must pass, each at the full
level. Members are tested in a fixed sequence until the first one fails, so the probability of certifying any
policy that violates a condition does not exceed that level (fixed-sequence testing; Angelopoulos et al., *Learn
then test*, 2021).
"""

from __future__ import annotations

from collections.abc import Sequence

from fairbandits.ope.certification.family_sums import FamilySums
from fairbandits.ope.certification.joint_conditions import JointConditions
from fairbandits.ope.certification.joint_test import GroupChange, JointTest
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.group_index import OVERALL
from fairbandits.ope.results import BoundedValue, PolicyGap
from fairbandits.statistics.effective_t import hull_with_t
from fairbandits.statistics.empirical_likelihood import WeightedUnits, difference_interval, likelihood_interval


class Certifier:
    """Tests mixtures on the certification part.

    Parameters
    ----------
    sums : FamilySums
        The sums of the certification part.
    conditions : JointConditions
        The conditions.
    """

    def __init__(self, sums: FamilySums, conditions: JointConditions) -> None:
        self._sums, self._conditions = sums, conditions
        # Two-sided intervals with twice the error probability, so that each bound has that of a one-sided test.
        self._error = round(2.0 * conditions.error, 12)
        self._confidence = round(1.0 - self._error, 12)
        self._labels = {number: label for _, label, number in conditions.groups.items()}
        # Members differ only in the shares of a few groups, so intervals are cached.
        self._known: dict[tuple[object, ...], BoundedValue] = {}

    def run_sequence(self, mixtures: Sequence[Mixture]) -> list[JointTest]:
        """Test mixtures until one fails; return the tests."""
        tests: list[JointTest] = []
        for mixture in mixtures:
            tests.append(self.test(mixture))
            if not tests[-1].passes:
                break
        return tests

    def test(self, mixture: Mixture) -> JointTest:
        """Test one mixture."""
        conditions, labels = self._conditions, self._labels
        values = {
            number: self._value(mixture, attribute, number) for attribute, _, number in conditions.groups.items()
        }
        gaps = tuple(
            PolicyGap(attribute, labels[first], labels[second], values[first].minus(values[second]))
            for attribute, first, second in conditions.pairs()
        )
        changes = tuple(
            GroupChange(
                attribute,
                labels[group],
                labels[reference],
                self._improvement(mixture, attribute, group)
                if group == reference
                else values[group].minus(self.logged(reference)),
            )
            for attribute, group, reference in conditions.comparisons(mixture)
        )
        is_fair = all(max(-gap.estimate.low, gap.estimate.high) <= conditions.tolerance for gap in gaps)
        is_safe = all(change.estimate.low >= -conditions.margin for change in changes)
        return JointTest(self._value(mixture, "", OVERALL), gaps, changes, is_fair and is_safe)

    def _value(self, mixture: Mixture, attribute: str, group: int) -> BoundedValue:
        key = ("value", *_key(mixture, attribute, group))
        if key not in self._known:
            self._known[key] = self._mean(self._sums.mixed(mixture, group)[0])
        return self._known[key]

    def _improvement(self, mixture: Mixture, attribute: str, group: int) -> BoundedValue:
        key = ("improvement", *_key(mixture, attribute, group))
        if key not in self._known:
            self._known[key] = self._difference(*self._sums.mixed(mixture, group))
        return self._known[key]

    def logged(self, group: int) -> BoundedValue:
        """Return the mean reward of a group under the logging policy."""
        key = ("logged", group)
        if key not in self._known:
            self._known[key] = self._mean(self._sums.logged(group))
        return self._known[key]

    def _mean(self, units: WeightedUnits) -> BoundedValue:
        interval = likelihood_interval(units, self._error)
        found = hull_with_t(interval, units.terms, units.rows, self._error, (0.0, 1.0))
        return BoundedValue(*found, self._confidence)

    def _difference(self, units: WeightedUnits, logged: WeightedUnits) -> BoundedValue:
        interval = difference_interval(units, logged, self._error)
        found = hull_with_t(interval, units.terms - logged.terms, units.rows, self._error, (-1.0, 1.0))
        return BoundedValue(*found, self._confidence)


def _key(mixture: Mixture, attribute: str, group: int) -> tuple[object, ...]:
    """Return a key that is equal for mixtures that serve the users in a group in the same way."""
    if attribute == mixture.attribute:
        return group, float(mixture.fitted[group]), float(mixture.uniform[group])
    return group, mixture.fitted.tobytes(), mixture.uniform.tobytes()
