"""The results of certified learning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbandits.arms import ArmId
from fairbandits.ope.certification.family_selection import SelectionEstimates
from fairbandits.ope.certification.joint_test import JointTest
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.certification.user_split import PART_NAMES
from fairbandits.ope.group_index import GroupIndex
from fairbandits.ope.results import BoundedValue
from fairbandits.policies import Policy
from fairbandits.report.page import write_report
from fairbandits.views.short_repr import ShortRepr

#: The version of `learning.json`.
VERSION = 1

#: The name of the file to which a certified policy is written.
POLICY_FILE = "policy.safetensors"


@dataclass(frozen=True, eq=False, repr=False)
class FamilyMember(ShortRepr):
    """A member of the family, with its results on both parts of the log.

    Attributes
    ----------
    title : str
        A description of the policies' shares in words.
    mixture : Mixture
        The policy.
    selection : SelectionEstimates
        The estimates on the selection part, which decided whether and when the member was tested.
    test : JointTest or None
        The joint test on the certification part; None if the member was not tested.
    """

    title: str
    mixture: Mixture
    selection: SelectionEstimates
    test: JointTest | None

    @property
    def verdict(self) -> str:
        """`"certified"`, `"not certified"` or `"not tested"`."""
        if self.test is None:
            return "not tested"
        return "certified" if self.test.passes else "not certified"


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedLearning(ShortRepr):
    """The results of certified learning.

    Attributes
    ----------
    log : str
        The name of the log.
    tolerance, margin, confidence : float
        The conditions, and the confidence level at which a certified policy satisfies both.
    rows_read : int
        The number of rows of the log.
    rows : tuple of int
        The number of rows with a reward in each part: fitting, selection, certification.
    users : tuple of int, or None
        The number of users in each part; None if the log has no users, in which case each row counts as a user.
    groups : GroupIndex
        The groups.
    logged : BoundedValue
        The mean reward of the logging policy on the certification part.
    members : tuple of FamilyMember
        The family: first the members that were tested, in the order of testing, then the others.
    certified : FamilyMember or None
        The last member that passed the joint test; None if no member can be certified.
    policy : Policy
        The fitted policy that members mix with the logging policy.
    arms : tuple of ids
        The arms that the log shows. The fitted and the uniform policy choose among these.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fairbandits.ope import learn
    >>> frame = pd.DataFrame({"arm": ["a", "b"] * 2_000, "reward": [1, 0] * 2_000, "propensity": 0.5})
    >>> frame["sex"] = np.repeat(["f", "m"], 2_000)
    >>> result = learn(frame, tolerance=0.05)
    >>> result.status, result.certified.title, result.keeps_logging_policy
    (0, 'fitted policy for 100% of users with sex = f, 100% of users with sex = m', False)
    """

    log: str
    tolerance: float
    margin: float
    confidence: float
    rows_read: int
    rows: tuple[int, ...]
    users: tuple[int, ...] | None
    groups: GroupIndex
    logged: BoundedValue
    members: tuple[FamilyMember, ...]
    certified: FamilyMember | None
    policy: Policy
    arms: tuple[ArmId, ...]

    @property
    def status(self) -> int:
        """The exit status of the command: 0 if a policy was certified, otherwise 3."""
        return 3 if self.certified is None else 0

    @property
    def keeps_logging_policy(self) -> bool:
        """Whether the certified policy is the logging policy itself."""
        return self.certified is not None and self.certified.mixture.is_logging_policy

    def save(self, path: str | Path) -> None:
        """Save the fitted policy; its `metadata["mixture"]` holds the share of each group that it serves.

        Raises ValueError if there is no such policy, because either none was certified or the logging policy
        itself was.
        """
        if self.certified is None or self.keeps_logging_policy:
            raise ValueError("a policy can be saved only if one other than the logging policy was certified")
        self.policy.metadata["mixture"] = self.certified.mixture.to_dict(self.groups) | {"arms": list(self.arms)}
        self.policy.save(path)

    def _repr_html_(self) -> str:
        from fairbandits.ope.report.notebook import learning_html  # noqa: PLC0415 - imports this class

        return learning_html(self)

    def __str__(self) -> str:
        from fairbandits.ope.report.plain_text import learning_text  # noqa: PLC0415 - imports this class

        return learning_text(self)

    def write(self, folder: str | Path) -> Path:
        """Write `learning.html`, `learning.json` and, if there is one, the policy; return the path of the page."""
        from fairbandits.ope.report.learning_page import learning_page  # noqa: PLC0415 - not needed without a report

        page = write_report(Path(folder), "learning", learning_page(self), self.to_dict())
        if self.certified is not None and not self.keeps_logging_policy:
            self.save(Path(folder) / POLICY_FILE)
        return page

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values, as stored in `learning.json`."""
        return {
            "version": VERSION,
            "log": self.log,
            "tolerance": self.tolerance,
            "margin": self.margin,
            "confidence": self.confidence,
            "rows_read": self.rows_read,
            "rows": dict(zip(PART_NAMES, self.rows, strict=True)),
            "users": None if self.users is None else dict(zip(PART_NAMES, self.users, strict=True)),
            "logged_reward": self.logged.to_dict(),
            "certified": None if self.certified is None else self.certified.title,
            "family": [self._member_to_dict(member) for member in self.members],
        }

    def _member_to_dict(self, member: FamilyMember) -> dict[str, Any]:
        return {
            "title": member.title,
            "verdict": member.verdict,
            "shares": member.mixture.to_dict(self.groups),
            "selection": member.selection.to_dict(),
            "certification": None if member.test is None else member.test.to_dict(),
        }
