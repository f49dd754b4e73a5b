"""Diagnostics of an evaluation: warnings about the log and about the estimates of each policy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairbandits.ope.candidates.own_policies import PolicyCandidate, own_candidates
from fairbandits.ope.checks import drift_check
from fairbandits.ope.checks.propensity_check import LEVEL, PropensityMismatch
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.group_index import OVERALL
from fairbandits.ope.log_summary import LogSummary
from fairbandits.ope.passes import FirstPass
from fairbandits.ope.policy_sums import MIN_EFFECTIVE_ROWS, PolicySums
from fairbandits.ope.results import ESTIMATOR_NAMES, HEADLINES, PolicyEvaluation
from fairbandits.report.phrases import describe_users
from fairbandits.views.text import percent

# Below this effective sample size, the coverage of intervals is less than their nominal confidence level.
_FEW_ROWS = 100
# The smallest share of unsupported rows for which a warning is given.
_UNSUPPORTED_SHARE = 0.01
# The smallest share of the rows for which a single user is mentioned.
_LARGE_SHARE = 0.1


def log_warnings(setup: EvaluationSetup, first: FirstPass, learning: bool, model_is_too_large: bool) -> list[str]:
    """Return warnings about the log."""
    summary = first.summary
    warnings = [*_propensity_warnings(setup, first, learning), *_missing_reward_warnings(setup, summary)]
    if model_is_too_large:
        warnings.append(
            f"With {len(setup.survey.arms):,} arms and {setup.encoders[0].width:,} features the reward model "
            "would take more than 1 GiB, so the direct method and doubly robust are left out."
        )
    if learning and summary.min_propensity < summary.max_propensity:
        warnings.append(
            "The logging policy was not uniform, so rows on which a policy agrees with the log are accepted with "
            f"probability {summary.min_propensity:.2g} / propensity (rejection sampling)."
        )
    for attribute in setup.survey.groups.attributes:
        numbers = setup.survey.groups.numbers(attribute)
        unknown = summary.rows[OVERALL] - summary.rows[list(numbers.values())].sum()
        if unknown:
            share = percent(unknown / summary.rows[OVERALL])
            warnings.append(f"{attribute} is unknown in {share} of the rows, which count in no group.")
        if len(numbers) < 2:
            warnings.append(f"{attribute} has only one group, so there is no gap to evaluate.")
    return warnings


def training_warnings(summary: LogSummary, candidate: PolicyCandidate) -> Iterator[str]:
    """Yield a warning if a trained policy may have been trained on the evaluation rows."""
    if not candidate.is_trained:
        return
    learned = candidate.policy.rounds_learned
    if learned == summary.n_rewards and not summary.training_rows:
        yield (
            f"{candidate.title} has learned from {learned:,} rewards, as many as the log has: it was probably "
            "trained on the evaluation rows, which biases its estimates upwards. Evaluate it on other rows."
        )
    else:
        yield (
            f"{candidate.title} was trained on {learned:,} rewards. If rows of this log are among them, its "
            "estimates are biased upwards."
        )


def fairness_warnings(setup: EvaluationSetup) -> Iterator[str]:
    """Yield a warning about policies whose fairness term depends on past rewards of groups."""
    titles = [each.title for each in own_candidates(setup.candidates) if each.has_fairness_term]
    if titles:
        yield (
            f"{', '.join(titles)}: the fairness term depends on the past rewards of groups, and is evaluated "
            "as it was before the first evaluation row. Online it would change as the gap changes. Use "
            "--learning to evaluate policies while they learn."
        )


def policy_warnings(
    setup: EvaluationSetup, first: FirstPass, result: PolicyEvaluation, sums: PolicySums
) -> list[str]:
    """Return warnings about the estimates of a policy."""
    warnings = [*_support_warnings(setup, result, sums), *sample_size_warnings(result)]
    warnings += _clipping_warnings(setup, first.summary, result, sums)
    if result.mean_weight is not None:
        warnings += _drift_warnings(setup, result, sums)
    if result.mean_weight is not None and setup.settings.clip is None:
        warnings += _weight_warnings(setup, result, sums)
    return warnings


def sample_size_warnings(result: PolicyEvaluation) -> Iterator[str]:
    """Yield warnings about groups with few effective rows."""
    sizes = [("overall", result.effective_rows.overall)]
    for attribute, groups in result.effective_rows.by_group.items():
        sizes += [(f"{attribute} {label}", rows) for label, rows in groups.items()]
    none = [f"{name} {rows:,.0f}" for name, rows in sizes if rows < MIN_EFFECTIVE_ROWS]
    few = [f"{name} {rows:,.0f}" for name, rows in sizes if MIN_EFFECTIVE_ROWS <= rows < _FEW_ROWS]
    # The headline's intervals hold at any sample size.
    others = [name for name in ESTIMATOR_NAMES if name in result.estimates and name not in HEADLINES]
    which = ", ".join(ESTIMATOR_NAMES[name] for name in others)
    if none:
        yield (
            f"{result.title}: fewer than {MIN_EFFECTIVE_ROWS} effective rows: {', '.join(none)}. There is no "
            f"estimate by {which}."
        )
    if few:
        yield (
            f"{result.title}: fewer than {_FEW_ROWS} effective rows: {', '.join(few)}. The intervals of {which} "
            "are too narrow there."
        )


def _propensity_warnings(setup: EvaluationSetup, first: FirstPass, learning: bool) -> Iterator[str]:
    summary = first.summary
    if not setup.has_propensities:
        consequence = "" if learning else ", so IPS, SNIPS and doubly robust are not available"
        yield (
            f"The log has no propensities{consequence}. Replay is valid only if the logging policy was "
            "uniform; if it was, declare it (--uniform)."
        )
        return
    if setup.settings.estimate_propensities:
        yield (
            "The propensities are estimated from the log, by a logistic regression of the arm on the user's "
            "features and groups. Estimates are biased if the logging policy used anything that the log does not "
            "contain, and the intervals do not include the error of the propensities."
        )
    if (mismatch := first.check.mismatch()) is not None:
        yield f"The propensities do not fit the log: {_mismatch(setup, mismatch)}"
    if summary.n_small_propensities:
        yield (
            f"{percent(summary.n_small_propensities / summary.n_rewards)} of the propensities are below "
            f"{summary.small_propensity:.2g}; the smallest is {summary.min_propensity:.2g}, so a single row can "
            f"have a weight of {1.0 / summary.min_propensity:,.0f}. Check the effective rows, or limit the "
            "weights (--clip)."
        )
    if not learning and summary.max_propensity - summary.min_propensity > 1e-9:
        yield "Propensities vary, so the logging policy was not uniform: replay is biased, use other estimators."


def _mismatch(setup: EvaluationSetup, mismatch: PropensityMismatch) -> str:
    """Describe the mismatch and its consequences."""
    if mismatch.arm is None:
        ratio = mismatch.share / mismatch.expected
        what = f"arms were chosen {ratio:.2g} times as often as the propensities imply."
    else:
        arm = repr(setup.survey.arms[mismatch.arm])
        what = f"{arm} was chosen in {mismatch.share:.1%} of the rows, but they imply {mismatch.expected:.1%}."
    if mismatch.share > mismatch.expected:
        return (
            f"{what} They are not the probabilities with which arms were chosen, so estimates that use them are "
            "not valid."
        )
    return (
        f"{what} Either they are too large, and estimates that use them are not valid, or arms were not offered "
        "to all users; the propensities of all arms would show which (--propensities)."
    )


def _missing_reward_warnings(setup: EvaluationSetup, summary: LogSummary) -> Iterator[str]:
    if not summary.missing[OVERALL]:
        return
    shares = [
        f"{attribute} {label} {summary.missing[group] / summary.rows[group]:.1%}"
        for attribute, label, group in setup.survey.groups.items()
        if summary.rows[group]
    ]
    by_group = f" ({', '.join(shares)})" if shares else ""
    yield (
        f"{percent(summary.missing[OVERALL] / summary.rows[OVERALL])} of the rows have no reward and are left out"
        f"{by_group}. Estimates are biased if rewards are not missing at random."
    )


def _support_warnings(setup: EvaluationSetup, result: PolicyEvaluation, sums: PolicySums) -> Iterator[str]:
    is_warned = False
    for users, group in _user_groups(setup) if sums.knows_all_arms else ():
        share = sums.never_shown(group)
        # A warning about all users also covers their groups.
        if share < _UNSUPPORTED_SHARE or is_warned:
            continue
        is_warned = group == OVERALL
        never = np.flatnonzero(sums.arm_counts[group] == 0)
        arms = [repr(setup.survey.arms[i]) for i in never[np.argsort(-sums.arm_probabilities[group][never])]]
        examples = f" ({', '.join(arms[:3])}{', ...' if len(arms) > 3 else ''})" if arms else ""
        yield (
            f"{result.title} would choose arms that the log never shows to {users} in {share:.1%} of the rows"
            f"{examples}, so their value is not identified. The headline counts it as unknown, IPS as zero; "
            "SNIPS leaves these rows out, and the direct method and doubly robust extrapolate."
        )


def _weight_warnings(setup: EvaluationSetup, result: PolicyEvaluation, sums: PolicySums) -> Iterator[str]:
    groups = list(_user_groups(setup))
    # Bonferroni over all groups of all policies
    level = LEVEL / (len(groups) * len(setup.candidates))
    many = (
        "Either the propensities are not those of the logging policy, or the probabilities are not those of this "
        "policy, so its estimates are not valid."
    )
    few = (
        "Either the policy chooses arms that the log does not show, whose rewards count as unknown, or the "
        "propensities or the probabilities are wrong, and its estimates are not valid."
    )
    tables = sums.tables
    for users, group in groups:
        mean, expected = tables.mean_weight(group), tables.expected_weight(group)
        if tables.weight_p_value(group) < level:
            yield (
                f"{result.title}: the mean weight of {users} is {mean:.3f}, but {expected:.3f} "
                f"is expected. {few if mean < expected else many}"
            )
            return


def _drift_warnings(setup: EvaluationSetup, result: PolicyEvaluation, sums: PolicySums) -> Iterator[str]:
    drift = sums.drift()
    if drift is not None and drift.p_value < drift_check.LEVEL / len(setup.candidates):
        low, high = setup.settings.reward_range
        earlier, later = (low + (high - low) * value for value in (drift.earlier, drift.later))
        yield (
            f"{result.title}: the value changes within the log, from {earlier:.3g} in the earlier half to "
            f"{later:.3g} in the later one. The estimates are averages over the whole log, and may not hold for "
            "the future."
        )


def user_warnings(setup: EvaluationSetup, sums: PolicySums) -> Iterator[str]:
    """Yield a warning if one user makes up much of the log."""
    share = sums.largest_share() if setup.log.roles.user is not None else 0.0
    if share > _LARGE_SHARE:
        yield f"One user accounts for {share:.0%} of the decisions, so the log says little about other users."


def _clipping_warnings(
    setup: EvaluationSetup, summary: LogSummary, result: PolicyEvaluation, sums: PolicySums
) -> Iterator[str]:
    if sums.n_clipped:
        lost = sums.clipped_weight / summary.n_rewards
        yield (
            f"{result.title}: clipping at {setup.settings.clip:g} reduced "
            f"{percent(sums.n_clipped / summary.n_rewards)} of the weights, and the mean weight by "
            f"{lost:.3f}. With rewards between 0 and 1, IPS is too low by up to {lost:.3f}; its interval does "
            "not include this bias."
        )


def _user_groups(setup: EvaluationSetup) -> Iterator[tuple[str, int]]:
    yield "users", OVERALL
    for attribute, label, group in setup.survey.groups.items():
        yield describe_users([attribute], [label])[0], group
