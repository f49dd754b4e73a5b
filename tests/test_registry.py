"""Parsing of `Name(parameter=value, ...)`, and policies and worlds by name."""

import pytest

from fairbandits import registry

VALUES = {
    "3": 3,
    "-1": -1,
    "1e-3": 0.001,
    "true": True,
    "False": False,
    "null": None,
    "shared": "shared",
    "sex x race": "sex x race",
    "stand-in": "stand-in",
    "2007-03-02": "2007-03-02",
    "3in": "3in",
    "/data/my folder (1)": "/data/my folder (1)",
    "my.module:Class": "my.module:Class",
    "": "",
    "'a word'": "a word",
    '"a:B"': "a:B",
    "[0, 5]": [0, 5],
    "(0, 5)": [0, 5],
    "[sex, race]": ["sex", "race"],
    '{"Model": {"kind": "shared"}}': {"Model": {"kind": "shared"}},
    "Model()": {"Model": {}},
    "Model(kind=shared, discount=0.999)": {"Model": {"kind": "shared", "discount": 0.999}},
    "Model(feature_map=a.b:C(n=[1, -2.5]))": {"Model": {"feature_map": {"a.b:C": {"n": [1, -2.5]}}}},
    "Model(feature_map=a.b:C)": {"Model": {"feature_map": "a.b:C"}},
    "Model(link=semi-logistic)": {"Model": {"link": "semi-logistic"}},
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text):
    value = registry.parse_value(text)
    assert value == VALUES[text]
    assert type(value) is type(VALUES[text])


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("LinUCB", "LinUCB", {}),
        (" LinUCB ( ) ", "LinUCB", {}),
        ("FairLinUCB(gamma=2, model=shared,)", "FairLinUCB", {"gamma": 2, "model": "shared"}),
        ("mine:Hopeful(bonus=0.3)", "mine:Hopeful", {"bonus": 0.3}),
        ("LinUCB(reward_range=[1, 5])", "LinUCB", {"reward_range": [1, 5]}),
        ("A(data=stand-in, n=3)", "A", {"data": "stand-in", "n": 3}),
        (
            "A(t=/srv/my table.csv,u=~/u.csv, x=[a,native-in])",
            "A",
            {"t": "/srv/my table.csv", "u": "~/u.csv", "x": ["a", "native-in"]},
        ),
        ("A(t=/data/year=2020/r.csv, day=2007-03-02)", "A", {"t": "/data/year=2020/r.csv", "day": "2007-03-02"}),
        (
            "A(w=B(t=/r.csv, f=a.b:C(n=1)), g='x=y z, in')",
            "A",
            {"w": {"B": {"t": "/r.csv", "f": {"a.b:C": {"n": 1}}}}, "g": "x=y z, in"},
        ),
        ("A(w=m.n:C, t=C:\\data\\r.csv)", "A", {"w": "m.n:C", "t": "C:\\data\\r.csv"}),
    ],
)
def test_calls(text, name, params):
    assert registry.parse_call(text) == (name, params)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LinUCB(alpha=1", r"must be written as Name\(.*got 'LinUCB\(alpha=1': '\(' was never closed"),
        ("LinUCB(alpha=)", r"got 'LinUCB\(alpha=\)': "),
        ("LinUCB(alpha=[1, 2)", r"got 'LinUCB\(alpha=\[1, 2\)': "),
        ("LinUCB(data=/srv/a, alpha=[1, 2)", r"got 'LinUCB\(data=/srv/a, alpha=\[1, 2\)': "),
        ("LinUCB(/srv/a)", "a parameter must be written as name=value, for example gamma=3, got"),
        ("LinUCB(alpha=1)(ridge=2)", "something follows the closing bracket"),
        ("LinUCB(alpha=1), Uniform(model=shared)", "something follows the closing bracket"),
        ("LinUCB(0.5)", r"a parameter must be written as name=value, for example gamma=3, got '0\.5'"),
        ("LinUCB(**alpha)", r"a parameter must be written as name=value, for example gamma=3, got '\*\*alpha'"),
        ("LinUCB(alpha=1, alpha=2)", "alpha must be given only once, got it twice"),
    ],
)
def test_malformed_calls_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        registry.parse_call(text)


def test_lists_are_split_outside_of_brackets():
    assert registry.split_list("A(x=[1,2], y=B(z=3)), B,c:D") == ["A(x=[1,2], y=B(z=3))", "B", "c:D"]
    assert registry.split_list("a folder/policy.safetensors, LinUCB()") == [
        "a folder/policy.safetensors",
        "LinUCB()",
    ]


def test_defaults_fill_in_what_the_text_omits():
    policy = registry.make_policy("LinUCB(ridge=2)", seed=1, defaults={"ridge": 3, "alpha": 0.1, "unknown": 1})
    assert (policy.ridge, policy.alpha, policy.random_state) == (2, 0.1, 1)
