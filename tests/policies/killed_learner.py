"""A process that decides and learns, and is killed again and again: `python -m tests.policies.killed_learner`.

It appends each decision to a journal before it is used, and each reward before it is learned; it saves its policy
now and then. After a restart it loads the last saved policy, and learns what the journal has beyond it.
"""

import json
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from fairbandits import Decision, EqualRegretLinUCB, Policy, Slate

KINDS = {"decision": Decision, "slate": Slate}


class Journal:
    """Decisions and rewards, one line each, on the disk before anything else happens."""

    def __init__(self, path):
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]  # the last line may have been cut short
        self.lines = [json.loads(line) for line in whole.splitlines()]
        self._path = path
        with path.open("ab") as file:
            file.truncate(len(whole))

    def append(self, **line):
        with self._path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def decisions(self):
        """The decisions in their order, each with its reward, None if there is none yet."""
        made, rewards = [], {}
        for line in self.lines:
            if "reward" in line:
                rewards[line["of"]] = line["reward"]
            else:
                [(kind, values)] = line.items()
                made.append(KINDS[kind].from_dict(values))
        return [(decision, rewards.get(f"{decision.policy} {decision.number}")) for decision in made]


def recover(folder):
    """Return the last saved policy after it has learned the rest of the journal, and the journal."""
    policy, journal = Policy.load(folder / "policy"), Journal(folder / "journal")
    for decision, reward in journal.decisions():
        if reward is not None and not policy.has_learned(decision):
            policy.learn(decision, reward)
    return policy, journal


def live(folder, seed, is_ready, rounds):
    """Decide and learn."""
    policy, journal = recover(folder)
    is_ready.set()
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        kind = "slate" if rng.random() < 0.3 else "decision"
        contexts, group = rng.integers(2, size=(6, 8)).astype(float), str(rng.choice(["f", "m"]))
        decision = policy.choose(contexts, group, k=2 if kind == "slate" else None)
        journal.append(**{kind: decision.to_dict()})
        reward = [rng.random(), None] if kind == "slate" else rng.random()
        journal.append(reward=reward, of=f"{decision.policy} {decision.number}")
        policy.learn(decision, reward)
        if rng.random() < 0.1:
            policy.save(folder / "policy")


def main():
    """Start processes and kill each at a random moment: while it recovers, or while it decides and learns."""
    folder, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    forks, rng = multiprocessing.get_context("fork"), np.random.default_rng(seed)
    EqualRegretLinUCB(random_state=0).save(folder / "policy")
    live(folder, seed, forks.Event(), rounds=30)  # compiles before the forks
    for life in range(kills):
        is_ready = forks.Event()
        process = forks.Process(target=live, args=(folder, seed * kills + life, is_ready, 10**9))
        process.start()
        if rng.random() < 0.7:
            is_ready.wait(timeout=60)
        time.sleep(rng.exponential(0.03))  # the random moment
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, process.exitcode


if __name__ == "__main__":
    main()
