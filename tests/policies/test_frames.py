"""Data frames as input: names are checked, an index names the arms, and what is ambiguous is refused."""

import subprocess
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fairbandits import Catalogue, LinUCB, Policy

NAMES = ["age", "price", "stars"]
VALUES = np.random.default_rng(0).random((4, 3))
FRAME = pd.DataFrame(VALUES, columns=NAMES)
IDS = ["w", "x", "y", "z"]
NAMED = FRAME.set_axis(IDS)
KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "narwhals": nw.from_native,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "nullable": lambda frame: frame.convert_dtypes(),
}
PEOPLE = pd.DataFrame({"sex": ["f", "m", None], "band": [1.0, None, 2.0], "vip": [True, False, True]})
KEYS = [
    (("sex", "f"), ("band", 1), ("vip", "true")),
    (("sex", "m"), ("vip", "false")),
    (("band", 2), ("vip", "true")),
]


def message_of(call):
    with pytest.raises(ValueError, match=r".") as error:
        call()
    return str(error.value)


def trained(frame=FRAME):
    policy = LinUCB(random_state=0)
    policy.learn(policy.choose(frame, "f"), 0.5)
    return policy


# -- contexts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_its_values_with_names(kind):
    ours, theirs = LinUCB(random_state=0), LinUCB(random_state=0)
    for i in range(8):
        one = ours.choose(KINDS[kind](FRAME * (i + 1)), "f")
        two = theirs.choose(VALUES * (i + 1), "f")
        assert (one.arm, one.score) == (two.arm, two.score)
        ours.learn(one, i / 8)
        theirs.learn(two, i / 8)
    assert ours.feature_names_in_.tolist() == NAMES
    assert theirs.feature_names_in_ is None


@settings(deadline=None, max_examples=30)
@given(
    arrays.arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.floats(-9, 9)),
    st.sampled_from([pd.DataFrame, lambda values, columns: pl.DataFrame(values, schema=columns, orient="row")]),
)
def test_a_frame_and_its_values_give_the_same_decisions(values, make):
    frame = make(values, columns=[f"x{j}" for j in range(values.shape[1])])
    one, two = LinUCB(random_state=0).choose(frame), LinUCB(random_state=0).choose(values)
    assert (one.arm, one.probability) == (two.arm, two.probability)
    assert one.scores.total.tolist() == two.scores.total.tolist()


@settings(deadline=None, max_examples=30)
@given(st.permutations(NAMES).filter(lambda names: names != NAMES))
def test_permuted_columns_are_refused(names):
    policy = trained()
    for frame in (FRAME[names], pl.from_pandas(FRAME[names])):
        before = policy.checksum()
        assert "in the same order" in message_of(lambda frame=frame: policy.choose(frame))
        assert "in the same order" in message_of(lambda frame=frame: policy.choose_many([frame]))
        assert "in the same order" in message_of(lambda frame=frame: policy.learn_logged(frame, IDS, [0.5] * 4))
        assert policy.checksum() == before
        policy.choose(frame[list(policy.feature_names_in_)])


RULE = "contexts must have the same columns as earlier data frames, in the same order: "
REMEDY = "; select them with frame[list(policy.feature_names_in_)]"
ENCODE = "; encode it first, or pass the tables to a Recommender"
DROP = "or drop it (reset_index(drop=True))"

