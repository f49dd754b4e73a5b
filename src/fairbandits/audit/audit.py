"""The audit of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbandits.audit import verdict
from fairbandits.audit.aggregation import aggregate_log, aggregate_units, merged
from fairbandits.audit.comparison import compare_all
from fairbandits.audit.further_analyses import add_further_analyses
from fairbandits.audit.grouped_sums import group_by
from fairbandits.audit.log_checks import LogChecks, check_rows
from fairbandits.audit.log_sums import MISSING, LogSums
from fairbandits.audit.report.provenance import parse_date
from fairbandits.audit.report.sentences import AuditSentences
from fairbandits.audit.report.suppression import Suppression
from fairbandits.audit.results import Comparison
from fairbandits.audit.settings import MIN_ROWS, AuditSettings
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.windows import Windows
from fairbandits.cluster import map_reduce
from fairbandits.fairness.group_rewards import as_range
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log, as_log
from fairbandits.logs.roles import Roles
from fairbandits.report.page import write_report
from fairbandits.views.text import counted, shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The results of an audit; `print` them, `write` them to a folder, or read the attributes.

    Attributes
    ----------
    name : str
        The name of the log.
    roles : Roles
        The roles of its columns.
    guessed : mapping
        The roles that were guessed.
    rows, missing : int
        The number of decisions, and the number of decisions without a reward.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    settings : AuditSettings
        The settings.
    comparisons : tuple of Comparison
        The comparisons by each attribute and by their intersections.
    has_users : bool
        Whether the log identifies users; always False for a sequential audit.
    checks : LogChecks
        The problems found with the rows of the log.
    fingerprint : str
        A hash of the data (SHA-256).
    date : str or None
        The date of the audit, if it was given.
    note : str or None
        A remark on the rows of the log, for example on decisions that are missing from it.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbandits.audit import audit
    >>> frame = pd.DataFrame({"arm": ["a", "b"] * 200, "reward": [1, 1, 0, 1] * 100, "sex": ["f", "m"] * 200})
    >>> result = audit(frame, tolerance=0.05)
    >>> result
    <Audit of dataframe: 400 decisions, status 1>
    >>> result.status, f"{result['sex'].analysis.gap:.2f}", result["sex"].analysis.disadvantaged.name
    (1, '0.50', 'f')
    """

    name: str
    roles: Roles
    guessed: Mapping[str, Any]
    rows: int
    missing: int
    reward_range: tuple[float, float]
    settings: AuditSettings
    comparisons: tuple[Comparison, ...]
    has_users: bool
    checks: LogChecks
    fingerprint: str
    date: str | None = None
    note: str | None = None

    @property
    def status(self) -> int:
        """The verdict as an exit status: 0 fair, 1 unfair, 3 undecided; 0 without a tolerance."""
        return verdict.exit_status(self.comparisons, self.settings)

    @property
    def headline(self) -> Comparison:
        """The comparison to report first."""
        return verdict.headline(self.comparisons)

    @property
    def sentence(self) -> str:
        """The gap of the headline comparison, its interval, and how long it has been detectable."""
        return self.sentences.summary(self.headline)

    @property
    def verdict(self) -> str | None:
        """The verdict in a sentence; None without a tolerance."""
        return self.sentences.verdict(self.comparisons, self.status)

    @cached_property
    def sentences(self) -> AuditSentences:
        """Sentences about the results."""
        span = self.reward_range[1] - self.reward_range[0]
        suppression = Suppression(self.comparisons, self.settings.min_cell)
        return AuditSentences(self.settings, span, self.has_users, suppression, self.reward_range[0])

    def __getitem__(self, attributes: str | tuple[str, ...]) -> Comparison:
        """Return a comparison: `result["sex"]`, `result["sex", "race"]` or, by name, `result["sex x race"]`."""
        wanted = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        for comparison in self.comparisons:
            if wanted in (comparison.attributes, (comparison.name,)):
                return comparison
        names = ", ".join(repr(comparison.name) for comparison in self.comparisons)
        raise KeyError(f"there is no comparison by {' x '.join(wanted)!r}; the comparisons are by {names}")

    def __repr__(self) -> str:
        return f"<Audit of {shorten_name(self.name, 60)}: {self.rows:,} decisions, status {self.status}>"

    def _repr_html_(self) -> str:
        from fairbandits.audit.report.notebook import audit_html  # noqa: PLC0415 - imports this class

        return audit_html(self)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        attributes: str | tuple[str, ...] | None = None,
        over_time: bool = False,
    ) -> Axes:
        """Plot the mean reward of each group with its confidence interval, or the gap over time; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; by default those of a new figure.
        attributes : str or tuple of str, optional
            The comparison to plot, as in `result["sex"]`; by default the headline comparison.
        over_time : bool
            Whether to plot the gap in each window of time or, with anytime-valid intervals, the cumulative means.
        """
        from fairbandits.audit.report.notebook import plot_audit  # noqa: PLC0415 - imports this class

        return plot_audit(self, ax, attributes, over_time)

    def __str__(self) -> str:
        from fairbandits.audit.report.plain_text import audit_text  # noqa: PLC0415 - imports this class

        return audit_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values, as stored in `audit.json`."""
        from fairbandits.audit.report.serialisation import audit_to_dict  # noqa: PLC0415 - imports this class

        return audit_to_dict(self)

    def write(self, folder: str | Path) -> Path:
        """Write `audit.html` and `audit.json` into a folder, atomically; return the path of the page."""
        from fairbandits.audit.report.page import audit_page  # noqa: PLC0415 - imports this class

        return write_report(Path(folder), "audit", audit_page(self), self.to_dict())


def audit(
    log: Any,
    roles: Roles | None = None,
    *,
    tolerance: float | None = None,
    confidence: float = 0.95,
    sequential: bool = False,
    min_rows: int = MIN_ROWS,
    max_unassessed: float = 0.01,
    lower_is_better: bool = False,
    min_cell: int = 0,
    date: str | None = None,
    reference: str | Sequence[str] = (),
    impact_ratios: bool = False,
    reward_range: tuple[float, float] = (0.0, 1.0),
    cluster: str | None = None,
    **named_roles: Any,
) -> Audit:
    """Audit a log: compare the mean rewards of groups, now and over the whole log, with confidence intervals.

    A finished log gets fixed-sample intervals, cluster-robust over users if the log has a user column. A log that
    is being watched while it grows needs `sequential=True`, which yields anytime-valid intervals for the rounds so
    far.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or a source that `Log.open` accepts.
    roles : Roles, optional
        The roles of the columns; if omitted, they are guessed from the column names.
    tolerance : float, optional
        The largest gap that is tolerated. Only with a tolerance does the audit give a verdict.
    confidence : float
        The joint confidence level of all intervals.
    sequential : bool
        Whether to use anytime-valid intervals.
    min_rows : int
        The number of rewards that a group must have to be compared, if `sequential`.
    max_unassessed : float
        The largest share of users that may be unassessed for a verdict of "fair".
    lower_is_better : bool
        Whether rewards are harms.
    min_cell : int
        The number of users below which a group, overall or within an arm, is neither compared nor shown.
    date : str, optional
        The date of the audit, as in 2026-11-16, or "today". By default the report has no date, so that the same
        log always produces the same files.
    reference : str or sequence of str
        The groups with which the others are compared, at most one per attribute; by default the advantaged groups.
    impact_ratios : bool
        Whether to report impact ratios, as required by New York City's Local Law 144, and the four-fifths rule.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    cluster : str, optional
        The Dask cluster on which to read the log: "local", or the address of a scheduler.
    **named_roles
        Individual roles: `arm="video", groups=["sex", "race"]`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> sex, arm = rng.choice(["female", "male"], 5_000), rng.choice(["algebra", "biology"], 5_000)
    >>> reward = rng.random(5_000) < np.where((sex == "male") & (arm == "algebra"), 0.8, 0.5)
    >>> result = audit(pd.DataFrame({"arm": arm, "reward": reward * 1.0, "sex": sex}), tolerance=0.02)
    >>> gap = result["sex"].analysis.gap
    >>> f"gap {gap:.3f}, 95% CI [{gap.low:.3f}, {gap.high:.3f}]"
    'gap 0.145, 95% CI [0.113, 0.176]'
    >>> result.status, result.verdict.split(":")[0]
    (1, 'Unfair (95% confidence)')
    """
    named = (reference,) if isinstance(reference, str) else tuple(reference)
    settings = AuditSettings(
        confidence,
        tolerance,
        sequential,
        min_rows,
        max_unassessed,
        lower_is_better,
        min_cell,
        named,
        impact_ratios,
    )
    day = parse_date(date)
    bounds = as_range(reward_range)
    opened = as_log(log, roles, **named_roles)
    if not opened.roles.groups:
        raise LogError(
            f"{opened.name}: no group column is given or recognised by its name; set groups=[...] (--group)"
        )
    if sequential and opened.roles.given:
        raise ValueError("given must not be set with sequential; adjusted gaps need a finished log")
    if min_cell and opened.roles.given:
        raise ValueError(
            "given must not be set with min_cell (--min-cell); adjusted gaps would reveal small groups"
        )
    sums = map_reduce(opened.split, partial(aggregate_log, reward_range=bounds), merged, cluster)
    _check_groups(opened, sums)
    windows = Windows.covering(sums.blocks, sums.times.period())
    units: UnitSums | None = None
    if not sequential:
        aggregate = partial(aggregate_units, windows=windows, lowest=bounds[0])
        units = map_reduce(opened.split, aggregate, merged, cluster)
    comparisons = compare_all(sums, units, windows, settings)
    if units is not None:
        comparisons = add_further_analyses(comparisons, opened, (sums, units), settings, cluster)
    return Audit(
        name=opened.name,
        roles=opened.roles,
        guessed=opened.guessed,
        rows=sums.rows,
        missing=int(sums.sums[:, MISSING].sum()),
        reward_range=sums.reward_range,
        settings=settings,
        comparisons=comparisons,
        has_users=units is not None and units.n_known > 0,
        checks=check_rows(opened, sums, units, comparisons),
        fingerprint=opened.fingerprint().sha256,
        date=day,
        note=opened.note,
    )


def _check_groups(log: Log, sums: LogSums) -> None:
    for attribute in log.roles.groups:
        groups = group_by(sums, (attribute,)).labels
        if len(groups) < 2:
            found = f"only {groups[0][0]!r}" if groups else "none"
            raise LogError(
                f"{log.name}, column {attribute!r}: a comparison needs at least two groups, got {found} in "
                f"{counted(sums.rows, 'row')}; set groups=[...] (--group)"
            )
