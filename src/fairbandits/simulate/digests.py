"""Hashes of code and files, by which the cache recognises outdated runs."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fairbandits.simulate.source_files import source_files

_PACKAGE = Path(__file__).parents[1]
# The layers above this one, on which no trace depends; all other code counts, including new modules.
_OTHER_CODE = frozenset(
    (
        *("adapters", "audit", "cli", "compare", "logs", "ope"),
        *("paper", "recommendations", "registry", "report", "service", "testing", "tuning"),
    )
)


def class_name(kind: type) -> str:
    """Return the full name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def class_digest(kind: type) -> str:
    """Return a hash of the code outside this package that defines a class and its bases.

    It covers the files of the classes and the modules in the same folders that these files import. For a class
    defined in a notebook, it covers the cell.
    """
    digest = hashlib.sha256()
    for base in kind.__mro__:
        if base.__module__.split(".")[0] not in ("fairbandits", "builtins", "abc", "typing"):
            digest.update(_code_of(base).encode())
    return digest.hexdigest()


def _code_of(kind: type) -> str:
    try:
        files = source_files(Path(inspect.getfile(kind)))
    except (OSError, TypeError):
        return _cell_of(kind)
    return "".join(file_digest(str(path), *_state(path)) for path in files)


def _cell_of(kind: type) -> str:
    """Return the cell of a notebook that defines a class: Python knows it for the methods, not for the class."""
    method = next(filter(inspect.isfunction, vars(kind).values()), None)
    try:
        return "".join(inspect.findsource(method)[0])  # type: ignore[arg-type]
    except (OSError, TypeError):
        raise ValueError(
            f"the source of {class_name(kind)} cannot be read, so its cached runs could not be recognised as "
            "outdated; define it in a file"
        ) from None


def file_digests(params: Mapping[str, Any]) -> list[str]:
    """Return hashes of the files that parameters name: tables, and modules as in `{"module:Class": {}}`."""
    files: list[Path] = []
    for name, value in params.items():
        if ":" in name and isinstance(value, Mapping):
            files += _module_file(name.partition(":")[0])
        if isinstance(value, str) and "\0" not in value and Path(value).is_file():
            files.append(Path(value))
    nested = [digest for value in params.values() if isinstance(value, Mapping) for digest in file_digests(value)]
    return [file_digest(str(path), *_state(path)) for path in files] + nested


def _module_file(name: str) -> list[Path]:
    try:
        return source_files(Path(inspect.getfile(import_module(name))))
    except (ImportError, TypeError, ValueError):  # a name with a colon that is not a class, such as that of an arm
        return []


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=256)
def file_digest(path: str, *state: int) -> str:
    """Return a hash of a file, given its state: the time of its last change, and its size."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@functools.cache
def package_digest() -> str:
    """Return a hash of all code of this package that a trace depends on."""
    digest = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        if file.relative_to(_PACKAGE).with_suffix("").parts[0] not in _OTHER_CODE:
            digest.update(file.read_bytes())
    return digest.hexdigest()
