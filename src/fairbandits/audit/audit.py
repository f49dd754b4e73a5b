"""An audit of a log: who gained less, by how much, since when, how sure, and by which arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from fairbandits.audit import verdict
from fairbandits.audit.assessment import Settings, assess
from fairbandits.audit.counting import count_cells, merged
from fairbandits.audit.group_sums import compare
from fairbandits.audit.log_sums import MISSING, LogSums
from fairbandits.audit.report.sentences import AuditSentences
from fairbandits.audit.results import Comparison
from fairbandits.cluster import map_reduce
from fairbandits.fairness.group_rewards import as_range
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log, as_log
from fairbandits.logs.roles import Roles
from fairbandits.report.page import write_report


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What an audit of a log found; `print` it, `write` it, or read its parts.

    Attributes
    ----------
    name : str
        The log.
    roles : Roles
        Which of its columns played which role.
    guessed : mapping
        Those that were guessed.
    rows, missing : int
        How many decisions there are, and of how many the reward never came.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    settings : Settings
        How the audit was made.
    comparisons : tuple of Comparison
        What was found by each attribute and by their intersections.
    """

    name: str
    roles: Roles
    guessed: Mapping[str, Any]
    rows: int
    missing: int
    reward_range: tuple[float, float]
    settings: Settings
    comparisons: tuple[Comparison, ...]

    @property
    def status(self) -> int:
        """The verdict, as the command ends with it: 0 fair, 1 unfair, 3 too little data; 0 without a tolerance."""
        return verdict.status_of(self.comparisons, self.settings.tolerance)

    @property
    def foremost(self) -> Comparison:
        """The comparison to hear of first."""
        return verdict.foremost(self.comparisons)

    @property
    def sentence(self) -> str:
        """Who gained less, by how much, how sure, since when: for a person who is no statistician."""
        return self.words.about(self.foremost)

    @property
    def verdict(self) -> str | None:
        """Whether groups are within what is tolerated, in a sentence; None where nobody said what is."""
        return self.words.verdict(self.comparisons, self.status)

    @cached_property
    def words(self) -> AuditSentences:
        """The sentences about what was found."""
        settings = self.settings
        span = self.reward_range[1] - self.reward_range[0]
        return AuditSentences(settings.confidence, settings.tolerance, settings.min_rows, span)

    def __getitem__(self, attributes: str | tuple[str, ...]) -> Comparison:
        """Give the comparison by an attribute, or by several: `found["sex"]`, `found["sex", "race"]`."""
        wanted = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        for comparison in self.comparisons:
            if comparison.attributes == wanted:
                return comparison
        names = ", ".join(repr(comparison.name) for comparison in self.comparisons)
        raise KeyError(f"nothing was compared by {' x '.join(wanted)!r}; compared were {names}")

    def __repr__(self) -> str:
        return f"<audit of {self.name}: {self.rows:,} decisions, status {self.status}>"

    def __str__(self) -> str:
        return " ".join(filter(None, (self.sentence, self.verdict)))

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain values, as `audit.json` holds them."""
        from fairbandits.audit.report.serialisation import as_plain  # noqa: PLC0415 - it needs this class

        return as_plain(self)

    def write(self, folder: str | Path) -> Path:
        """Write `audit.html` and `audit.json` into a folder, each whole or not at all; give the page's path."""
        from fairbandits.audit.report.page import as_page  # noqa: PLC0415 - these need this class
        from fairbandits.audit.report.serialisation import as_plain  # noqa: PLC0415

        return write_report(Path(folder), "audit", as_page(self), as_plain(self))


def audit(
    log: Any,
    roles: Roles | None = None,
    *,
    tolerance: float | None = None,
    confidence: float = 0.95,
    min_rows: int = 100,
    reward_range: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    cluster: str | None = None,
    **named_roles: Any,
) -> Audit:
    """Audit a log: who gained less, by how much, since when, how sure are we, and which arms carry it.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or what `Log.open` takes.
    roles : Roles, optional
        Which column plays which role; what is left out is guessed from the names of columns.
    tolerance : float, optional
        How far apart the mean rewards of groups may be. With it there is a verdict.
    confidence : float
        The probability with which all intervals of mean rewards hold together.
    min_rows : int
        How many rewards a group needs to be compared.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    seed : int
        Where the randomness of the bootstrap comes from.
    cluster : str, optional
        Read the log on Dask: "local", or the address of a scheduler.
    **named_roles
        Roles one by one: `arm="video", groups=["sex", "race"]`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> sex, arm = rng.choice(["female", "male"], 5_000), rng.choice(["algebra", "biology"], 5_000)
    >>> reward = rng.random(5_000) < np.where((sex == "male") & (arm == "algebra"), 0.8, 0.5)
    >>> found = audit(pd.DataFrame({"arm": arm, "reward": reward * 1.0, "sex": sex}), tolerance=0.02)
    >>> gap = found["sex"].difference.gap
    >>> f"{gap.behind} gains {gap:.3f} less; 95% sure: {gap.low:.3f} to {gap.high:.3f}"
    'female gains 0.145 less; 95% sure: 0.068 to 0.221'
    >>> found.status, found.verdict
    (1, 'Unfair, with confidence: groups are not within 0.02 of each other by sex.')
    """
    settings = Settings(confidence, tolerance, min_rows, seed)
    bounds = as_range(reward_range)
    opened = as_log(log, roles, **named_roles)
    if not opened.roles.groups:
        raise LogError(
            f"{opened.name}: which columns are the groups of users? None is given, nor found by its name; "
            "name them: groups=[...] (--group)"
        )
    cells = map_reduce(opened.split, partial(count_cells, reward_range=bounds), merged, cluster)
    return _findings(opened, cells, settings)


def _findings(log: Log, cells: LogSums, settings: Settings) -> Audit:
    for attribute in log.roles.groups:
        groups = compare(cells, (attribute,)).labels
        if len(groups) < 2:
            found = f"one group only, {groups[0][0]!r}" if groups else "no group at all"
            raise LogError(
                f"{log.name}, column {attribute!r}: {found} in all {cells.rows:,} rows, and nobody to compare "
                "with; name columns with two groups or more: groups=[...] (--group)"
            )
    return Audit(
        name=log.name,
        roles=log.roles,
        guessed=log.guessed,
        rows=cells.rows,
        missing=int(cells.sums[:, MISSING].sum()),
        reward_range=cells.reward_range,
        settings=settings,
        comparisons=assess(cells, settings),
    )
