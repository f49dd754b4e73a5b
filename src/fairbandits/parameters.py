"""Parameters in the style of scikit-learn, each declared once: name, default, check and documentation.

    class LinUCB(Policy):
        alpha: float = parameter(default=0.5, check=number(at_least=0.0), doc="Weight of the width in the score.")

Every parameter is keyword-only, is checked whenever it is set, and appears in the documentation of the class.
Objects work with `sklearn.base.clone`, but scikit-learn is not imported.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

# Products of larger numbers with contexts overflow a float64.
LARGEST = 1e50
# Separates the names of nested parameters, as in scikit-learn.
_NESTED = "__"

Check = Callable[[str, Any], object]


class Parameter:
    """A declared parameter: a class attribute that checks the values assigned to it.

    It has no `__get__`, so that reading a parameter is as fast as reading any other attribute.
    """

    def __init__(self, default: Any, check: Check, doc: str, fixed: bool) -> None:
        self.default = default
        self.check = check
        self.doc = doc
        self.fixed = fixed
        self.name = ""
        self.kind = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.kind = str(inspect.get_annotations(owner).get(name, ""))

    def __set__(self, instance: Parameters, value: Any) -> None:
        instance.set_params(**{self.name: value})


def _anything(name: str, value: Any) -> None:
    """Allow any value."""


def parameter(*, default: Any, check: Check = _anything, doc: str = "", fixed: bool = False) -> Any:
    """Declare a parameter of a class that derives from `Parameters`.

    Parameters
    ----------
    default : any
        The value if none is given.
    check : callable, optional
        Takes the name and a value, and raises ValueError if the value is not allowed.
    doc : str, optional
        The documentation of the parameter.
    fixed : bool
        Whether it can no longer change once something has been learned.

    Examples
    --------
    >>> from fairbandits import LinUCB, number, parameter
    >>> class Bonus(LinUCB):
    ...     bonus = parameter(default=0.1, check=number(at_least=0.0), doc="Bonus for new arms.")
    >>> Bonus(bonus=0.3)
    Bonus(bonus=0.3)
    >>> Bonus(bonus=-1.0)
    Traceback (most recent call last):
        ...
    ValueError: bonus must be a number of at least 0, got -1.0
    """
    return Parameter(default, check, doc, fixed)


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class Parameters:
    """Base class for objects with declared parameters."""

    _declared: ClassVar[Mapping[str, Parameter]] = {}
    #: Whether parameters can be set after construction.
    _frozen: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        names = [
            name for base in cls.__mro__ for name, value in vars(base).items() if isinstance(value, Parameter)
        ]
        # A subclass removes a parameter by assigning something else to its name.
        found = {name: inspect.getattr_static(cls, name) for name in names}
        cls._declared = {name: value for name, value in found.items() if isinstance(value, Parameter)}
        if "__init__" in vars(cls):
            raise TypeError(f"{cls.__name__} must declare its parameters with parameter(...), not in __init__")
        cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=declared.default)
                for name, declared in cls._declared.items()
            ]
        )
        cls.__doc__ = _documented(cls)

    def __init__(self, **given: Any) -> None:
        for name, declared in self._declared.items():
            self.__dict__[name] = given.pop(name, declared.default)
        if given:
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {next(iter(given))!r}")
        self._check_all()
        self._begin()

    def _begin(self) -> None:
        """Set up all other attributes, once the parameters have been checked."""

    def _check_together(self) -> None:
        """Check constraints that involve several parameters."""

    def _has_learned(self) -> bool:
        """Return whether something has been learned with the parameters."""
        return False

    def _changed(self, names: set[str]) -> None:
        """Update everything that depends on parameters that have been set."""

    def _nested(self, name: str, value: Any) -> Parameters | None:
        """Return the object that holds the nested parameters of a value; None if it has none."""
        return value if isinstance(value, Parameters) else None

    def _unnested(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters without nested ones: objects whose nested parameters are given are replaced."""
        own = {name: value for name, value in params.items() if _NESTED not in name}
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, separator, rest = name.partition(_NESTED)
            if outer not in self._declared:
                raise ValueError(
                    f"{name} is not a parameter of {type(self).__name__}; its parameters are "
                    f"{', '.join(self._declared)}"
                )
            if separator:
                inner.setdefault(outer, {})[rest] = value
        for name, values in inner.items():
            value = own.get(name, self.__dict__[name])
            nested = self._nested(name, value)
            if nested is None:
                first = f"{name}{_NESTED}{next(iter(values))}"
                raise ValueError(f"{name} must be an object with parameters to set {first}, got {value!r}")
            changed = nested._replaced(values)
            # The value may be a string that stands for the object: keep it if nothing changes.
            own[name] = value if changed == nested else changed
        return own

    def _replaced(self, params: Mapping[str, Any]) -> Self:
        """Return a new object with some parameters changed."""
        return type(self)(**{**self.get_params(deep=False), **self._unnested(params)})

    def _check_all(self) -> None:
        for name, declared in self._declared.items():
            declared.check(name, self.__dict__[name])
        self._check_together()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `deep` adds nested ones such as `model__discount`."""
        params = {name: self.__dict__[name] for name in self._declared}
        for name, value in list(params.items()) if deep else ():
            inner = self._nested(name, value)
            if inner is not None:
                params |= {f"{name}{_NESTED}{each}": found for each, found in inner.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including nested ones such as `model__discount`; all are checked before any changes."""
        if self._frozen:
            raise AttributeError(f"a {type(self).__name__} is immutable; create a new one")
        params = self._unnested(params)
        before = self.get_params(deep=False)
        # Setting the same seed again restarts the random generator, so it always counts as changed.
        changed = {n: value for n, value in params.items() if n == "random_state" or not _same(before[n], value)}
        for name, value in changed.items():
            if self._declared[name].fixed and self._has_learned():
                raise ValueError(
                    f"{name} cannot be changed after learning, got {value!r}; create a new {type(self).__name__}"
                )
        self.__dict__.update(changed)
        try:
            self._check_all()
        except ValueError:
            self.__dict__.update(before)
            raise
        self._changed(set(changed))
        return self

    def __repr__(self) -> str:
        given = (
            f"{name}={self.__dict__[name]!r}"
            for name, declared in self._declared.items()
            if not _same(self.__dict__[name], declared.default)
        )
        return f"{type(self).__name__}({', '.join(given)})"


