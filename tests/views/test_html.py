"""HTML views: escaped, small whatever the size of the object, and without scripts."""

import re
from html.parser import HTMLParser

import pytest

from fairbandits.views import html
from fairbandits.views.html import MAX_ROWS, Markup
from tests.views.objects import NAMES, NASTY, shown


class Checker(HTMLParser):
    """The text and the tags of a fragment; every tag must be closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text, self.attributes = [], set(), [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def parse(fragment):
    checker = Checker()
    checker.feed(fragment)
    checker.close()
    assert checker.open == []
    return checker


@pytest.fixture(scope="module")
def views():
    return {name: each._repr_html_() for name, each in shown().items()}


@pytest.mark.parametrize("name", NAMES)
def test_views_are_small_and_have_at_most_twenty_rows(views, name):
    assert len(views[name]) < 8_000
    for table in re.findall(r"<tbody>(.*?)</tbody>", views[name]):
        assert table.count("<tr>") <= MAX_ROWS


@pytest.mark.parametrize("name", NAMES)
def test_views_contain_no_scripts_and_are_well_formed(views, name):
    checker = parse(views[name])
    assert checker.tags <= {
        "div",
        "style",
        "p",
        "strong",
        "span",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "i",
        "b",
    }
    assert checker.attributes <= {"class", "style", "aria-hidden"}


@pytest.mark.parametrize("name", ["groups", "trace", "audit", "evaluation", "comparison", "decision", "catalogue"])
def test_names_are_escaped(views, name):
    assert "&lt;script&gt;" in views[name]
    assert NASTY[:8] in "".join(parse(views[name]).text)


def test_what_is_left_out_is_counted(views):
    assert "and 30 more</p>" in views["groups"]
    assert "and 130 more</p>" in views["slate"]
    assert "and 10 more</p>" in views["comparison"]


def test_views_follow_the_theme(views):
    style = re.search("<style>(.*?)</style>", views["groups"]).group(1)
    assert "prefers-color-scheme:dark" in style
    assert "[data-jp-theme-light=false]" in style
    # Text has a colour of the theme, or that around it.
    assert set(re.findall(r"[{;]color:([^;}]+)", style)) == {
        "var(--jp-content-font-color1,inherit)",
        "var(--jp-content-font-color2,inherit)",
        "inherit",
    }


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("policy", ["FairLinUCB", "100 rounds learned", "gamma", "Reward gap"]),
        ("gap", ["95% CI", "advantaged", "region 4", "disadvantaged"]),
        ("groups", ["mean reward", "95% CI", "rewards", "Reward gap"]),
        ("decision", ["probability", "exploration", "fairness", "one of 200 arms"]),
        ("slate", ["150 arms of 200", "1. "]),
        ("many", ["3,000 decisions", "share"]),
        ("trace", ["Trace of 1,000,000 rounds", "utility loss", "reward gap, observed", "train (500,000 rounds)"]),
        ("audit", ["Audit of dataframe", "mean reward", "conclusion"]),
        ("evaluation", ["Off-policy evaluation", "the log", "effective rows"]),
        ("comparison", ["Comparison of 30 policies in 30 worlds", "Pareto front"]),
        ("world", ["below the oracle"]),
        ("catalogue", ["200 arms", "and 190 more"]),
        ("offer", ["Offer to 1 user"]),
        ("individual gaps", ["500 users: mean gap"]),
        ("new policy", ["no rewards yet"]),
    ],
)
def test_what_views_show(views, name, texts):
    text = " ".join(parse(views[name]).text)
    assert [each for each in texts if each not in text] == []


def test_small_groups_stay_hidden():
    from fairbandits.audit import audit
    from tests.audit.logs import of_users, with_group

    frame = with_group(of_users(lambda day: 0.1, n=20_000, n_users=1_000), "tiny", 3)
    view = audit(frame, min_cell=10)._repr_html_()
    row = re.search(r"<tr><th>tiny</th>(.*?)</tr>", view).group(1)
    assert "&lt; 10" in row
    assert ">3<" not in row


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), 0.0, 1e9])
def test_a_gap_with_any_interval_has_a_view(bound):
    from fairbandits.fairness.gaps import no_gap

    assert "95% CI" in parse(no_gap(0.5, -bound, bound, 0.95)._repr_html_()).text


def test_rewards_of_any_size_have_enough_digits():
    from fairbandits import GroupRewards

    groups = GroupRewards(reward_range=(0.0, 0.001))
    for reward in (0.0002, 0.0003):
        groups.add(reward, "a")
        groups.add(2 * reward, "b")
    assert "0.00025" in groups._repr_html_()


def test_the_scale_of_a_bar_may_be_a_point():
    assert html.interval_bar(0.5, 0.5, 0.5, (0.5, 0.5)) == ""
    assert html.interval_bar(float("nan"), 0.0, 1.0, (0.0, 1.0)) == ""
    assert isinstance(html.interval_bar(0.5, 0.2, 0.6, (0.0, 1.0)), Markup)