CONTEXTS = {
    "permuted": (FRAME[NAMES[::-1]], f"{RULE}column 0 must be 'age', got 'stars'{REMEDY}"),
    "renamed": (FRAME.rename(columns={"price": "cost"}), f"{RULE}column 1 must be 'price', got 'cost'{REMEDY}"),
    "one more": (FRAME.assign(more=1), f"{RULE}column 3 must not exist, got 'more'{REMEDY}"),
    "one less": (FRAME[NAMES[:2]], f"{RULE}column 2 must be 'stars', got no column{REMEDY}"),
    "polars": (pl.from_pandas(FRAME[NAMES[::-1]]), f"{RULE}column 0 must be 'age', got 'stars'{REMEDY}"),
    "numbers as names": (
        pd.DataFrame(VALUES),
        "contexts must have non-empty strings as column names, got 0; rename the columns, or pass an array",
    ),
    "the same name twice": (
        FRAME.set_axis(["age", "age", "stars"], axis=1),
        "contexts must have unique column names, got 'age' twice; rename one",
    ),
    "text": (
        FRAME.assign(price=["a", "b", "c", None]),
        f"contexts must have numbers in every column, got text in column 'price'{ENCODE}",
    ),
    "text of polars": (
        pl.from_pandas(FRAME).with_columns(price=pl.lit("a")),
        f"contexts must have numbers in every column, got text in column 'price'{ENCODE}",
    ),
    "categories": (
        FRAME.assign(price=pd.Categorical([1, 2, 3, 4])),
        f"contexts must have numbers in every column, got categories in column 'price'{ENCODE}",
    ),
    "dates": (
        FRAME.assign(price=pd.date_range("2020-01-01", periods=4)),
        f"contexts must have numbers in every column, got dates in column 'price'{ENCODE}",
    ),
    "lists": (
        FRAME.assign(price=[[1], [2], [3], [4]]),
        f"contexts must have numbers in every column, got objects in column 'price'{ENCODE}",
    ),
    "missing": (
        FRAME.assign(price=pd.array([1, None, 2, 3], dtype="Int64")),
        "contexts must be finite and at most 1e+50 in absolute value, got 1 entry that is not; clean or impute "
        "them first",
    ),
    "lazy": (
        pl.from_pandas(FRAME).lazy(),
        "contexts must be a data frame in memory, got LazyFrame; call collect() or compute() first",
    ),
    "an index of floats": (
        FRAME.set_axis([1.0, 2.0, 3.0, 4.0]),
        f"contexts must have text or integers as index, which names the arms, got 1.0; convert it, {DROP}",
    ),
    "an index of truths": (
        FRAME[:2].set_axis([True, False]),
        f"contexts must have text or integers as index, which names the arms, got True; convert it, {DROP}",
    ),
    "an index with gaps": (
        FRAME.set_axis(pd.Index(["w", None, "y", "z"], dtype=object)),
        f"contexts must have text or integers as index, which names the arms, got None; convert it, {DROP}",
    ),
    "an index twice": (
        FRAME.set_axis(["w", "x", "w", "z"]),
        "arm ids must be unique, got ['w'] more than once",
    ),
    "an index of levels": (
        FRAME.set_axis(pd.MultiIndex.from_product([["a", "b"], [1, 2]])),
        "contexts must have a single id per row as its index, got 2 levels; join them, or drop the index "
        "(reset_index(drop=True))",
    ),
}


@pytest.mark.parametrize("case", CONTEXTS)
def test_frames_that_are_refused(case):
    frame, message = CONTEXTS[case]
    policy = trained()
    before, ledger = policy.checksum(), policy._ledger.to_json()
    assert message_of(lambda: policy.choose(frame)) == message
    assert message_of(lambda: policy.score([frame])) == message
    assert (policy.checksum(), policy._ledger.to_json()) == (before, ledger)


def test_names_are_known_from_the_first_frame_on():
    policy = LinUCB(random_state=0)
    assert policy.feature_names_in_ is None
    message_of(lambda: policy.choose(FRAME.assign(price=np.inf)))
    assert policy.feature_names_in_ is None, "a frame that was refused has no say"
    policy.choose(FRAME)
    assert "in the same order" in message_of(lambda: policy.choose(FRAME[NAMES[::-1]]))
    assert policy.choose(VALUES).arm in range(4), "arrays have no names"
    other = LinUCB(random_state=0)
    other.choose(FRAME)
    other.learn(other.choose(VALUES[:, :2]), 0.5)
    assert other.feature_names_in_ is None, "it has learned contexts of another width"


def test_names_are_saved_and_merged(tmp_path):
    policy = trained()
    policy.save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy")
    assert loaded.feature_names_in_.tolist() == NAMES
    assert "in the same order" in message_of(lambda: loaded.choose(FRAME[NAMES[::-1]]))
    assert LinUCB(random_state=1).merge(policy).feature_names_in_.tolist() == NAMES
    assert policy.merge(trained(VALUES)).feature_names_in_.tolist() == NAMES
    assert message_of(lambda: policy.merge(trained(FRAME[NAMES[::-1]]))) == (
        "policies must have learned contexts with the same columns to merge, got different names"
    )


def test_mixed_types_of_numbers():
    frame = pd.DataFrame({"a": [True, False], "b": [1, 2], "c": [0.5, 1.5], "d": pd.array([1, 2], dtype="Int64")})
    expected = [[1.0, 1.0, 0.5, 1.0], [0.0, 2.0, 1.5, 2.0]]
    for given_frame in (frame, pl.from_pandas(frame), frame.astype(object)):
        policy = LinUCB(random_state=0)
        decision = policy.choose(given_frame)
        assert decision.context.tolist() == expected[decision.index]


# -- arms ----------------------------------------------------------------------------------------------


def test_an_index_names_the_arms():
    policy = LinUCB(random_state=0)
    assert policy.choose(NAMED).arms == tuple(IDS)
    assert policy.choose(NAMED, arms=IDS).arms == tuple(IDS)
    assert policy.choose(FRAME.loc[[3, 1, 2]]).arms == (3, 1, 2)
    assert policy.choose_many([NAMED, NAMED * 2])[1].arms == tuple(IDS)
    assert policy.choose(FRAME, arms=IDS).arms == tuple(IDS), "a default index is no name"
    assert policy.choose(nw.from_native(NAMED)).arms == tuple(IDS)
    assert message_of(lambda: policy.choose(NAMED, arms=IDS[::-1])) == (
        "arms must match the index of contexts if both are given, got other ids; drop the index "
        "(reset_index(drop=True)), or omit arms"
    )


