"""The files that a module consists of: its own, and those in its folder that it imports."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

# The folders of installed packages. Modules directly inside one of these folders are unrelated to each other.
_INSTALLED = ("site-packages", "dist-packages")
_PACKAGE = Path(__file__).parents[1]


def source_files(file: Path) -> list[Path]:
    """Return a file, and the files in its folder or below that it imports, directly or indirectly.

    Files of this package and of installed packages are left out.

    Examples
    --------
    >>> [path.name for path in source_files(Path(__file__))]
    ['source_files.py']
    """
    found = [file.absolute()]
    for path in found:  # the list grows
        names = _imports(str(path), path.stat().st_mtime_ns)
        found += sorted({each for name in names for each in _files(name, path) if _is_near(each, file)} - {*found})
    return found


def _is_near(path: Path, file: Path) -> bool:
    folder = file.absolute().parent
    return (
        path.is_file()
        and path.is_relative_to(folder)
        and not (
            path.is_relative_to(_PACKAGE)
            or folder.name in _INSTALLED
            or {*path.relative_to(folder).parts} & {*_INSTALLED}
        )
    )


def _files(name: str, importing: Path) -> Iterator[Path]:
    """Yield the file of a module: the loaded one, or the first one that an import would find."""
    dots = len(name) - len(name.lstrip("."))
    if not dots and name in sys.modules:
        loaded = getattr(sys.modules[name], "__file__", None)
        if loaded is not None:
            yield Path(loaded).absolute()
        return
    place = importing.parents[max(dots - 1, 0)].joinpath(*name[dots:].split("."))
    yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())


@functools.lru_cache(maxsize=256)
def _imports(path: str, _changed: int) -> tuple[str, ...]:
    """Return the names of all modules that a file imports, and of imported objects, which may be modules."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (SyntaxError, ValueError):  # not Python
        return ()
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            separator = "." if node.module else ""
            names |= dict.fromkeys([module, *(f"{module}{separator}{alias.name}" for alias in node.names)])
    return tuple(names)
