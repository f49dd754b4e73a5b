"""The width of confidence intervals, and bounds on the regret."""

from __future__ import annotations

import math


def alpha_from_delta(delta: float) -> float:
    """Return the constant alpha for which each interval holds with probability 1 - delta.

    `1 + sqrt(ln(2 / delta) / 2)`, Li et al. 2010.

    Examples
    --------
    >>> round(alpha_from_delta(0.05), 4)
    2.3581
    """
    _check_delta(delta)
    return 1.0 + math.sqrt(math.log(2.0 / delta) / 2.0)


def alpha_schedule(log_det: float, width: int, ridge: float, delta: float, theta_norm: float) -> float:
    """Return the current alpha of the shared model for which all intervals of all rounds hold simultaneously.

    Lemma 1 of the paper (Abbasi-Yadkori et al. 2011, Theorem 2), with noise that is 1-sub-Gaussian:
    `sqrt(ridge) * M + sqrt(2 log(det(A)^(1/2) * ridge^(-d/2) / delta))`.

    Parameters
    ----------
    log_det : float
        The current `log det A`.
    width : int
        d, the number of features.
    ridge : float
        The ridge penalty.
    delta : float
        The probability that any interval of any round fails.
    theta_norm : float
        M, a bound on the Euclidean norm of the true coefficients.

    Examples
    --------
    >>> round(alpha_schedule(log_det=0.0, width=3, ridge=1.0, delta=0.05, theta_norm=1.0), 4)
    3.4477
    """
    _check_delta(delta)
    _check_positive(width=width, ridge=ridge)
    _check_not_negative(theta_norm=theta_norm)
    # det(A) >= ridge^d always; rounding must not make the logarithm negative.
    growth = max(log_det - width * math.log(ridge), 0.0)
    return math.sqrt(ridge) * theta_norm + math.sqrt(growth + 2.0 * math.log(1.0 / delta))


def linucb_regret_bound(
    rounds: int, width: int, *, ridge: float, delta: float, context_norm: float, theta_norm: float
) -> float:
    """Return a bound on the regret of LinUCB (shared model) that holds with probability 1 - delta.

    Theorem 1 of the paper with gamma = 0.

    Examples
    --------
    >>> bound = linucb_regret_bound(1000, 5, ridge=1.0, delta=0.05, context_norm=1.0, theta_norm=1.0)
    >>> round(bound, 2)
    3086.6
    """
    return fair_linucb_regret_bound(
        rounds, width, gamma=0.0, ridge=ridge, delta=delta, context_norm=context_norm, theta_norm=theta_norm
    )


def fair_linucb_regret_bound(
    rounds: int,
    width: int,
    *,
    gamma: float,
    ridge: float,
    delta: float,
    context_norm: float,
    theta_norm: float,
) -> float:
    """Return a bound on the regret of Fair-LinUCB (shared model) that holds with probability 1 - delta.

    Theorem 1 of the paper. The lemma behind it needs `ridge >= max(1, context_norm**2)`.

    Parameters
    ----------
    rounds : int
        T.
    width : int
        d, the number of features.
    gamma : float
        The weight of the fairness penalty.
    ridge : float
        The ridge penalty.
    delta : float
        The probability with which the bound may fail.
    context_norm : float
        L, a bound on the Euclidean norm of every context.
    theta_norm : float
        M, a bound on the Euclidean norm of the true coefficients.

    Examples
    --------
    >>> setting = dict(ridge=1.0, delta=0.05, context_norm=1.0, theta_norm=1.0)
    >>> fair = fair_linucb_regret_bound(1000, 5, gamma=3.0, **setting)
    >>> fair / linucb_regret_bound(1000, 5, **setting)
    2.5
    """
    _check_delta(delta)
    _check_positive(rounds=rounds, width=width, ridge=ridge, context_norm=context_norm)
    _check_not_negative(gamma=gamma, theta_norm=theta_norm)
    if ridge < max(1.0, context_norm**2):
        raise ValueError(
            f"ridge must be at least max(1, context_norm**2) = {max(1.0, context_norm**2):g}, got {ridge:g}; "
            "raise ridge, "
            "or scale the contexts down"
        )
    growth = width * math.log(1.0 + rounds * context_norm**2 / (width * ridge))
    alpha = math.sqrt(ridge) * theta_norm + math.sqrt(2.0 * math.log(1.0 / delta) + growth)
    return math.sqrt(2.0 * rounds * growth) * (2.0 + gamma) * alpha


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be a number above 0 and below 1, got {delta!r}")


def _check_positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0.0 < number < math.inf:
            raise ValueError(f"{name} must be a number above 0, got {number!r}")


def _check_not_negative(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0.0 <= number < math.inf:
            raise ValueError(f"{name} must be a number of at least 0, got {number!r}")
