"""Notebooks, executed in a kernel: views, plots and progress bars."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

FIRST_LOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "first_look.ipynb"


def execute(book):
    return NotebookClient(book, timeout=120, kernel_name="python3").execute()


def outputs_of(cell):
    return [(output, output.get("data", {})) for output in cell.outputs]


@pytest.fixture(scope="module")
def first_look():
    book = nbformat.read(FIRST_LOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "commit the notebook without outputs"
    return execute(book)


def cells_ending_with(book, *lines):
    cells = {cell.source.splitlines()[-1]: cell for cell in book.cells if cell.cell_type == "code"}
    return [cells[line] for line in lines]


def test_objects_show_html(first_look):
    names = ["videos", "offer", "policy", "decision", "policy.groups", "policy.groups.gap()", "trace", "result"]
    names += [
        "policy.groups.worst_off()",
        'policy.choose(offer, {"sex": "female"}, k=3)',
        "evaluation",
        "comparison",
    ]
    names += ["individual_gaps(learner, world)", 'comparison.worlds["3:7"]']
    for cell in cells_ending_with(first_look, *names):
        [(_, data)] = [
            (output, data) for output, data in outputs_of(cell) if output.output_type == "execute_result"
        ]
        assert data["text/html"].startswith('<div class="fb-view">')
        assert len(data["text/plain"]) < 300


def test_plots_are_shown_in_every_cell(first_look):
    cells = [cell for cell in first_look.cells if cell.cell_type == "code" and ".plot(" in cell.source]
    assert len(cells) == 6
    for cell in cells:
        assert [sorted(data) for _, data in outputs_of(cell)] == [["image/png", "text/plain"]]


def test_progress_shows_as_a_widget(first_look):
    cell = next(cell for cell in first_look.cells if "progress=True" in cell.source)
    [(_, data)] = outputs_of(cell)
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "2500" in data["text/plain"]


def test_progress_shows_as_text_without_ipywidgets():
    code = (
        "import sys, warnings\n"
        "warnings.simplefilter('error')\n"
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'ipywidgets' else find(name, *rest)\n"
        "from fairbandits import LinUCB\n"
        "from fairbandits.simulate import simulate\n"
        "from fairbandits.worlds import LinearWorld\n"
        "trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=300), progress=True)"
    )
    [cell] = execute(new_notebook(cells=[new_code_cell(code)])).cells
    text = "".join(output.text for output in cell.outputs)
    assert [output.name for output in cell.outputs] == ["stderr"] * len(cell.outputs)
    assert "300/300" in text
    assert "Warning" not in text
