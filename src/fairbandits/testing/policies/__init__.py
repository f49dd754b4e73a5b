"""A suite of checks that every policy must pass, whether built-in or custom; one module per aspect."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from fairbandits.policies import Policy
from fairbandits.testing.policies import (
    bad_input,
    choosing,
    learning,
    merging,
    parameters,
    persistence,
    probabilities,
    slates,
)
from fairbandits.testing.policies.subject import PolicySubject

__all__ = ["check_policy", "policy_checks"]

_ASPECTS = (parameters, choosing, probabilities, learning, merging, persistence, bad_input, slates)


def check_policy(policy: Policy) -> None:
    """Check that a policy behaves as this library promises.

    Parameters
    ----------
    policy : Policy
        An untrained policy. It is not modified; the checks use copies with the same parameters.

    Raises
    ------
    AssertionError
        If a check fails; the message describes the problem.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.testing import check_policy
    >>> check_policy(LinUCB(alpha=0.3))
    """
    for _, check in policy_checks(policy):
        check()


def policy_checks(policy: Policy) -> Iterator[tuple[str, Callable[[], None]]]:
    """Iterate over the checks and their names, for example for `pytest.mark.parametrize`.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.testing import policy_checks
    >>> checks = dict(policy_checks(LinUCB(alpha=0.3)))
    >>> len(checks) > 20
    True
    >>> checks["arms_come_and_go"]()  # raises AssertionError if the policy fails
    """
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be an instance of a subclass of Policy, got {policy!r}")
    subject = PolicySubject(policy)
    for aspect in _ASPECTS:
        for check in aspect.CHECKS:
            yield check.__name__.removeprefix("check_"), functools.partial(check, subject)
