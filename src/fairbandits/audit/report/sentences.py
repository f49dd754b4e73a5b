"""What an audit found, in sentences for a person who is no statistician."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fairbandits.audit.report.phrases import decimals, listed, percent, since, writer
from fairbandits.audit.results import Comparison, GroupGains, GroupGap
from fairbandits.audit.verdict import FAIR, UNFAIR

_MOST_NAMED = 6
# From this share of one-sided rewards on, a sentence says that the same-arm part leaves out much.
_MUCH = 0.05


class AuditSentences:
    """Sentences about the findings of one audit.

    Parameters
    ----------
    confidence : float
        How sure all intervals are.
    tolerance : float or None
        How far apart groups may be.
    min_rows : int
        How many rewards a group needs.
    span : float
        The highest possible reward less the lowest.
    """

    def __init__(self, confidence: float, tolerance: float | None, min_rows: int, span: float) -> None:
        self.confidence, self.tolerance, self.min_rows, self.span = confidence, tolerance, min_rows, span

    def about(self, comparison: Comparison) -> str:
        """Say who gained less, by how much, how sure that is, and since when it shows."""
        difference = comparison.difference
        if difference is None:
            return self._nothing_to_say(comparison)
        return " ".join(filter(None, (self._who(difference), self._how_sure(difference), _shown(difference))))

    def verdict(self, comparisons: Sequence[Comparison], status: int) -> str | None:
        """Say whether the groups are within what is tolerated; None where nobody said what is."""
        if self.tolerance is None:
            return None
        tolerated = f"{self.tolerance:g} of each other"
        if status == UNFAIR:
            return f"Unfair, with confidence: groups are not within {tolerated} by {_by(comparisons, 'unfair')}."
        if status == FAIR:
            return f"Fair, with confidence: groups are within {tolerated} by {_by(comparisons, 'fair')}."
        unsaid = _by(comparisons, "unsure", "too small")
        return f"Too little data: whether groups are within {tolerated} cannot be said by {unsaid}."

    def _who(self, found: GroupGap) -> str:
        behind, ahead, number = found.behind, found.ahead, self.numbers(found)
        if ahead.mean == behind.mean:
            return f"By {found.name}, all groups gained the same per decision ({number(ahead.mean)})."
        if len(found.groups) == 2:
            return (
                f"Users {_whose(found, behind)} gained {number(found.gap)} less per decision than those "
                f"{_whose(found, ahead)} ({number(behind.mean)} against {number(ahead.mean)})."
            )
        return (
            f"Users {_whose(found, behind)} gained least ({number(behind.mean)} per decision) and those "
            f"{_whose(found, ahead)} most ({number(ahead.mean)}): {number(found.gap)} apart."
        )

    def _how_sure(self, found: GroupGap) -> str:
        gap, number = found.gap, self.numbers(found)
        sure = f"We are {self.confidence * 100:g}% sure that the difference is"
        between = f"{sure} between {number(gap.low)} and {number(gap.high)}"
        if found.word == "apart":
            return f"{between}."
        if self.tolerance is None:
            return f"That may be chance: {_small(sure)} at most {number(gap.high)}, and it may be none at all."
        tolerated = f"the {self.tolerance:g} that is tolerated"
        if found.word == "unfair":
            return f"{between}: more than {tolerated}."
        if found.word == "fair":
            return f"{sure} at most {number(gap.high)}: within {tolerated}."
        return f"{between}: whether it is within {tolerated} cannot be said yet."

    def _nothing_to_say(self, comparison: Comparison) -> str:
        nothing, need = f"By {comparison.name} nothing can be said", f"{self.min_rows:,} rewards"
        if not comparison.groups:
            return f"{nothing}: there is nobody of whom all of it is known."
        if not comparison.enough:
            return f"{nothing}: no group has {need}."
        return f"{nothing}: of all groups only {comparison.enough[0].name} has {need}."

    def too_small(self, comparison: Comparison) -> str | None:
        """Say which groups are too small to say anything."""
        small = comparison.too_small
        if not small:
            return None
        named = listed([f"{group.name} ({group.rewards:,})" for group in small], _MOST_NAMED)
        return f"Too small to say anything, with fewer than {self.min_rows:,} rewards: {named}."

    def causes(self, found: GroupGap) -> str:
        """Say whether a gap comes from who was shown what, or from who got more from the same arm."""
        shown, same = found.decomposition.shown.value, found.decomposition.same_arm.value
        number = self.numbers(found)
        first, second = "Both groups were shown much the same.", "From the same arm both got much the same."
        if _is_something(shown, number):
            arms = "that give less" if shown > 0.0 else "that give more"
            first = f"The group behind, {found.behind.name}, was shown arms {arms}: that {_makes(shown, number)}."
        if _is_something(same, number):
            got = "less" if same > 0.0 else "more"
            second = f"From the same arms {found.behind.name} got {got}: that {_makes(same, number)}."
        chance = " As the difference may be chance, so may this." if found.gap.low <= 0.0 else ""
        return f"{first} {second}{chance}"

    def carriers(self, found: GroupGap) -> str:
        """Say which arms carry the gap."""
        parts, number = found.decomposition, self.numbers(found, finer=1)
        if parts.n_arms == 1:
            return "There is one arm only."
        top = [part for part in parts.arms if part.total.value > 0.0][:3]
        if not top:
            smaller = any(part.total.value < 0.0 for part in parts.arms)
            return "The arms that matter most make it smaller." if smaller else "No arm carries it."
        named = listed([f"{part.arm} ({number(part.total.value)})" for part in top], 3)
        return f"Of {parts.n_arms:,} arms, these carry most of it: {named}."

    def one_sided(self, found: GroupGap) -> str | None:
        """Warn where much came from arms that only one group was shown."""
        shares = found.decomposition.one_sided_shares
        if max(shares) < _MUCH:
            return None
        return (
            f"{percent(shares[0])} of the rewards of {found.ahead.name} and {percent(shares[1])} of those of "
            f"{found.behind.name} came from arms that the other group was never shown. What they would have given "
            "the other group nobody knows: their part counts as who was shown what."
        )

    def missing(self, found: GroupGap) -> str:
        """Say whether rewards are missing more often for one group, and what that may hide."""
        if not any(group.missing for group in found.groups):
            return "No rewards are missing."
        apart = found.missing.apart
        most, least = found.missing.most, found.missing.least
        text = (
            f"Rewards are missing most often for {most.name} ({percent(most.missing_share.value)}) and least "
            f"often for {least.name} ({percent(least.missing_share.value)})."
        )
        if apart.low > 0.0:
            text = (
                f"Careful: {_small(text)} We are {self.confidence * 100:g}% sure that this is no chance: the "
                f"shares are at least {apart.low * 100:.2g} percentage points apart."
            )
        number, (low, high) = self.numbers(found), found.missing.bounds
        turned = "They could even turn it round." if low < 0.0 else "Even then the same group would be behind."
        return (
            f"{text} Had they come, and been as extreme as can be, the difference could be anything from "
            f"{number(low)} to {number(high)}. {turned}"
        )

    def about_time(self, found: GroupGap) -> str:
        """Say since when a difference shows."""
        return _shown(found) or "No difference shows."

    def number_of(self, comparison: Comparison) -> Callable[[float], str]:
        """Give the way to write the rewards of a comparison, also of one of groups that are too small."""
        if comparison.difference is not None:
            return self.numbers(comparison.difference)
        return writer(decimals(self.span, self.span))

    def numbers(self, found: GroupGap, finer: int = 0) -> Callable[[float], str]:
        """Give the way to write the rewards of a comparison: as many digits as mean something."""
        gap = found.gap
        digits = decimals(self.span, gap.high - gap.low)
        if gap.low > 0.0:  # and must not look like nothing
            digits = max(digits, min(6, math.ceil(-math.log10(gap.low))))
        return writer(digits + finer)


def shows(found: GroupGap) -> bool:
    """Whether a difference shows at the end of the log, and has for some time."""
    return found.timeline.since is not None and found.word in ("apart", "unfair")


def _by(comparisons: Sequence[Comparison], *words: str) -> str:
    return listed([comparison.name for comparison in comparisons if comparison.word in words], _MOST_NAMED)


def _whose(found: GroupGap, group: GroupGains) -> str:
    pairs = zip(found.attributes, group.labels, strict=True)
    return "whose " + " and whose ".join(f"{attribute} is {label}" for attribute, label in pairs)


def _shown(found: GroupGap) -> str | None:
    return f"It has shown {since(found.timeline.blocks, found.timeline.since or 0)}." if shows(found) else None


def _is_something(value: float, number: Callable[[float], str]) -> bool:
    return number(abs(value)) != number(0.0)


def _makes(value: float, number: Callable[[float], str]) -> str:
    if value < 0.0:
        return f"takes {number(-value)} off the difference"
    return f"makes {number(value)} of the difference"


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]
