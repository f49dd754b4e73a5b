"""The notes on the page: the log, the methods and the provenance."""

from __future__ import annotations

from dataclasses import asdict

from fairbandits.audit.audit import Audit
from fairbandits.audit.report.provenance import provenance
from fairbandits.views.text import confidence_percent


def describe_log(audit: Audit) -> str:
    """Describe the log, its size and the roles of its columns."""
    missing = f", {audit.missing:,} of them without a reward" if audit.missing else ""
    given = audit.roles.to_dict()
    roles = {role: given[role] for role in ("arm", "reward", "groups", "user", "time") if role in given}
    columns = "; ".join(
        f"{role} = {', '.join(names) if isinstance(names, list) else names}" for role, names in roles.items()
    )
    guessed = [role for role in roles if role in audit.guessed]
    guesses = f" Guessed from column names: {', '.join(guessed)}." if guessed else ""
    return f"{audit.name}: {audit.rows:,} decisions{missing}. Columns: {columns}.{guesses}"


def notes(audit: Audit) -> list[str]:
    """Return the notes on how to read the report."""
    low, high = audit.reward_range
    better = " Lower is better." if audit.settings.lower_is_better else ""
    lines = [
        "The reward gap is the difference in mean reward between groups (demographic parity of rewards). Missing "
        f"rewards are left out of means. Rewards lie between {low:g} and {high:g}.{better}",
        *(_sequential_notes(audit) if audit.settings.sequential else _fixed_sample_notes(audit)),
        "The decomposition is that of Kitagawa, Oaxaca and Blinder. The exposure of a group to an arm is the "
        "share of its rewards that came from the arm.",
        f"A group needs {audit.sentences.requirement} to be compared.",
        "A gap does not prove a cause: groups that differ in one attribute may differ in others as well.",
    ]
    if audit.settings.min_cell:
        lines.append(
            f"Groups and arms with fewer than {audit.settings.min_cell:,} {audit.sentences.user_name} are not "
            "shown. Others are suppressed if the small ones could be computed from them by subtraction."
        )
    return lines


def _fixed_sample_notes(audit: Audit) -> list[str]:
    confidence = confidence_percent(audit.settings.confidence)
    effective = (
        "The effective number of users is the number of equally active users that would give the same information."
    )
    return [
        "The intervals of means and gaps are fixed-sample intervals: Clopper-Pearson intervals with the effective "
        "number of users (Korn and Graubard), combined into intervals of differences by the method of variance "
        f"estimates recovery (MOVER). They hold jointly with {confidence} confidence, over all comparisons, "
        "groups and time windows, for one look at a finished log. For a log that is watched while it grows, use "
        "--sequential.",
        *([effective] if audit.sentences.user_name == "users" else []),
        "The most recent window is the last tenth of the period. A gap that is detected in a single window may "
        "have opened earlier, when it was too small to be detected.",
        "The intervals of the two effects are from a jackknife over 64 random folds of users. Those of the "
        "contributions of arms hold individually, not jointly.",
    ]


def _sequential_notes(audit: Audit) -> list[str]:
    confidence = confidence_percent(audit.settings.confidence)
    return [
        "The intervals of mean rewards and gaps are anytime-valid confidence sequences. They hold jointly and at "
        f"all times with {confidence} confidence: the error probability is divided over all comparisons and their "
        "groups (Bonferroni). They do not assume that decisions are independent. The intervals of the shares of "
        "missing rewards hold jointly with each other. Effects have no intervals, because these would be valid "
        "for a single look only.",
    ]


def provenance_rows(audit: Audit) -> dict[str, str]:
    """Return the provenance and the settings, keyed by name."""
    known = provenance(audit)
    return {
        "fairbandits": known["fairbandits"],
        "date": known["date"] or "not given",
        "log": known["log"],
        "rows": f"{known['rows']:,}",
        "hash of the data": f"SHA-256 {known['hash']}",
        "settings": ", ".join(f"{name} = {_format(value)}" for name, value in asdict(audit.settings).items()),
    }


def _format(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
