"""Logs made by hand."""

from fairbandits.service.log.events import Decided, Entry, Rewarded

START = 1_800_000_000.0
_SCORE = {"mean": 0.5, "width": 0.2, "exploration": 0.1, "fairness": -0.05, "total": 0.55}


def decided(number, groups=None, picked=("python",), time=START, **changed):
    """A decision with an id made of its number."""
    plain = {
        "id": f"{number:032x}",
        "time": time,
        "at": 0,
        "features": {"age": 1 / 3},
        "groups": groups or {},
        "picked": list(picked),
        "slate": len(picked) > 1,
        "offered": 3,
        "propensity": 1.0,
        "explored": False,
        "scores": [_SCORE] * len(picked),
        "contexts": [[[0, 2], [1 / 3, 1.0], 1]] * len(picked),
        "width": 5,
    }
    return Decided(**plain | changed)


def entries(rounds):
    """The entries of rounds: mappings of `decided`'s arguments, `reward` (None if it is missing) and `delay`."""
    log = []
    for number, round_ in enumerate(rounds):
        given = dict(round_)
        reward, delay = given.pop("reward"), given.pop("delay", 1.0)
        made = decided(number, **given)
        log.append(Entry(len(log) + 1, made))
        if reward is not None:
            log.append(Entry(len(log) + 1, Rewarded(made.id, made.time + delay, reward), made))
    return log