def number(
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float = LARGEST,
    or_word: str | None = None,
    or_none: bool = False,
) -> Check:
    """Return a check for numbers within bounds; optionally, one string or None is also allowed.

    Examples
    --------
    >>> number(at_least=0.0)("alpha", -1.0)
    Traceback (most recent call last):
        ...
    ValueError: alpha must be a number of at least 0, got -1.0
    """
    rule = "a number"
    if above is not None:
        rule += f" above {above:g}"
    if at_least is not None:
        rule += f" of at least {at_least:g}"
    if at_most < LARGEST:
        rule += f" and at most {at_most:g}"
    if or_word is not None:
        rule += f' or "{or_word}"'
    if or_none:
        rule += " or None"

    def check(name: str, value: Any) -> None:
        if (or_none and value is None) or (or_word is not None and isinstance(value, str) and value == or_word):
            return
        found = as_float(value)
        is_low = (above is not None and found <= above) or (at_least is not None and found < at_least)
        if is_low or not -LARGEST <= found <= at_most:
            size = f" and at most {LARGEST:g} in absolute value" if abs(found) > LARGEST else ""
            raise ValueError(f"{name} must be {rule}{size}, got {value!r}")

    return check


def one_of(*choices: str) -> Check:
    """Return a check for one of several strings.

    Examples
    --------
    >>> one_of("mean", "median")("average", "mode")
    Traceback (most recent call last):
        ...
    ValueError: average must be one of mean, median, got 'mode'
    """

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")

    return check


def as_float(value: Any) -> float:
    """Return a number as a float; NaN for anything that is not a number."""
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return float(value)
    return math.nan


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)


def _documented(cls: type[Parameters]) -> str:
    """Return the docstring of a class, with a section on its parameters inserted before all other sections."""
    doc = inspect.cleandoc(vars(cls).get("__doc__") or "")
    if not cls._declared:
        return doc
    lines = ["Parameters", "----------"]
    for name, declared in cls._declared.items():
        lines.append(f"{name} : {declared.kind or 'any'}, default {declared.default!r}")
        lines += textwrap.wrap(declared.doc, 108, initial_indent="    ", subsequent_indent="    ")
    text = doc.split("\n")
    at = next((i for i in range(1, len(text)) if text[i] and set(text[i]) == {"-"}), len(text) + 1) - 1
    return "\n".join([*text[:at], *([""] if at == len(text) else []), *lines, "", *text[at:]]).rstrip() + "\n"
