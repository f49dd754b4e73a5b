"""Progress bars: on a terminal and in notebooks, nowhere else."""

import io
import sys
from types import SimpleNamespace

import pytest

from fairbandits.progress import in_notebook, with_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_scripts_and_pipes_show_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(with_progress(range(3), 3, True)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""


def test_a_terminal_shows_a_bar_that_disappears(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(with_progress(range(3), 3, True, "runs")) == [0, 1, 2]
    assert "runs:   0%|" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\r")


def test_nothing_is_shown_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(with_progress(range(3), 3, False)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize(("shell", "expected"), [(None, False), (SimpleNamespace(kernel=1), True)])
def test_a_notebook_is_where_a_kernel_runs(monkeypatch, shell, expected):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert in_notebook() is expected
    monkeypatch.delitem(sys.modules, "IPython")
    assert in_notebook() is False
