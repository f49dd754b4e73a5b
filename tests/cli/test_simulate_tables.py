"""`fairbandits simulate` in worlds from tables, and with changes of the world."""

from pathlib import Path

import pytest

from fairbandits.cli import main
from tests.worlds.tables import labelled_table, ratings_table, uniform_log

RATINGS = ["--user", "user", "--item", "film", "--reward", "stars"]


@pytest.fixture(autouse=True)
def tables(monkeypatch, tmp_path):
    """Give every test its own working directory with tables."""
    monkeypatch.chdir(tmp_path)
    ratings = ratings_table()
    ratings.to_csv("ratings.csv", index=False)
    ratings[["user", "film", "stars"]].to_parquet("bare.parquet")
    ratings[["user", "sex", "age"]].drop_duplicates().to_csv("users.csv", index=False)
    ratings[["film", "genre"]].drop_duplicates().to_csv("items.tsv", index=False, sep="\t")
    labelled_table().to_csv("doses.csv", index=False)
    uniform_log().to_csv("log.csv", index=False)


def output_of(capsys, *arguments):
    assert main(["simulate", "--rounds", "60", *arguments]) == 0
    return capsys.readouterr().out


def test_ratings(capsys):
    output = output_of(capsys, "--world", "ratings.csv", *RATINGS, "--group", "sex", "--arms", "12")
    source, title = output.splitlines()[:2]
    assert source.startswith("ratings.csv: ")
    assert " of 12 items by 20 users (" in source
    assert title == "FairLinUCB in RatingsWorld, seed 0, 60 rounds"
    assert "cmr_female" in output
    assert Path("results/simulate_FairLinUCB_group.png").is_file()


def test_ratings_with_tables_of_users_and_items(capsys):
    files = ["--world", "bare.parquet", "--users", "users.csv", "--items", "items.tsv"]
    output = output_of(capsys, *files, *RATINGS, "--group", "sex,age", "--with", "offered=3")
    assert "cmr_sex_female" in output
    assert "reward_gap_age" in output


def test_changes_of_a_table_of_ratings(capsys):
    table = ["--world", "ratings.csv", *RATINGS, "--group", "sex", "--with", "offered=5"]
    plain = output_of(capsys, *table)
    seen = {plain.partition("rounds")[2]}
    for changes, title in [
        (["--delay", "0,20"], "delay=0,20"),
        (["--missing", "female=0.6"], "missing=female=0.6"),
        (["--bias", "female=-0.2"], "bias=female=-0.2"),
        (["--noise", "0.1"], "noise=0.1"),
        (["--noise", "bernoulli"], "noise=bernoulli"),
        (["--drift", "0.5"], "drift=0.5"),
        (["--present", "0.5"], "present=0.5"),
        (["--present", "0.5", "--period", "7"], "present=0.5, period=7"),
    ]:
        output = output_of(capsys, *table, *changes)
        assert f"FairLinUCB in RatingsWorld, {title}, seed 0, 60 rounds" in output
        seen.add(output.partition("rounds")[2])
    assert len(seen) == 9  # every change has an effect


@pytest.mark.parametrize("world", ["Compas", "MovieLens"])
def test_the_source_of_the_data_is_that_of_the_option(capsys, world):
    for changes in ([], ["--delay", "3"]):
        output = output_of(capsys, "--world", world, "--data", "stand-in", *changes)
        assert output.startswith("STAND-IN data")


def test_labelled_rows(capsys):
    output = output_of(capsys, "--world", "doses.csv", "--label", "dose", "--group", "sex", "--policy", "LinUCB")
    assert "LinUCB in LabelledWorld, seed 0, 60 rounds" in output


