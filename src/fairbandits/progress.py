"""Progress bars: on a terminal and in notebooks, nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fairbandits.extras import install_hint


def with_progress(
    items: Iterable[Any], total: int, progress: bool, title: str | None = None, done: int = 0
) -> Iterator[Any]:
    """Iterate over items, with a progress bar if `progress` is set and the bar can be seen.

    Of the total, `done` items were finished before; the time left is estimated from the others.
    """
    if not progress:
        return iter(items)
    return iter(progress_bar(items, total=total, initial=done, desc=title))


def progress_bar(*items: Iterable[Any], **options: Any) -> Any:
    """Return a tqdm bar: for a terminal, for a notebook, or one that shows nothing in scripts and pipes.

    A notebook shows a widget if ipywidgets is installed, otherwise a line of text. Its bar stays as a record of
    the run; that of a terminal disappears.
    """
    try:
        if in_notebook():
            # tqdm.auto would warn if ipywidgets is missing.
            module = import_module("tqdm.notebook" if find_spec("ipywidgets") else "tqdm.std")
            return module.tqdm(*items, **options)
        from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"a progress bar needs tqdm; {install_hint('cli')}") from None
    # With disable=None, tqdm shows nothing unless the output is a terminal.
    return tqdm(*items, disable=None, leave=False, **options)


def in_notebook() -> bool:
    """Return whether the code runs in the kernel of a notebook."""
    # No import is needed: IPython is loaded wherever there is a kernel.
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
