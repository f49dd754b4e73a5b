"""MovieLens-100K: parsing, against facts counted without the library."""

from collections import Counter

import numpy as np
import pytest

from fairbandits.worlds.datasets.errors import DataError
from fairbandits.worlds.datasets.movielens import GENRES, read_films, read_ratings, read_users


def write(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    return path


def fields(path):
    """Return the columns of a file, split by hand."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(zip(*(line.split("\t") for line in lines[1:]), strict=True))


def test_ages_and_years_are_banded(tmp_path):
    header = "user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token\n"
    rows = [f"{user}\t{age}\tF\twriter\t1\n" for user, age in enumerate((7, 24, 25, 34, 35, 49, 50), start=1)]
    users = read_users(write(tmp_path, header + "".join(rows)))
    bands = ["under 25"] * 2 + ["25 to 34"] * 2 + ["35 to 49"] * 2 + ["50 and over"]
    assert users["age_band"].tolist() == bands
    header = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
    rows = ['1\t"Quoted" by halves"\t1979\tDrama War\n', "2\tT\t1995\tunknown\n", "3\tU\tunkonwn\tFilm-Noir\n"]
    films = read_films(write(tmp_path, header + "".join(rows)))
    assert films["year_band"].tolist() == ["before 1980", "1995 and later", "unknown"]
    assert [films[genre].sum() for genre in ("Drama", "War", "Film-Noir", "Comedy")] == [1, 1, 1, 0]


def test_ratings_as_published(published_folder):
    path = published_folder("movielens-ratings")
    ratings = read_ratings(path)
    stars = Counter(fields(path)[2])
    assert Counter(ratings["stars"].tolist()) == {float(text): count for text, count in stars.items()}
    assert len(ratings) == sum(stars.values()) == 100_000
    assert (len(set(ratings["user"].tolist())), len(set(ratings["film"].tolist()))) == (943, 1682)
    assert len(set(zip(ratings["user"].tolist(), ratings["film"].tolist(), strict=True))) == 100_000


def test_users_as_published(published_folder):
    path = published_folder("movielens-users")
    users = read_users(path)
    assert Counter(users["sex"].tolist()) == {"male": 670, "female": 273}
    assert Counter(users["occupation"].tolist()) == Counter(fields(path)[3])
    assert len(set(users["occupation"].tolist())) == 21
    is_young = [int(age) < 25 for age in fields(path)[1]]
    assert (users["age_band"] == "under 25").tolist() == is_young


def test_films_as_published(published_folder):
    path = published_folder("movielens-films")
    films = read_films(path)
    genres = Counter(" ".join(fields(path)[3]).split())
    assert {genre: int(films[genre].sum()) for genre in GENRES} | {"unknown": 2} == genres
    years = fields(path)[2]
    assert np.sum(films["year_band"] == "unknown") == sum(not year.isdigit() for year in years) == 2


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (
            read_ratings,
            "user_id:token\titem_id:token\n",
            "line 1: the first line must name the column 'rating:float'",
        ),
        (
            read_ratings,
            "user_id:token\titem_id:token\trating:float\n1\t2\t6\n",
            "line 2: rating:float must be a number from 1 to 5, got '6'",
        ),
        (
            read_users,
            "user_id:token\tage:token\tgender:token\toccupation:token\n1\t20\tX\twriter\n",
            "line 2: gender:token must be one of F, M, got 'X'",
        ),
    ],
)
def test_damaged_files_are_errors_that_name_the_line(tmp_path, read, text, message):
    with pytest.raises(DataError, match=message):
        read(write(tmp_path, text))
