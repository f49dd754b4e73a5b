"""Policies and worlds by name, as a command line gives them."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fairbandits import policies, worlds
from fairbandits.policies import CounterfactualLinUCB, NaiveLinUCB, Policy
from fairbandits.simulate import Run
from fairbandits.simulate.models import made
from fairbandits.worlds import PAPER_NAIVE_COLUMNS, LinearWorld, StudentsAndVideos

# Bases, which decide nothing themselves.
_BASES = (Policy,)

# What policies that know of single columns need to know of the world of the paper.
_COLUMNS_OF_STUDENTS: dict[type[Policy], dict[str, Any]] = {
    NaiveLinUCB: {"drop": PAPER_NAIVE_COLUMNS, "columns": StudentsAndVideos.columns},
    CounterfactualLinUCB: {
        "swap": (("sex=Female", "sex=Male"),),
        "flip": ("match",),
        "columns": StudentsAndVideos.columns,
    },
}


def find_policy(name: str) -> type[Policy]:
    """Find a policy: one of ours, or `module:Class`.

    Examples
    --------
    >>> find_policy("FairLinUCB")
    <class 'fairbandits.policies.fair_linucb.FairLinUCB'>
    """
    kinds = (getattr(policies, known) for known in policies.__all__)
    ours = {
        kind.__name__: kind
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, Policy) and kind not in _BASES
    }
    kind = _find("policy", name, ours)
    if not issubclass(kind, Policy):
        raise ValueError(f"policy {name!r} is no subclass of fairbandits.Policy")
    return kind


def find_world(name: str) -> type:
    """Find a world: one of ours, or `module:Class`.

    Examples
    --------
    >>> find_world("LinearWorld")
    <class 'fairbandits.worlds.synthetic.LinearWorld'>
    """
    return _find("world", name, {kind.__name__: kind for kind in (StudentsAndVideos, LinearWorld)})


def parse_params(words: Iterable[str]) -> dict[str, Any]:
    """Read `name=value`; a value is JSON, or else a word, or else a name with parameters of its own.

    Examples
    --------
    >>> parse_params(["gamma=3", "model=shared"])
    {'gamma': 3, 'model': 'shared'}
    >>> parse_params(["model=Model(link=logistic, discount=0.999)"])
    {'model': {'Model': {'link': 'logistic', 'discount': 0.999}}}
    """
    params = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (equals and name.isidentifier()):
            raise ValueError(f"{word!r} came; expected name=value, such as gamma=3")
        params[name] = _value(value.strip())
    return params


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        name, bracket, rest = text.partition("(")
        if not (bracket and rest.endswith(")")):
            return text
        return {name.strip(): parse_params(split_outside(rest[:-1]) if rest[:-1].strip() else ())}


def split_outside(text: str) -> list[str]:
    """Split at the commas that are in no brackets.

    Examples
    --------
    >>> split_outside("LinUCB(alpha=0.1,model=shared),Uniform")
    ['LinUCB(alpha=0.1,model=shared)', 'Uniform']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def parse_policy(text: str) -> tuple[str, dict[str, Any]]:
    """Read a policy with its parameters: `Name`, `Name(parameter=value,...)` or `module:Class(...)`.

    Examples
    --------
    >>> parse_policy("FairLinUCB(gamma=2, model=shared)")
    ('FairLinUCB', {'gamma': 2, 'model': 'shared'})
    """
    name, bracket, rest = text.strip().partition("(")
    if bracket and not rest.endswith(")"):
        raise ValueError(f"{text!r} came; expected a policy such as FairLinUCB(gamma=3)")
    return name.strip(), parse_params(split_outside(rest[:-1]) if rest[:-1].strip() else ())


