"""The results of certified learning in sentences, and the table of the family."""

from __future__ import annotations

from collections.abc import Iterator

from fairbandits.ope.certification.certified_learning import CertifiedLearning, FamilyMember
from fairbandits.ope.certification.user_split import PART_NAMES
from fairbandits.ope.results import Estimate
from fairbandits.report.phrases import capitalise, describe_users
from fairbandits.views.text import confidence_label, confidence_percent, number_formatter

#: The columns of the family table: first the selection part, then the certification part.
HEADERS = (
    "selection: reward",
    "gap",
    "change",
    "verdict",
    "certification: reward",
    "gap",
    "change",
)
#: Notes on how to read the report.
NOTES = (
    "Every policy of the family draws one of three policies at random for each user: a policy fitted to the log, "
    "the logging policy, or a uniform choice among the arms of the log. The shares may differ by group.",
    "The users were split at random into three parts. A policy was fitted on the first. The second determined the "
    "shares, which policies of the family to test, and in which order. The third was used only for the tests.",
    "Policies were tested from the one most likely to pass to the one with the highest predicted reward, until "
    "one failed. The last one that passed is certified. The confidence holds for the whole procedure.",
    "A gap is the difference in mean reward between two groups. A change is the mean reward of a group minus that "
    "of the worst-off group under the logging policy. A test passes if every gap is within the tolerance and no "
    "change is below minus the margin, each with its one-sided bound. The table shows the largest gap and the "
    "smallest change: estimates on the selection part, intervals on the certification part.",
    "A gap can be closed by giving more to the disadvantaged group or less to the advantaged one. Lower shares of "
    "the fitted policy, and shares of the uniform policy, level down. The second condition protects the worst-off "
    "group; of the policies that pass, the one with the highest predicted reward levels down least.",
)


class LearningSentences:
    """Sentences about one result of certified learning.

    Parameters
    ----------
    result : CertifiedLearning
        The result.
    """

    def __init__(self, result: CertifiedLearning) -> None:
        self._result = result
        self.number = number_formatter(4)

    def headline(self) -> str:
        """State which policy was certified, or that none was."""
        result = self._result
        wanted = (
            f"a gap within {result.tolerance:g} and a worst-off group that loses at most {result.margin:g} "
            f"({confidence_percent(result.confidence)} confidence)"
        )
        if result.certified is None:
            return f"No policy of the family can be certified to have {wanted}. {self._reason()}"
        if result.keeps_logging_policy:
            return f"Keep the logging policy: it is certified to have {wanted}, and no better policy is."
        return f"Certified to have {wanted}: {result.certified.title}. The logging policy serves all other users."

    def _reason(self) -> str:
        tested = [member for member in self._result.members if member.test is not None]
        if tested:
            most_likely = f"The policy that was most likely to pass the test, {tested[0].title}, failed it."
            return f"{most_likely} Collect more data, or accept a wider gap."
        return "None was expected to pass the test. Collect more data, or accept a wider gap."

    def details(self) -> Iterator[str]:
        """Yield sentences on the certified policy's reward, gap and change on the certification part."""
        member = self._result.certified
        if member is None or member.test is None:
            return
        test, gap = member.test, member.test.largest_gap
        name = confidence_label(test.reward.confidence)
        logged = f"{self.number(self._result.logged.value)} under the logging policy"
        yield f"Mean reward: {self.number(test.reward.value)} ({name}: {self.interval(test.reward)}); {logged}."
        first, second = describe_users([gap.attribute], [gap.first], [gap.second])
        yield (
            f"{capitalise(first)} would receive {self._more(gap.estimate)} than {second} ({name} for the gap: "
            f"{self.interval(gap.estimate)})."
        )
        if (change := test.smallest_change) is not None:
            group, reference = describe_users([change.attribute], [change.group], [change.reference])
            yield (
                f"{capitalise(group)} would receive {self._more(change.estimate)} than {reference} under the "
                f"logging policy ({name}: {self.interval(change.estimate)})."
            )

    def _more(self, estimate: Estimate) -> str:
        return f"{self.number(abs(estimate.value))} {'more' if estimate.value >= 0.0 else 'less'}"

    def split(self) -> str:
        """State the sizes of the parts."""
        result = self._result
        sizes = [f"{rows:,} decisions" for rows in result.rows]
        note = "the log has no users, so decisions count as independent"
        if result.users is not None:
            sizes = [f"{users:,} users ({size})" for users, size in zip(result.users, sizes, strict=True)]
            note = "no user is in two parts"
        return f"{', '.join(f'{size} for {name}' for size, name in zip(sizes, PART_NAMES, strict=True))}; {note}."

    def cells(self, member: FamilyMember) -> list[str]:
        """Return the row of a member in the table of the family."""
        selection, test = member.selection, member.test
        cells = [self.number(value) for value in (selection.reward, selection.gap, selection.change)]
        if test is None:
            return [*cells, member.verdict, "", "", ""]
        change = test.smallest_change
        estimates = [test.reward, test.largest_gap.estimate, None if change is None else change.estimate]
        return [*cells, member.verdict, *("none" if each is None else self.interval(each) for each in estimates)]

    def interval(self, estimate: Estimate) -> str:
        """Return the confidence interval of an estimate."""
        return f"{self.number(estimate.low)} to {self.number(estimate.high)}"
