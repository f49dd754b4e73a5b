"""Check every internal link of the built site: the file must exist, and the anchor must be in it.

Usage: python tools/check_links.py FOLDER. The exit status is 1 if a link is broken.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what refers to something, and what can be referred to."""
        values = dict(attrs)
        self.links.update(filter(None, (values.get("href"), values.get("src"))))
        self.anchors.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))


def html_pages(folder: Path) -> list[Path]:
    """Return the pages of the site, without the templates that themes keep among their static files."""
    return sorted(path for path in folder.rglob("*.html") if "_static" not in path.relative_to(folder).parts)


def broken_links(folder: Path) -> Iterator[str]:
    """Yield a line for every link to a missing file or anchor."""
    pages = {path.resolve(): Page(path) for path in html_pages(folder)}
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file():
                yield f"{path.relative_to(folder.resolve())}: no file for {link}"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{path.relative_to(folder.resolve())}: no anchor for {link}"


def main(folder: Path) -> int:
    """Print the broken links and return the exit status."""
    n_pages = len(html_pages(folder))
    if n_pages == 0:
        print(f"{folder}: no pages")
        return 1
    broken = list(broken_links(folder))
    print(*broken, sep="\n", end="\n" if broken else "")
    print(f"{folder}: {n_pages} pages, {len(broken)} broken internal links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
