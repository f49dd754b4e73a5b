"""Parameters as in scikit-learn, without importing it."""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any, Self

import numpy as np

# Products of larger numbers with contexts leave the range of a float64.
_LARGEST = 1e50


class Parameters:
    """Every argument of `__init__` is a parameter, kept under its own name.

    Works with `sklearn.base.clone`; the repr can be pasted.
    """

    # Parameters that may not change once something has been learned with them.
    _fixed: tuple[str, ...] = ()

    @classmethod
    def _param_names(cls) -> tuple[str, ...]:
        return _param_names(cls)  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters by name; `deep` is there for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self._param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; all are checked before the first one changes."""
        unknown = sorted(set(params) - set(self._param_names()))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {', '.join(self._param_names())}"
            )
        before = self.get_params()
        # A seed that is set again starts the randomness again, so it always counts as changed.
        changed = {n: value for n, value in params.items() if n == "random_state" or not _same(before[n], value)}
        for name, value in changed.items():
            if name in self._fixed and self._has_learned():
                raise ValueError(f"{name} cannot change after learning; make a new policy with {name}={value!r}")
        type(self)(**{**before, **changed})  # refuses what is wrong while nothing has changed
        for name, value in changed.items():
            setattr(self, name, value)
        self._params_changed(set(changed))
        return self

    def _has_learned(self) -> bool:
        raise NotImplementedError

    def _params_changed(self, names: set[str]) -> None:
        """Take note of parameters that were set."""

    def __repr__(self) -> str:
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        given = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not _same(value, defaults.get(name, inspect.Parameter.empty))
        )
        return f"{type(self).__name__}({', '.join(given)})"


@cache
def _param_names(cls: type) -> tuple[str, ...]:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{cls.__name__}.__init__ must name its parameters; {parameter} hides them")
    return tuple(parameter.name for parameter in parameters)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)


def as_number(name: str, value: Any, *, above: float | None = None, least: float | None = None) -> float:
    """Check a parameter that is a number."""
    limit = f" above {above:g}" if above is not None else f" not below {least:g}" if least is not None else ""
    number = math.nan
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        number = float(value)
    is_low = (above is not None and number <= above) or (least is not None and number < least)
    if is_low or not abs(number) <= _LARGEST:
        raise ValueError(f"{name} must be a number{limit}, and at most {_LARGEST:g}; got {value!r}")
    return number
