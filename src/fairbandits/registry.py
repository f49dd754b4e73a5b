"""Policies and worlds by name, with parameters, as written on a command line or in a configuration file.

Policies and models are written as calls with keyword arguments: `FairLinUCB(gamma=2, model=shared)`,
`Model(kind=shared, discount=0.999)`, `module:Class(...)` for custom classes. Python's own parser reads them.
Values are literals of Python or JSON, nested calls, or bare words, which stand for strings.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fairbandits import policies, worlds
from fairbandits.policies import Policy
from fairbandits.simulate import Run
from fairbandits.simulate.model_factory import build_model
from fairbandits.validation import check_integer
from fairbandits.worlds import StudentsAndVideos

# Base classes, which cannot be used as policies.
_BASES = (Policy,)

_JSON_CONSTANTS = {"true": True, "false": False, "null": None}
# `module:Class` is not a Python expression, so the parser sees the attribute `module.__colon__.Class`.
_MODULE_AND_CLASS = re.compile(r"\b([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
_COLON = ".__colon__."
_CALL = re.compile(r"[A-Za-z_][\w.:]*\s*\(")
# A whole argument or list item without brackets, commas and quotes; quoted text is matched so that it is left
# unchanged.
_ITEM = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?<=[(\[,])[^()\[\]{},'"]+(?=[)\],])""")
_NAME_AND_VALUE = re.compile(r"(\s*(?:[A-Za-z_]\w*\s*=)?\s*)(.*?)\s*")


def find_policy(name: str) -> type[Policy]:
    """Return the class of a policy: one of this package, or `module:Class`.

    Examples
    --------
    >>> find_policy("FairLinUCB")
    <class 'fairbandits.policies.fair_linucb.FairLinUCB'>
    """
    exported = (getattr(policies, known) for known in policies.__all__)
    known = {
        cls.__name__: cls
        for cls in exported
        if isinstance(cls, type) and issubclass(cls, Policy) and cls not in _BASES
    }
    cls = _find_class("policy", name, known)
    if not issubclass(cls, Policy):
        raise ValueError(f"policy must be a subclass of fairbandits.Policy, got {name!r}")
    return cls


def find_world(name: str) -> type:
    """Return the class of a world: one of this package, or `module:Class`.

    Examples
    --------
    >>> find_world("LinearWorld")
    <class 'fairbandits.worlds.synthetic.LinearWorld'>
    """
    cls = _find_class("world", name, known_worlds())
    if not hasattr(cls, "visits"):
        raise ValueError(f"world must be a class with the methods __len__() and visits(), got {name!r}")
    return cls


def known_worlds() -> dict[str, type]:
    """Return the worlds of this package by name."""
    exported = (getattr(worlds, known) for known in worlds.__all__)
    return {
        cls.__name__: cls
        for cls in exported
        if isinstance(cls, type) and hasattr(cls, "visits") and not getattr(cls, "_is_protocol", False)
    }


def parse_params(texts: Iterable[str]) -> dict[str, Any]:
    """Parse parameters written as `name=value`.

    Examples
    --------
    >>> parse_params(["gamma=3", "model=shared"])
    {'gamma': 3, 'model': 'shared'}
    >>> parse_params(["model=Model(link=logistic, discount=0.999)"])
    {'model': {'Model': {'link': 'logistic', 'discount': 0.999}}}
    """
    params = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier()):
            raise _not_a_parameter(text)
        params[name] = parse_value(value.strip())
    return params


