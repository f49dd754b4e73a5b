"""A synthetic log to experiment with, whose true gap and its causes are known.

A site recommends lessons; the reward is whether the user watched the lesson. For the first 36 of 90 days, women
and men are shown the same lessons; then a new policy shows men the better lessons more often. Whatever they are
shown, users watch more lessons by speakers of their own sex, and most speakers are men. Women therefore receive
less reward for two reasons: an exposure effect (they are shown worse lessons) and a within-arm effect (the same
lesson yields them less reward). Their rewards are also missing more often, and one race is too rare to compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical
from fairbandits.logs.roles import Roles
from fairbandits.validation import check_integer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROLES = Roles(
    arm="arm",
    reward="reward",
    groups=("sex", "race"),
    propensity="propensity",
    contexts=("context_experience", "context_evening", "context_interest", "context_device"),
    time="time",
    decision="decision",
)

_SEXES = ("female", "male")
_RACES = {"White": 0.60, "Black": 0.18, "Asian": 0.14, "Latino": 0.077, "Other": 0.003}
_TOPICS = ("art", "science", "sport")
_DEVICES = ("laptop", "phone", "tablet")
# Twelve lessons: topic, sex of the speaker, quality, length.
_ARMS = tuple(f"{topic} {number}" for number in range(1, 5) for topic in _TOPICS)
_TOPIC: Ints = np.arange(12) % 3
_SPEAKER: Ints = np.array([1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1])
_QUALITY: Floats = np.array([0.05, 0.41, 0.12, 0.34, 0.09, 0.27, 0.23, 0.16, 0.19, 0.45, 0.30, 0.38])
_MINUTES: Floats = np.array([5.0, 12.0, 7.0, 9.0, 6.0, 11.0, 8.0, 10.0, 4.0, 15.0, 13.0, 14.0])
# The increases in the probability of watching due to a speaker of the user's own sex and to a topic of interest.
_OWN_SEX, _OWN_TOPIC = 0.16, 0.15
_UNIFORM = 0.1  # the share of decisions drawn uniformly
_NEW_POLICY = 0.8  # how strongly the new policy favours quality for men, and disfavours it for women
_MISSING = np.array([0.13, 0.05, 0.08])  # shares of missing rewards: women, men, unknown
_START, _DAYS, _NEW_FROM = np.datetime64("2024-01-01T00:00:00", "us"), 90, 0.4
_BLOCK_ROWS = 1 << 18


def sample_log(rows: int = 20_000, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Draw a log in blocks of rows, which `write_log` takes together with `ROLES`.

    Parameters
    ----------
    rows : int
        The number of decisions.
    seed : int
        The random seed.

    Examples
    --------
    >>> [columns] = sample_log(rows=3)
    >>> list(columns)[:5], columns["decision"].tolist()
    (['decision', 'time', 'arm', 'reward', 'propensity'], [0, 1, 2])
    """
    check_integer("rows", rows, 1)
    check_integer("seed", seed, 0)
    return (
        _draw_block(start, min(_BLOCK_ROWS, rows - start), rows, np.random.default_rng([seed, start]))
        for start in range(0, rows, _BLOCK_ROWS)
    )


def sample_arms() -> dict[str, Any]:
    """Return the arms of the sample and their features, as columns for `read_arms`."""
    return {
        "arm": list(_ARMS),
        "topic": [_TOPICS[topic] for topic in _TOPIC],
        "minutes": _MINUTES,
        "match:sex": [_SEXES[sex] for sex in _SPEAKER],
    }


def _draw_block(start: int, n: int, rows: int, rng: np.random.Generator) -> dict[str, Any]:
    sex = rng.choice(3, n, p=[0.49, 0.50, 0.01])  # the last code stands for unknown
    race = rng.choice(len(_RACES), n, p=list(_RACES.values()))
    interest = rng.choice(3, n, p=[0.3, 0.4, 0.3])
    device = rng.choice(3, n, p=[0.35, 0.5, 0.15])
    evening = rng.random(n) < 0.4
    experience = rng.beta(2.0, 2.0, n) * np.where(race == 1, 0.8, 1.0)
    elapsed = (start + np.sort(rng.random(n)) * n) / rows
    arm, propensity = _choose_arms(sex, interest, elapsed >= _NEW_FROM, rng.random(n))
    mean = 0.10 + _QUALITY[arm] + _OWN_SEX * (sex == _SPEAKER[arm]) + _OWN_TOPIC * (interest == _TOPIC[arm])
    reward = (rng.random(n) < mean + 0.10 * experience - 0.05 * evening).astype(float)
    reward[rng.random(n) < _MISSING[sex]] = np.nan
    return {
        "decision": np.arange(start, start + n),
        "time": _START + (elapsed * _DAYS * 86_400e6).astype("timedelta64[us]"),
        "arm": _categorical(arm, _ARMS),
        "reward": reward,
        "propensity": propensity,
        "sex": _categorical(np.where(sex == 2, -1, sex), _SEXES),
        "race": _categorical(race, _RACES),
        "context_experience": experience.round(3),
        "context_evening": evening.astype(np.int8),
        "context_interest": _categorical(interest, _TOPICS),
        "context_device": _categorical(device, _DEVICES),
    }


def _choose_arms(sex: Ints, interest: Ints, is_new: NDArray[np.bool_], draws: Floats) -> tuple[Ints, Floats]:
    """Choose an arm for each user; return it and its probability, which depends on sex, interest and policy."""
    direction = np.array([-1.0, 1.0, 0.0])  # women, men, unknown
    quality = (_QUALITY - _QUALITY.mean()) / _QUALITY.std()
    score = 1.5 * (np.arange(3)[:, None] == _TOPIC) + np.zeros((2, 3, 1, 1))
    score[1] += _NEW_POLICY * direction[:, None, None] * quality
    weight = np.exp(score)
    probabilities = (1.0 - _UNIFORM) * weight / weight.sum(axis=-1, keepdims=True) + _UNIFORM / len(_ARMS)
    index = is_new.astype(int), sex, interest
    cumulative = np.cumsum(probabilities, axis=-1)[index]
    arm = np.minimum((draws[:, None] >= cumulative).sum(axis=1), len(_ARMS) - 1)
    return arm, probabilities[(*index, arm)]


def _categorical(codes: Any, labels: Any) -> Categorical:
    return Categorical(np.asarray(codes, np.int32), list(labels))
