"""Progress bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def with_progress(
    items: Iterable[Any], total: int, progress: bool, title: str | None = None, done: int = 0
) -> Iterator[Any]:
    """Iterate over items, with a progress bar if `progress` is set and the output is a terminal.

    Of the total, `done` items were finished before; the time left is estimated from the others.
    """
    if not progress:
        return iter(items)
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("a progress bar needs tqdm: pip install 'fairbandits[cli]'") from None
    # With disable=None, tqdm shows nothing unless the output is a terminal.
    bar: Iterator[Any] = iter(tqdm(items, total=total, initial=done, desc=title, disable=None, leave=False))
    return bar
