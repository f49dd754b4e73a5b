"""Off-policy estimators for slates with a reward per position, on plain arrays.

A slate is a list of arms that were shown together; the arm at position l received the reward `r_l`, for example a
click. The value of a policy is the mean reward of a slate, `E[sum over l of c_l r_l]`, with position weights `c_l`
that are 1 unless the `SlateLog` specifies others.

The estimators differ in the event whose probabilities are compared by the importance weight `w_l = pi / p`, and
therefore in their assumptions about users:

======================  ===============================  =======================================================
estimator               probability of                   unbiased if the reward of a position depends at most on
======================  ===============================  =======================================================
standard IPS            the whole slate                  the whole slate
reward-interaction IPS  the arms from position 0 to l    the arms from position 0 to l (cascade)
cascade doubly robust   the arms from position 0 to l    the arms from position 0 to l (cascade)
independent IPS         the arm at position l            the arm at position l
======================  ===============================  =======================================================

A stronger assumption gives smaller weights and less variance. Self-normalised variants (SNIPS) divide by the sum
of the weights instead of their number.

Each function returns terms with one entry per slate, in ascending order of the ids, so rows of the same slate
never count as independent. Groups are given per slate (`SlateLog.per_slate`).

References: Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen, *Offline evaluation of ranking policies with
click models*, KDD 2018 (independent IPS); McInerney, Brost, Chandar, Mehrotra and Carterette, *Counterfactual
evaluation of slate recommendations with sequential reward interactions*, KDD 2020 (reward-interaction IPS);
Kiyohara, Saito, Matsuhiro, Narita, Shimizu and Yamamoto, *Doubly robust off-policy evaluation for ranking policies
under the cascade behavior model*, WSDM 2022 (cascade doubly robust); Swaminathan and Joachims, *The
self-normalized estimator for counterfactual learning*, NIPS 2015 (self-normalisation).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairbandits.ope.array_validation import Floats, as_columns, check_lengths, first_where
from fairbandits.ope.estimator_sums import EstimatorTerms
from fairbandits.ope.estimators import direct_method, ips_terms, snips_terms
from fairbandits.ope.slates.slate_log import SlateLog
from fairbandits.ope.slates.slate_terms import SelfNormalisedSlateTerms, self_normalise


def standard_ips(log: SlateLog, probability: ArrayLike, propensity: ArrayLike) -> EstimatorTerms:
    """Return the terms of whole-slate inverse propensity scoring: `mean(w (sum over l of c_l r_l))`.

    Parameters
    ----------
    log : SlateLog
        The slates and their rewards.
    probability, propensity : arrays of shape (n_rows,)
        The probabilities with which the evaluated policy would have chosen, and the logging policy chose, the
        whole slate in this order: the same number in all rows of a slate.

    Examples
    --------
    >>> log = SlateLog(slate=[1, 1, 2, 2], position=[0, 1, 0, 1], reward=[1, 1, 0, 1])
    >>> terms = standard_ips(log, probability=[0.5, 0.5, 0.1, 0.1], propensity=[0.25, 0.25, 0.5, 0.5])
    >>> terms.numerator, terms.value()
    (array([4. , 0.2]), 2.1)
    """
    return ips_terms(_slate_weights(log, probability, propensity), log.slate_rewards())


def standard_snips(log: SlateLog, probability: ArrayLike, propensity: ArrayLike) -> EstimatorTerms:
    """Return the terms of self-normalised whole-slate IPS: `sum(w (sum over l of c_l r_l)) / sum(w)`.

    The parameters are those of `standard_ips`.

    Examples
    --------
    >>> log = SlateLog(slate=[1, 1, 2, 2], position=[0, 1, 0, 1], reward=[1, 1, 0, 1])
    >>> round(standard_snips(log, [0.5, 0.5, 0.1, 0.1], [0.25, 0.25, 0.5, 0.5]).value(), 6)
    1.909091
    """
    return snips_terms(_slate_weights(log, probability, propensity), log.slate_rewards())


def independent_ips(log: SlateLog, probability: ArrayLike, propensity: ArrayLike) -> EstimatorTerms:
    """Return the terms of independent inverse propensity scoring: `mean(sum over l of w_l c_l r_l)`.

    Parameters
    ----------
    log : SlateLog
        The slates and their rewards.
    probability, propensity : arrays of shape (n_rows,)
        The probabilities with which the evaluated policy would have placed, and the logging policy placed, this
        arm at this position, summed over the arms at all other positions.

    Examples
    --------
    >>> log = SlateLog(slate=[1, 1, 2, 2], position=[0, 1, 0, 1], reward=[1, 1, 0, 1])
    >>> terms = independent_ips(log, probability=[1.0, 0.5, 0.2, 0.2], propensity=[0.5, 0.5, 0.8, 0.5])
    >>> terms.numerator, terms.value()
    (array([3. , 0.4]), 1.7)
    """
    w = log.weights(probability, propensity)
    return _sum_over_positions(log, w * log.weighted_reward(), w)


def independent_snips(log: SlateLog, probability: ArrayLike, propensity: ArrayLike) -> SelfNormalisedSlateTerms:
    """Return the terms of self-normalised independent IPS: `sum over l of c_l sum(w_l r_l) / sum(w_l)`.

    If slates have different lengths, position l is weighted by the share of the slates that have it. The
    parameters are those of `independent_ips`.

    Examples
    --------
    >>> log = SlateLog(slate=[1, 1, 2, 2], position=[0, 1, 0, 1], reward=[1, 1, 0, 1])
    >>> round(independent_snips(log, [1.0, 0.5, 0.2, 0.2], [0.5, 0.5, 0.8, 0.5]).value(), 6)
    1.888889
    """
    w = log.weights(probability, propensity)
    return self_normalise(log.rows, w, log.reward, log.position_weight)


def reward_interaction_ips(log: SlateLog, probability: ArrayLike, propensity: ArrayLike) -> EstimatorTerms:
    """Return the terms of reward-interaction inverse propensity scoring: `mean(sum over l of w_l c_l r_l)`.

    Parameters
    ----------
    log : SlateLog
        The slates and their rewards.
    probability, propensity : arrays of shape (n_rows,)
        The probabilities with which the evaluated policy would have chosen, and the logging policy chose, the arms
        from position 0 to this one: the products of the conditional probabilities.

    Examples
    --------
    >>> log = SlateLog(slate=[1, 1, 2, 2], position=[0, 1, 0, 1], reward=[1, 1, 0, 1])
    >>> terms = reward_interaction_ips(log, probability=[1.0, 0.5, 0.2, 0.1], propensity=[0.5, 0.25, 0.8, 0.4])
    >>> terms.numerator, terms.value()
    (array([4.  , 0.25]), 2.125)
    """
    w = log.weights(probability, propensity, log.rows.check_prefix)
    return _sum_over_positions(log, w * log.weighted_reward(), w)


def reward_interaction_snips(
    log: SlateLog, probability: ArrayLike, propensity: ArrayLike
) -> SelfNormalisedSlateTerms:
    """Return the terms of self-normalised reward-interaction IPS: `sum over l of c_l sum(w_l r_l) / sum(w_l)`.

    Different slate lengths are treated as in `independent_snips`. The parameters are those of
    `reward_interaction_ips`.

    Examples
    --------
    >>> log = SlateLog(slate=[1, 1, 2, 2], position=[0, 1, 0, 1], reward=[1, 1, 0, 1])
    >>> round(reward_interaction_snips(log, [1.0, 0.5, 0.2, 0.1], [0.5, 0.25, 0.8, 0.4]).value(), 6)
    1.888889
    """
    w = log.weights(probability, propensity, log.rows.check_prefix)
    return self_normalise(log.rows, w, log.reward, log.position_weight)


def cascade_doubly_robust(
    log: SlateLog, probabilities: ArrayLike, predictions: ArrayLike, arm: ArrayLike, propensity: ArrayLike
) -> EstimatorTerms:
    """Return the cascade doubly robust terms.

    The estimate is
    `mean(sum over l of w_l (c_l r_l - q_l of the chosen arm) + w_(l-1) (sum over arms of pi_l q_l))`, where w_l
    compares the probabilities of the arms from position 0 to l, and is 1 before position 0.

    Parameters
    ----------
    log : SlateLog
        The slates and their rewards.
    probabilities : array of shape (n_rows, n_arms)
        The probability pi_l with which the policy would have chosen each arm at this position, given the logged
        arms at the previous positions. The products for the logged arms are the numerators of w_l.
    predictions : array of shape (n_rows, n_arms)
        The predicted q_l of each arm at this position, given the logged arms at the previous positions: the sum of
        `c r` over this position and all later ones, which are filled by the evaluated policy. The model must be
        trained on other slates.
    arm : array of int, shape (n_rows,)
        The column of the arm that was chosen.
    propensity : array of shape (n_rows,)
        The probability with which the logging policy chose the arms from position 0 to this one.

    Examples
    --------
    >>> log = SlateLog(slate=[1, 1, 2, 2], position=[0, 1, 0, 1], reward=[1, 1, 0, 1])
    >>> probabilities = [[1.0, 0.0], [0.5, 0.5], [0.8, 0.2], [0.5, 0.5]]
    >>> predictions = [[1.5, 1.0], [0.5, 1.0], [1.5, 1.0], [0.5, 1.0]]
    >>> cascade_doubly_robust(log, probabilities, predictions, [0, 1, 1, 0], [0.5, 0.25, 0.8, 0.4]).numerator
    array([2.    , 1.4625])
    """
    expected = direct_method(probabilities, predictions).numerator
    pi, q = np.asarray(probabilities, np.float64), np.asarray(predictions, np.float64)
    total = pi.sum(axis=1)
    if (is_wrong := np.abs(total - 1.0) > 1e-6).any():
        raise ValueError(f"probabilities must add up to 1 in every row, got {first_where(total, is_wrong)}")
    column, row = as_columns(arm, pi.shape[1]), np.arange(len(pi))
    check_lengths(slate=log.order, probabilities=pi, arm=column)
    prefix = np.empty(len(pi))
    prefix[log.order] = log.rows.prefix_product(np.clip(pi[row, column], 0.0, 1.0)[log.order])
    w = log.weights(prefix, propensity, log.rows.check_prefix)
    direct = log.rows.previous(w, 1.0) * expected[log.order]
    residual = log.weighted_reward() - q[row, column][log.order]
    return _sum_over_positions(log, direct + w * residual, w)


def _slate_weights(log: SlateLog, probability: ArrayLike, propensity: ArrayLike) -> Floats:
    return log.weights(probability, propensity, log.rows.check_joint)[log.rows.start]


def _sum_over_positions(log: SlateLog, numerator: Floats, w: Floats) -> EstimatorTerms:
    return EstimatorTerms(log.rows.sum(numerator), np.ones(len(log.rows.ids)), log.rows.mean(w))