def test_a_catalogue_of_a_frame():
    assert Catalogue(NAMED, 1).arms == tuple(IDS)
    assert Catalogue(pl.from_pandas(FRAME), 1, IDS).arms == tuple(IDS)
    assert message_of(lambda: Catalogue(NAMED, 1, IDS[::-1])) == (
        "arms must match the index of features if both are given, got other ids; drop the index "
        "(reset_index(drop=True)), or omit arms"
    )
    assert message_of(lambda: Catalogue(FRAME.assign(age="a"), 1)) == (
        f"features must have numbers in every column, got text in column 'age'{ENCODE}"
    )


ORDER = "arms must be ordered, got a {}; pass a list with one id per context"


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (set(IDS), ORDER.format("set")),
        (frozenset(IDS), ORDER.format("frozenset")),
        (dict.fromkeys(IDS), ORDER.format("dict")),
        (dict.fromkeys(IDS).keys(), ORDER.format("dict_keys")),
        (FRAME, "arms must be a sequence of ids, one per row of contexts, got a DataFrame"),
        ([True, 1, 2, 3], "arm id must be a string or an integer, got True of type bool; write 'true' or 1"),
        ([1.0, 2, 3, 4], "arm id must be a string or an integer, got 1.0 of type float; write 1 or '1'"),
        (
            pd.Series([0.5, 1, 2, 3]),
            "arms must have text or integers as values, got 0.5 in row 0; bin numbers first",
        ),
        (pd.Series(["a", None, "b", "c"]), "arm id must be a string or an integer, got None of type NoneType; "),
    ],
)
def test_arms_that_are_refused(arms, message):
    policy, catalogue = LinUCB(), Catalogue(VALUES, 2)
    for call in (
        lambda: policy.choose(VALUES, arms=arms),
        lambda: policy.choose_many(VALUES[None], arms=arms),
        lambda: Catalogue(VALUES, 2, arms),
        lambda: catalogue.offer([1.0, 2.0], arms=arms),
        lambda: policy.choose(catalogue.offer([1.0, 2.0]), arms=arms),
    ):
        assert message_of(call).startswith(message)


def test_columns_and_arrays_of_ids():
    for arms in (pd.Series(IDS, name="id"), pl.Series(IDS), np.array(IDS), pd.Index(IDS), iter(IDS)):
        assert LinUCB().choose(VALUES, arms=arms).arms == tuple(IDS)
    assert LinUCB().choose(VALUES, arms=np.array([3.0, 2.0, 1.0, 0.0])).arms == (3, 2, 1, 0)


# -- many users ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (
            [FRAME, FRAME[NAMES[::-1]]],
            "contexts of all users must have the same columns, got a difference between users 0 and 1; "
            "select the same columns: frame[names]",
        ),
        (
            [NAMED, NAMED.set_axis(IDS[::-1])],
            "contexts of all users must have the same index, got a difference between users 0 and 1; "
            "offer the same arms in the same order, and restrict the arms of each user with eligible",
        ),
        ([FRAME, VALUES], "contexts must be a data frame for every user, or for none, got ndarray for user 1"),
        (
            [FRAME, FRAME[:2]],
            "contexts of all users must have one row per arm on offer, got 2 row(s) for user 1 and 4 for user 0; "
            "restrict the arms of each user with eligible",
        ),
        (
            FRAME,
            "contexts of many users must be an array of shape (n_users, n_arms, n_features) or a sequence of "
            "matrices, one per user, got DataFrame",
        ),
    ],
)
def test_frames_of_many_users(frames, message):
    assert message_of(lambda: LinUCB().choose_many(frames)) == message


# -- groups --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "categories"])
def test_a_frame_of_groups(kind):
    people = PEOPLE.astype({"sex": "category"}) if kind == "categories" else KINDS[kind](PEOPLE)
    decisions = LinUCB(random_state=0).choose_many(np.stack([VALUES] * 3), people)
    assert [decision.group for decision in decisions] == KEYS


