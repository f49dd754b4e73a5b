"""Traffic through the API of a small service, with given rewards."""

import random

from tests.service.small import USER

_BATCH = 100


def send(client, n, rewards, seed=0):
    """Send n rounds of women and men in alternation; `rewards` has the mean of each, None if all are missing."""
    chance = random.Random(seed)
    for start in range(0, n, _BATCH):
        genders = ["female" if i % 2 else "male" for i in range(start, min(n, start + _BATCH))]
        users = [
            USER | {"groups": {"gender": gender, "region": chance.choice(["north", "south"])}}
            for gender in genders
        ]
        made = client.post("/v1/decisions/batch", json={"decisions": users}).raise_for_status().json()
        sent = [
            {"decision": one["decision"], "reward": min(1.0, max(0.0, chance.gauss(rewards[gender], 0.05)))}
            for one, gender in zip(made["decisions"], genders, strict=True)
            if rewards[gender] is not None
        ]
        if sent:
            client.post("/v1/rewards", json=sent).raise_for_status()
