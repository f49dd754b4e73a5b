"""Logs made by hand: who got what, when."""

from fairbandits.service.log.events import Decided, Entry, Rewarded

START = 1_800_000_000.0
_SCORE = {"mean": 0.5, "width": 0.2, "exploration": 0.1, "fairness": -0.05, "total": 0.55}


def decided(number, groups, picked=("python",), time=START, explored=False):
    """A decision, numbered."""
    return Decided(
        id=f"{number:032x}",
        time=time,
        at=0,
        features={},
        groups=groups,
        picked=list(picked),
        slate=len(picked) > 1,
        offered=3,
        propensity=1.0,
        explored=explored,
        scores=[_SCORE] * len(picked),
        contexts=[],
        width=5,
    )


def entries(rounds):
    """The entries of rounds: a mapping of `decided` with `reward` (None where it never came) and `rewarded_at`."""
    log = []
    for number, round_ in enumerate(rounds):
        given = dict(round_)
        reward, delay = given.pop("reward"), given.pop("delay", 1.0)
        made = decided(number, **given)
        log.append(Entry(len(log) + 1, made))
        if reward is not None:
            log.append(Entry(len(log) + 1, Rewarded(made.id, made.time + delay, reward), made))
    return log