@pytest.mark.parametrize(
    ("column", "attribute"),
    [
        (PEOPLE.sex, "sex"),
        (pl.Series("sex", ["f", "m", None]), "sex"),
        (PEOPLE.sex.rename(None), "group"),
        (pl.Series(["f", "m", None]), "group"),
        (np.array(["f", "m", None], object), "group"),
        (pd.Series([{"group": "f"}, {"group": "m"}, None]), "group"),
    ],
)
def test_a_column_of_groups(column, attribute):
    decisions = LinUCB(random_state=0).choose_many(np.stack([VALUES] * 3), column)
    assert [decision.group for decision in decisions] == [((attribute, "f"),), ((attribute, "m"),), ()]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (PEOPLE[:2], "groups must have one group per user, None if unknown, got 2 for 3 user(s)"),
        (
            PEOPLE.to_numpy(),
            "groups must have one entry per user, got an array of shape (3, 3); pass a data frame, or a mapping "
            "for each user, so that attributes have names",
        ),
        (PEOPLE.set_axis([0, 1, 2], axis=1), "groups must have non-empty strings as column names, got 0; "),
        (PEOPLE.sex.rename(3), "attribute of a group must be a non-empty string, got 3"),
        (
            PEOPLE.assign(band=[0.5, 1, 2]),
            "groups['band'] must have text or integers as values, got 0.5 in row 0; bin numbers first",
        ),
        (
            PEOPLE.assign(band=pd.Series([1, True, 2], dtype=object)),
            "groups['band'] must not mix types that may be equal, got bool and int; ",
        ),
        (
            PEOPLE.assign(born=pd.Timestamp("2020-01-01")),
            "groups['born'] must have text or integers as values, got Timestamp('2020-01-01 00:00:00') of type "
            "Timestamp in row 0; write it as text",
        ),
        ({"f", "m", "x"}, "groups must be ordered, got a set; pass a list with one group per user"),
        (
            ["f", True, "m"],
            "group must be a string, an integer, or a mapping of attributes to these, got True of type bool; "
            "write 'true' or 1, and give None for an unknown group",
        ),
        (
            ["f", 1.0, "m"],
            "group must be a string, an integer, or a mapping of attributes to these, got 1.0 of type float; "
            "write 1 or '1', and give None for an unknown group",
        ),
    ],
)
def test_groups_that_are_refused(groups, message):
    policy = LinUCB()
    assert message_of(lambda: policy.choose_many(np.stack([VALUES] * 3), groups)).startswith(message)
    assert policy.groups.attributes == {}


def test_the_group_of_a_row():
    policy = LinUCB(random_state=0)
    assert policy.choose(VALUES, PEOPLE[["sex"]].iloc[0]).group == (("sex", "f"),)
    assert policy.choose(VALUES, PEOPLE[["sex"]].iloc[2]).group == ()
    assert policy.choose(VALUES, PEOPLE.iloc[[0]]).group == KEYS[0]
    assert policy.choose(VALUES, pl.from_pandas(PEOPLE)[1]).group == KEYS[1]
    assert message_of(lambda: policy.choose(VALUES, PEOPLE[["sex", "vip"]].iloc[0])) == (
        "group must have strings or integers as values, got True for 'vip': extracting a row changes the types "
        "of its columns; pass a data frame with one row, such as frame.loc[[label]]"
    )
    assert message_of(lambda: policy.choose(VALUES, PEOPLE)) == (
        "group must describe one user, got a data frame with 3 row(s); use choose_many"
    )
    assert message_of(lambda: policy.choose(VALUES, PEOPLE.sex)) == (
        "group must be a string, an integer, or a mapping of attributes to these, got a Series whose index has no "
        "attributes; use choose_many for many users"
    )


# -- rewards -------------------------------------------------------------------------------------------


def test_rewards_in_columns():
    policy = LinUCB(random_state=0)
    decisions = policy.choose_many(np.stack([VALUES] * 3))
    assert message_of(lambda: policy.learn_many(decisions, pd.DataFrame({"reward": [0.1, 0.2, 0.3]}))) == (
        "rewards must be a list or a column with one reward per decision, got a DataFrame; pass one of its columns"
    )
    assert policy.rounds_learned == 0
    policy.learn_many(decisions[:1], pd.Series([0.1], index=["x"]))
    policy.learn_many(decisions[1:], pl.Series([0.2, 0.3]))
    assert policy.rounds_learned == 3


# -- the core alone ------------------------------------------------------------------------------------


def test_frames_are_read_without_importing_their_libraries():
    code = (
        "import sys, numpy as np\n"
        "from fairbandits import LinUCB\n"
        "policy = LinUCB()\n"
        "policy.learn(policy.choose([[1.0], [2.0]], 'f', ['a', 'b']), 0.5)\n"
        "policy.choose_many(np.ones((2, 2, 1)), ['f', None], eligible=[[0], None])\n"
        "policy.learn_logged([[1.0]], ['a'], [0.5], ['f'])\n"
        "print(*({'pandas', 'polars', 'narwhals', 'pyarrow'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_a_table_of_pyarrow_needs_narwhals(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    assert message_of(lambda: LinUCB().choose(pa.table({"a": [1.0]}))) == (
        "contexts must be an array or a pandas or polars data frame, got Table; "
        "install narwhals to pass it directly"
    )