def test_a_replay_reports_what_is_unknown(capsys):
    log = ["--world", "log.csv", "--arm", "shown", "--reward", "click", "--group", "sex"]
    output = output_of(capsys, *log, "--with", "propensity=p")
    found = dict(line.split() for line in output.splitlines() if line.count(" ") and len(line.split()) == 2)
    assert found["utility_loss"] == found["regret_male"] == "unknown"
    assert 0 <= float(found["reward_gap"]) <= 1


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        (["--delay", "10"], "delay=10"),
        (["--delay", "0,20", "--missing", "0.5"], "delay=0,20, missing=0.5"),
        (["--missing", "a=0.5, b=0.1"], "missing=a=0.5, b=0.1"),
        (["--bias", "b=-0.2", "--noise", "bernoulli"], "bias=b=-0.2, noise=bernoulli"),
        (["--bias", "-0.2", "--noise", "0.1"], "bias=-0.2, noise=0.1"),
        (["--drift", "0.5", "--present", "0.6"], "drift=0.5, present=0.6"),
        (["--present", "0.6", "--period", "10"], "present=0.6, period=10"),
    ],
)
def test_changes_of_any_world(capsys, changes, title):
    output = output_of(capsys, "--world", "LinearWorld", *changes)
    assert f"FairLinUCB in LinearWorld, {title}, seed 0, 60 rounds" in output


def test_changes_of_a_table_and_of_a_custom_world(capsys):
    output = output_of(capsys, "--world", "doses.csv", "--label", "dose", "--group", "sex", "--missing", "male=1")
    assert "LabelledWorld, missing=male=1" in output
    Path("coins.py").write_text(
        "import numpy as np\n"
        "from fairbandits.worlds import Visit\n"
        "class Coins:\n"
        "    def __init__(self, rounds=10):\n"
        "        self.rounds = rounds\n"
        "    def __len__(self):\n"
        "        return self.rounds\n"
        "    def visits(self):\n"
        "        for number in range(self.rounds):\n"
        "            yield Visit(np.eye(2), 'ab'[number % 2], np.array([0.2, 0.8]), np.array([0.0, 1.0]))\n"
    )
    assert "Coins, delay=3" in output_of(capsys, "--world", "coins:Coins", "--delay", "3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--world", "ratings.csv"],
            "--world ratings.csv is a table; give --user, --item and --reward for ratings, --label for labelled "
            "rows, or --arm and --reward for decisions made uniformly at random",
        ),
        (
            ["--world", "ratings.csv", *RATINGS[:4], "--group", "sex"],
            "--reward must be given for a table of ratings",
        ),
        (["--world", "ratings.csv", *RATINGS], "--group must be given for a table of ratings"),
        (
            ["--world", "doses.csv", "--label", "dose", "--arm", "x", "--group", "sex"],
            "--arm must not be given for a table of labelled rows",
        ),
        (
            [
                "--world",
                "log.csv",
                "--arm",
                "shown",
                "--reward",
                "click",
                "--group",
                "sex",
                "--users",
                "users.csv",
            ],
            "--users must not be given for a table of decisions",
        ),
        (
            ["--world", "LinearWorld", "--user", "x"],
            "--user needs a table as --world, such as ratings.csv, got --world LinearWorld",
        ),
        (
            ["--group", "sex"],
            "--group needs a table as --world, such as ratings.csv, got --world StudentsAndVideos",
        ),
        (
            ["--world", "no.csv", "--label", "x", "--group", "sex"],
            "table must be a data frame or the path of a CSV or Parquet file, got 'no.csv'",
        ),
        (["--world", "LinearWorld", "--delay", "soon"], "--delay must be written as 50 or 0,100, got 'soon'"),
        (["--world", "LinearWorld", "--delay", "1,2,3"], "delay must be an integer of at least 0, got [1, 2, 3]"),
        (["--world", "LinearWorld", "--period", "10"], "--period must be given with --present"),
        (
            ["--world", "doses.csv", "--label", "dose", "--group", "sex", "--noise", "0.1"],
            "noise must not be a number where all rewards of the first 100 rounds are 0 or 1",
        ),
        (["--world", "LinearWorld", "--noise", "0,1"], "--noise must be written as 0.1 or bernoulli, got '0,1'"),
        (
            ["--world", "LinearWorld", "--missing", "a=most"],
            "--missing must be written as 0.3 or female=0.3,male=0.1, got 'a=most'",
        ),
        (
            ["--world", "LinearWorld", "--bias", "c=0.1"],
            "bias must name groups of the world, got 'c'; the groups are a, b",
        ),
        (
            ["--world", "doses.csv", "--label", "dose", "--group", "sex", "--arms", "3"],
            "LabelledWorld has no parameter",
        ),
    ],
)
def test_mistakes_are_refused_in_one_line(capsys, arguments, message):
    assert main(["simulate", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