def parse_value(text: str) -> Any:
    """Parse a value: a literal, `Name(parameter=value, ...)`, or otherwise a string without quotes.

    Examples
    --------
    >>> parse_value("[0, 5]"), parse_value("true"), parse_value("sex x race"), parse_value("Model()")
    ([0, 5], True, 'sex x race', {'Model': {}})
    """
    if _CALL.match(text):
        name, params = parse_call(text)
        return {name: params}
    source = _without_colons(text)
    try:
        return _node_value(_parse_expression(source), source)
    except SyntaxError:
        return text


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Parse `Name`, `Name(parameter=value, ...)` or `module:Class(...)` into name and parameters.

    Examples
    --------
    >>> parse_call("FairLinUCB(gamma=2, model=shared)")
    ('FairLinUCB', {'gamma': 2, 'model': 'shared'})
    >>> parse_call("Compas(group=race, data=/data/compas)")
    ('Compas', {'group': 'race', 'data': '/data/compas'})
    """
    name, bracket, arguments = text.strip().partition("(")
    if not bracket:
        return name.strip(), {}
    # Only the arguments are parsed: the name may be one that Python does not allow.
    source = _without_colons(f"call({arguments}")
    try:
        node = _parse_expression(source)
    except SyntaxError as error:
        source = _ITEM.sub(_quote_bare_word, source)
        try:
            node = _parse_expression(source)
        except SyntaxError:
            raise _not_a_call(text, error.msg) from None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise _not_a_call(text, "something follows the closing bracket")
    return name.strip(), _keywords(node, source)


def split_list(text: str) -> list[str]:
    """Split at commas outside of brackets; the items may also be file names, so this is not Python syntax.

    Examples
    --------
    >>> split_list("LinUCB(alpha=0.1,model=shared),Uniform")
    ['LinUCB(alpha=0.1,model=shared)', 'Uniform']
    """
    items, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items]


def make_policy(text: str, seed: int | None = 0, defaults: Mapping[str, Any] | None = None) -> Policy:
    """Return a new policy from its name and parameters, in the form that `parse_call` accepts.

    Parameters
    ----------
    text : str
        The policy with its parameters.
    seed : int or None
        Its `random_state`; None for fresh entropy.
    defaults : mapping, optional
        Values of parameters that the text omits; those that the policy does not have are ignored.

    Examples
    --------
    >>> make_policy("EpsilonGreedy(epsilon=0.2)", seed=7)
    EpsilonGreedy(epsilon=0.2, random_state=7)
    >>> make_policy("LinUCB", seed=7, defaults={"reward_range": (0.0, 5.0), "columns": ["age"]})
    LinUCB(reward_range=(0.0, 5.0), random_state=7)
    """
    name, params = parse_call(text)
    cls = find_policy(name)
    check_parameters(cls, params)
    model = params.get("model")
    if isinstance(model, Mapping) and "feature_map" in model.get("Model", {}):
        raise ValueError("a feature map must be fitted to contexts; build the Model and the policy in Python")
    accepted = inspect.signature(cls).parameters
    given = {key: value for key, value in (defaults or {}).items() if key in accepted} | params
    return cls(**{key: build_model(value, None, seed or 0) for key, value in given.items()}, random_state=seed)


def make_run(
    policy: str,
    world: str,
    *,
    seed: int = 0,
    policy_params: Mapping[str, Any] | None = None,
    world_params: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    arms: int | None = None,
) -> Run:
    """Return a run of a policy in a world, both by name.

    Parameters
    ----------
    policy, world : str
        Names that `find_policy` and `find_world` accept.
    seed : int
        The seed of the run.
    policy_params, world_params : mapping, optional
        Their parameters.
    rounds, arms : int, optional
        The size of the world. `StudentsAndVideos` keeps the proportions of the paper: three training rounds to two
        test rounds, and three male speakers to seven female ones.

    Examples
    --------
    >>> make_run("LinUCB", "StudentsAndVideos", rounds=50000, arms=500).world_params
    {'train': 30000, 'test': 20000, 'male_videos': 150, 'female_videos': 350}
    """
    policy_class, world_class = find_policy(policy), find_world(world)
    for_policy, for_world = dict(policy_params or {}), dict(world_params or {})
    sizes = _size_params(world_class, rounds, arms)
    conflicts = sorted(sizes.keys() & for_world.keys())
    if conflicts:
        raise ValueError(
            f"{conflicts[0]} must be given only once, got a second value from the number of rounds or arms"
        )
    for_world = sizes | for_world
    check_parameters(policy_class, for_policy)
    check_parameters(world_class, for_world)
    return Run(policy_class, world_class, check_integer("seed", seed, 0), for_policy, for_world)


def _parse_expression(source: str) -> ast.expr:
    with warnings.catch_warnings():
        # Text such as "3in" or "\d" is a bare word here, not questionable Python.
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return ast.parse(source, mode="eval").body
        except (ValueError, RecursionError, MemoryError) as error:  # null bytes; too deeply nested
            raise SyntaxError(str(error)) from None


def _quote_bare_word(match: re.Match[str]) -> str:
    """Return an argument or a list item with quotes around its value, if Python cannot parse it, as with paths."""
    item = match[0]
    if item[0] in "'\"" or (parts := _NAME_AND_VALUE.fullmatch(item)) is None:
        return item
    try:
        _parse_expression(parts[2] or "''")
    except SyntaxError:
        return f"{parts[1]}{parts[2]!r}"
    return item


def _node_value(node: ast.expr, source: str) -> Any:
    value: Any
    match node:
        case ast.Name(id=name):
            value = _JSON_CONSTANTS.get(name, name)
        case ast.Constant(value=str(text)):
            value = _with_colons(text)
        case ast.Call(func=ast.Name() | ast.Attribute()):
            value = {_source_text(node.func, source): _keywords(node, source)}
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            value = [_node_value(element, source) for element in elements]
        case ast.Dict(keys=keys, values=values):
            items = ((key, item) for key, item in zip(keys, values, strict=True) if key is not None)
            value = {_node_value(key, source): _node_value(item, source) for key, item in items}
        case _:
            try:
                value = ast.literal_eval(node)
            except ValueError:  # any other expression, such as males-first, is a bare word
                value = _source_text(node, source)
    return value


def _keywords(node: ast.Call, source: str) -> dict[str, Any]:
    for argument in node.args:
        raise _not_a_parameter(_source_text(argument, source))
    params: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise _not_a_parameter(f"**{_source_text(keyword.value, source)}")
        if keyword.arg in params:
            raise ValueError(f"{keyword.arg} must be given only once, got it twice")
        params[keyword.arg] = _node_value(keyword.value, source)
    return params


def _source_text(node: ast.expr, source: str) -> str:
    return _with_colons(ast.get_source_segment(source, node) or "")


def _without_colons(text: str) -> str:
    return _MODULE_AND_CLASS.sub(rf"\1{_COLON}\2", text)


def _with_colons(text: str) -> str:
    return text.replace(_COLON, ":")


def _not_a_parameter(text: str) -> ValueError:
    return ValueError(f"a parameter must be written as name=value, for example gamma=3, got {text!r}")


def _not_a_call(text: str, reason: str) -> ValueError:
    rule = "must be written as Name(parameter=value, ...), for example FairLinUCB(gamma=3)"
    return ValueError(f"parameters {rule}, got {text!r}: {reason}")


def _size_params(world_class: type, rounds: int | None, arms: int | None) -> dict[str, Any]:
    for name, size in (("rounds", rounds), ("arms", arms)):
        if size is not None:
            check_integer(name, size, 1)
    if world_class is not StudentsAndVideos:
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


def _find_class(kind: str, name: str, known: Mapping[str, type]) -> type:
    if name in known:
        return known[name]
    module, colon, member = name.partition(":")
    if not colon:
        raise ValueError(f"{kind} must be one of {', '.join(known)}, or module:Class, got {name!r}")
    # As with `python -m`, modules in the current folder can be imported.
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        cls = getattr(import_module(module), member)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{kind} {name!r} cannot be imported: {error}") from None
    if not isinstance(cls, type):
        raise ValueError(f"{kind} must be a class, got {name!r}")
    return cls


def check_parameters(cls: type, params: Mapping[str, Any]) -> None:
    """Raise ValueError for a parameter that a class does not have."""
    known = [name for name in inspect.signature(cls).parameters if name != "random_state"]
    for name in params:
        if name == "random_state":
            raise ValueError("random_state is derived from the seed; set the seed instead")
        if name not in known:
            names = ", ".join(known) or "none"
            raise ValueError(
                f"{cls.__name__} has no parameter {name!r}; it has {names} (--set for policies, --with for worlds)"
            )
