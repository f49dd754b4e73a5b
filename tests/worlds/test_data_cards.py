"""The data cards: every count is computed from the published data, where they are present."""

from pathlib import Path

import numpy as np
import pytest

from fairbandits.worlds import MovieLens, load_dataset
from fairbandits.worlds.datasets.compas import clean_compas
from fairbandits.worlds.datasets.german import clean_german
from fairbandits.worlds.datasets.published import DATASETS
from fairbandits.worlds.datasets.tables import clean_adult
from fairbandits.worlds.datasets.warfarin import clean_warfarin

CARDS = (Path(__file__).parents[2] / "docs/reference/data_cards.md").read_text()


def rows_of(title):
    """Return the rows of the table on a card, without its two lines of header."""
    card = CARDS.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [line for line in card.splitlines() if line.startswith("| ")][2:]


@pytest.mark.parametrize(
    ("title", "name", "clean", "attributes", "labels"),
    [
        ("Adult income", "adult", clean_adult, ("sex", "race"), (">50K",)),
        ("COMPAS", "compas", clean_compas, ("race", "sex"), ("new charge",)),
        ("German Credit", "german", clean_german, ("age_band", "sex"), ("good",)),
        ("Warfarin dosing", "warfarin", clean_warfarin, ("race", "sex", "age_band"), ("low", "medium", "high")),
    ],
)
def test_groups_and_labels(published_folder, title, name, clean, attributes, labels):
    published_folder(name)
    table = clean(load_dataset(name, published_folder.folder))
    rows = []
    for attribute in attributes:
        groups = table[attribute].astype(object)
        for group in {*groups.tolist()} - {None}:
            found = table["label"][groups == group]
            shares = " | ".join(f"{np.mean(found == label):.1%}" for label in labels)
            rows.append(f"| {group} | {len(found):,} | {shares} |")
    assert sorted(rows) == sorted(rows_of(title))
    assert f"{DATASETS[name].rows:,} " in CARDS
    assert len(table) == DATASETS[name].rows or f"{len(table):,} " in CARDS


def test_ratings_of_groups(published_folder):
    parts = [f"movielens-{part}" for part in ("ratings", "users", "films")]
    published_folder(*parts)
    ratings, users, _ = (load_dataset(name, published_folder.folder) for name in parts)
    world = MovieLens(rounds=1, data=published_folder.folder)
    kept = np.isin(ratings["film"], world.arms)
    reward = (ratings["stars"][kept] - 1) / 4
    rows = []
    for attribute in ("sex", "age_band", "occupation"):
        group_of = dict(zip(users["user"].tolist(), users[attribute].tolist(), strict=True))
        of_rating = np.array([group_of[user] for user in ratings["user"][kept].tolist()])
        for group in {*group_of.values()}:
            is_in, n_users = of_rating == group, list(group_of.values()).count(group)
            rows.append(f"| {group} | {n_users:,} | {is_in.sum():,} | {reward[is_in].mean():.3f} |")
    assert sorted(rows) == sorted(rows_of("MovieLens-100K"))
    assert f"{kept.sum():,} ratings" in CARDS


def test_missing_values_of_warfarin(published_folder):
    published_folder("warfarin")
    patients = clean_warfarin(load_dataset("warfarin", published_folder.folder))
    unknown = [sum(group is None for group in patients[name]) for name in ("sex", "age_band")]
    assert "Sex is unknown for {} patients and age for {}".format(*unknown) in CARDS
    assert f"\n{(patients['VKORC1 -1639'] == 'unknown').sum():,} patients" in CARDS


def test_every_file_is_on_the_cards():
    for dataset in DATASETS.values():
        if dataset.name != "youtube":
            folder, _, file = dataset.member.partition("/")
            assert folder in CARDS
            assert Path(file).suffix in CARDS
    assert "FAIRBANDITS_DATA" in CARDS
