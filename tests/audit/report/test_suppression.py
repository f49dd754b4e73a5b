"""Cells that are small enough to identify a person are not shown, and cannot be computed."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.audit import audit
from fairbandits.audit.report.suppression import Suppression
from fairbandits.audit.small_cells import hidden_cells, is_recognisable
from tests.audit import logs


def log_of(users):
    """Return a log, given the number of users by sex and race; each of them has two decisions."""
    rows = [(sex, race) for (sex, race), n in users.items() for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["sex", "race"]).assign(user_id=range(len(rows)))
    frame = pd.concat([frame, frame], ignore_index=True)
    rng = np.random.default_rng(0)
    return frame.assign(arm=rng.choice(["a", "b"], len(frame)), reward=rng.integers(0, 2, len(frame)) * 1.0)


@pytest.fixture(scope="module")
def result():
    users = {("f", "A"): 60, ("f", "B"): 70, ("f", "C"): 7, ("m", "A"): 80, ("m", "B"): 90, ("m", "C"): 40}
    return audit(log_of(users), min_cell=20, tolerance=0.3)


def hidden(result, *attributes):
    comparison = result[attributes]
    return {
        group.name: result.sentences.suppression.count(comparison, group, group.users)
        for group in comparison.groups
        if result.sentences.suppression.is_hidden(comparison, group)
    }


def test_two_cells_of_every_row_and_column_are_hidden(result):
    assert hidden(result, "sex") == hidden(result, "race") == {}
    # One cell is small. The others of its row, its column and of theirs would reveal it.
    assert hidden(result, "sex", "race") == {
        "f, C": "< 20",
        "m, C": "suppressed",
        "f, A": "suppressed",
        "m, A": "suppressed",
    }


def test_hidden_numbers_are_nowhere(result, tmp_path, capsys):
    result.write(tmp_path)
    plain = json.loads((tmp_path / "audit.json").read_text())
    [comparison] = [each for each in plain["comparisons"] if len(each["attributes"]) == 2]
    groups = {tuple(group["labels"]): group for group in comparison["groups"]}
    small, complement, shown = groups["f", "C"], groups["m", "A"], groups["m", "B"]
    counts = ("rewards", "users", "effective_users", "missing", "missing_share")
    assert small["suppressed"] is complement["suppressed"] is True
    assert all(group[name] is None for name in counts for group in (small, complement))
    # The number of users of a group of this size could be told from its interval.
    assert small["mean"] is complement["mean"] is None
    assert shown["mean"] == round(shown["mean"], 3)
    [left_out] = [each for each in plain["unassessed"] if len(each["attributes"]) == 2]
    assert left_out["small_groups"] is left_out["share"] is None
    page = (tmp_path / "audit.html").read_text()
    assert (
        '<th scope="row">f, C</th><td>&lt; 20</td><td>&lt; 20</td><td>&lt; 20</td><td></td><td>too small</td>'
        in page
    )
    assert (
        "Not assessed by sex x race: users in groups too small to be shown, or left out because they would reveal "
        "the size of such groups." in page
    )
    assert "f, A (suppressed), f, C (&lt; 20), m, A (suppressed) and m, C (suppressed)." in page
    assert "more than 1.0% of the users could not be assessed by sex x race" in result.verdict


def test_a_large_group_that_would_reveal_a_small_one_is_not_called_small():
    users = {("north", "A"): 400, ("south", "A"): 327, ("west", "A"): 7}
    result = audit(log_of(users).rename(columns={"sex": "region"}), groups=["region"], min_cell=20)
    assert result.sentence == (
        "No comparison by region is possible: south cannot be shown, because this would reveal the size of a "
        "group with fewer than 20 users (--min-cell). Merge small groups before the audit."
    )
    assert result.sentences.too_small(result["region"]).endswith(
        "Suppressed groups are large enough, but would reveal the size of a small one (--min-cell)."
    )


def test_a_group_that_may_not_be_shown_is_not_compared():
    frame = logs.with_group(logs.of_users(lambda day: 0.0, n=10_000), "other", 15)
    assert [group.name for group in audit(frame, min_cell=20)["sex"].too_small] == ["other"]
    assert audit(frame, min_cell=20)["sex"].analysis.history is not None
    with pytest.raises(ValueError, match="min_cell must not be set with sequential"):
        audit(frame, sequential=True, min_cell=20)


def test_cells_on_no_cycle_are_not_revealed():
    """The margins of two pairs of hidden cells determine a fifth one that links them."""
    users = {
        ("s1", "r1"): 600,
        ("s1", "r2"): 7,
        ("s2", "r2"): 9,
        ("s2", "r3"): 12,
        ("s3", "r3"): 14,
        ("s3", "r1"): 600,
        ("s1", "r3"): 300,
        ("s2", "r1"): 300,
        ("s3", "r2"): 300,
    }
    cells = {(("sex", "race"), labels): n for labels, n in users.items()}
    for place, attribute in enumerate(("sex", "race")):
        for label in {labels[place] for labels in users}:
            total = sum(n for labels, n in users.items() if labels[place] == label)
            cells[((attribute,), (label,))] = total
    hidden = hidden_cells(cells, 50)
    order = sorted(hidden, key=str)

    def coefficient(cell, place, attribute, label):
        names, labels = cell
        if names == ("sex", "race"):
            return float(labels[place] == label)
        return -float(cell == ((attribute,), (label,)))

    sums = [
        [coefficient(cell, place, attribute, label) for cell in order]
        for place, attribute in enumerate(("sex", "race"))
        for label in sorted({labels[place] for labels in users})
    ]
    rank = np.linalg.matrix_rank(np.array(sums))
    for number, cell in enumerate(order):
        if cells[cell] < 50:
            unit = np.eye(len(order))[number]
            assert np.linalg.matrix_rank(np.vstack([sums, unit])) == rank + 1, cell


def test_two_hidden_cells_of_one_user_each_are_not_revealed():
    cells = {(("sex",), (label,)): n for label, n in {"a": 1332, "b": 1333, "c": 1334, "x": 1, "y": 1}.items()}
    assert {labels[0] for _, labels in hidden_cells(cells, 20)} == {"a", "x", "y"}


@pytest.mark.parametrize(("users", "expected"), [(500, True), (2_000, False)])
def test_groups_whose_size_an_interval_would_tell(users, expected):
    assert is_recognisable(users, 20) is expected


def test_arms_that_few_users_received_are_reported_together():
    frame = logs.of_users(lambda day: 0.0, n=10_000)
    frame.loc[[*range(8)], "arm"] = "rare"
    [shown, all_arms] = (audit(frame, min_cell=n)["sex"].analysis.decomposition for n in (20, 0))
    assert len(all_arms.arms) == all_arms.n_arms == shown.n_arms == 6
    # One more arm is left out, because one alone could be computed from the gap and the others.
    assert len(shown.arms) == 4
    assert "rare" not in [part.arm for part in shown.arms]
    total = sum(part.total.value for part in shown.arms) + shown.rest
    assert total == pytest.approx(sum(part.total.value for part in all_arms.arms))


def test_nothing_is_hidden_without_the_option():
    result = audit(logs.make(500))
    assert not any(hidden(result, *each.attributes) for each in result.comparisons)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=6, max_size=6), st.integers(2, 20))
def test_no_sum_has_exactly_one_hidden_part(numbers, min_cell):
    users = dict(zip(itertools.product("fm", "ABC"), numbers, strict=True))
    result = audit(log_of(users), min_cell=min_cell)
    suppression = Suppression(result.comparisons, min_cell)
    sex, race, both = result["sex"], result["race"], result["sex", "race"]

    def is_hidden(comparison, *labels):
        [group] = [each for each in comparison.groups if each.labels == labels]
        return suppression.is_hidden(comparison, group)

    for comparison in result.comparisons:
        assert sum(suppression.is_hidden(comparison, group) for group in comparison.groups) != 1
        assert all(suppression.is_hidden(comparison, each) for each in comparison.groups if each.users < min_cell)
    for each in "fm":
        assert is_hidden(sex, each) + sum(is_hidden(both, each, other) for other in "ABC") != 1
    for other in "ABC":
        assert is_hidden(race, other) + sum(is_hidden(both, each, other) for each in "fm") != 1