def as_policy(text: str, seed: int | None = 0, known: Mapping[str, Any] | None = None) -> Policy:
    """Make a policy, which has learned nothing yet, of what `parse_policy` reads.

    Parameters
    ----------
    text : str
        The policy with its parameters.
    seed : int or None
        Where its randomness comes from; None for another one every time.
    known : mapping, optional
        What is known of parameters that the text leaves out; those that the policy does not have are not given.

    Examples
    --------
    >>> as_policy("EpsilonGreedy(epsilon=0.2)", seed=7)
    EpsilonGreedy(epsilon=0.2, random_state=7)
    >>> as_policy("LinUCB", seed=7, known={"reward_range": (0.0, 5.0), "columns": ["age"]})
    LinUCB(reward_range=(0.0, 5.0), random_state=7)
    """
    name, params = parse_policy(text)
    kind = find_policy(name)
    _refuse_unknown(kind, params)
    model = params.get("model")
    if isinstance(model, Mapping) and "feature_map" in model.get("Model", {}):
        raise ValueError("a feature map is fitted to contexts; make the Model in Python, and hand over the policy")
    takes = inspect.signature(kind).parameters
    given = {key: value for key, value in (known or {}).items() if key in takes} | params
    return kind(**{key: made(value, None, seed or 0) for key, value in given.items()}, random_state=seed)


def as_run(
    policy: str,
    world: str,
    *,
    seed: int = 0,
    policy_params: Mapping[str, Any] | None = None,
    world_params: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    arms: int | None = None,
) -> Run:
    """Put a run together.

    Parameters
    ----------
    policy, world : str
        Names, as `find_policy` and `find_world` take them.
    seed : int
        Where all randomness comes from.
    policy_params, world_params : mapping, optional
        Their parameters.
    rounds, arms : int, optional
        The size of the world, in whatever words it calls that: students and videos keep the paper's shares,
        three rounds of training to two of testing, and three male speakers to seven female ones.

    Examples
    --------
    >>> as_run("LinUCB", "StudentsAndVideos", rounds=50000, arms=500).world_params
    {'train': 30000, 'test': 20000, 'male_videos': 150, 'female_videos': 350}
    """
    kind, place = find_policy(policy), find_world(world)
    for_policy, for_world = dict(policy_params or {}), dict(world_params or {})
    sizes = _sized(place, rounds, arms)
    clash = sorted(sizes.keys() & for_world.keys())
    if clash:
        raise ValueError(f"{clash[0]} is given twice, by itself and by the number of rounds or arms; give one")
    for_world = sizes | for_world
    if place is StudentsAndVideos:
        for_policy = _COLUMNS_OF_STUDENTS.get(kind, {}) | for_policy
    _refuse_unknown(kind, for_policy)
    _refuse_unknown(place, for_world)
    return Run(kind, place, worlds.checks.whole("seed", seed, 0), for_policy, for_world)


def _sized(place: type, rounds: int | None, arms: int | None) -> dict[str, Any]:
    for name, size in (("rounds", rounds), ("arms", arms)):
        if size is not None:
            worlds.checks.whole(name, size, 1)
    if place is not StudentsAndVideos:
        sizes = {"rounds": rounds, "n_arms": arms}
        return {name: size for name, size in sizes.items() if size is not None}
    params: dict[str, Any] = {}
    if rounds is not None:
        test = rounds * 2 // 5
        params |= {"train": rounds - test, "test": test}
    if arms is not None:
        male = arms * 3 // 10
        params |= {"male_videos": male, "female_videos": arms - male}
    return params


def _find(what: str, name: str, ours: Mapping[str, type]) -> type:
    if name in ours:
        return ours[name]
    module, colon, member = name.partition(":")
    if not colon:
        raise ValueError(f"there is no {what} {name!r}; expected one of {', '.join(ours)}, or module:Class")
    # As `python -m` does: what lies in the current folder can be named.
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), member)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{what} {name!r} cannot be imported: {error}") from None
    if not isinstance(found, type):
        raise ValueError(f"{what} {name!r} is no class")
    return found


def _refuse_unknown(kind: type, params: Mapping[str, Any]) -> None:
    known = [name for name in inspect.signature(kind).parameters if name != "random_state"]
    for name in params:
        if name == "random_state":
            raise ValueError("random_state comes from the seed; set that")
        if name not in known:
            has = ", ".join(known) or "none"
            raise ValueError(
                f"{kind.__name__} has no parameter {name!r}; it has {has} (--set for policies, --with for worlds)"
            )
