"""Lets obp be imported without PyTorch, which only its neural policies need, and which is large."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import sklearn.utils  # noqa: F401  # before torch is there, because it inspects torch


class _Stub(ModuleType):
    """A module in which every name is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = type(name, (), {})
        setattr(self, name, found)
        return found


def install() -> None:
    """Put the stub in the place of torch; must be called before obp is imported."""
    names = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "torch.utils.data")
    modules = {name: _Stub(name) for name in names}
    for name, module in modules.items():
        module.__path__ = []
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    sys.modules.update(modules)
