"""Clients that send requests and keep what was acknowledged, and a replay of the log to compare with."""

import json
import random
import threading
import time
from http.client import HTTPConnection, HTTPException

from fairbandits.service.auth.user_secret import read_user_secret
from fairbandits.service.http.messages import make_pseudonymiser
from fairbandits.service.log.events import Decided, Rewarded
from fairbandits.service.log.store import Store
from fairbandits.service.state.recommender import ServedRecommender


class Client(threading.Thread):
    """Requests decisions and rewards them until the server dies; keeps what was acknowledged.

    A request without a response is repeated at the next server with the same idempotency key. It must have taken
    effect exactly once.
    """

    def __init__(self, number, students, seed):
        super().__init__()
        self.number = number
        self.students = students
        self.random = random.Random(seed)
        self.url = None
        self.decided = {}  # id -> the whole response
        self.rewarded = {}  # id -> reward
        self.users = {}  # id -> the user that was named
        self.open = []  # decisions that have no reward yet
        self.again = None  # the request without a response
        self.sent = 0
        self.repeated = 0
        self.slowest = 0.0  # seconds until a response
        self.headers = {}  # sent with every request, such as a key
        self.is_going = True

    def follow(self, url):
        """Continue with another server."""
        super().__init__()
        self.url = url
        self.start()

    @property
    def acknowledged(self):
        """The number of acknowledged decisions and rewards."""
        return len(self.decided) + len(self.rewarded)

    def stop(self):
        """Send no more requests."""
        self.is_going = False
        self.join()

    def run(self):
        # Not httpx, which takes longer for a request than the server does.
        http = HTTPConnection(self.url.removeprefix("http://"), timeout=30)
        while self.is_going:
            path, body, key = self.again or self._next()
            self.repeated += self.again is not None
            self.again = path, body, key
            headers = {"Idempotency-Key": key, "Content-Type": "application/json", **self.headers}
            began = time.monotonic()
            try:
                http.request("POST", path, json.dumps(body), headers)
                answer = http.getresponse()
                text = answer.read()
                self.slowest = max(self.slowest, time.monotonic() - began)
            except (OSError, HTTPException):
                break  # the server is dead
            if answer.status == 503:
                time.sleep(0.05)  # polls until the store is back, or the test ends
                continue
            assert answer.status == 200, text
            self.again = None
            self._keep(json.loads(text), body)
        http.close()

    def _next(self):
        self.sent += 1
        key = f"{self.number}-{self.sent}"
        if self.open and self.random.random() < 0.6:
            # Any open decision, old or new.
            some = [self.open.pop(self.random.randrange(len(self.open))) for _ in range(min(len(self.open), 2))]
            return "/v1/rewards", [{"decision": one, "reward": self._reward(one)} for one in some], key
        number = self.random.randrange(len(self.students))
        request = self.students.request(number) | {"user": self.students.user_id(number)}
        if self.random.random() < 0.2:
            return "/v1/decisions/batch", {"decisions": [request, request | {"k": 3}]}, key
        return "/v1/decisions", request, key

    def _reward(self, decision):
        n = len(self.decided[decision].get("slate", ()))
        if n and self.random.random() < 0.5:
            return [self.random.random(), None, self.random.random()]
        return self.random.random()

    def _keep(self, answer, body):
        for decided in answer.get("decisions", [answer] if "decision" in answer else []):
            self.decided[decided["decision"]] = decided
            self.open.append(decided["decision"])
            self.users[decided["decision"]] = body.get("decisions", [body])[0]["user"]
        for rewarded in answer.get("rewards", []):
            assert "problem" not in rewarded, rewarded
            self.rewarded[rewarded["decision"]] = rewarded["reward"]


class Replay:
    """The log as the test reads it, and the state that follows from it."""

    def __init__(self, config):
        self.config = config
        self.store = Store(config.store.url)
        self.recommender = ServedRecommender(config)
        self.pseudonymise = make_pseudonymiser(read_user_secret(config.users.secret_file))
        self.decided = {}
        self.rewarded = {}

    def follow(self):
        """Read new entries, and check that nothing is duplicated or missing."""
        while entries := self.store.read(self.recommender.seq):
            for entry in entries:
                assert entry.seq > self.recommender.seq
                if isinstance(entry.event, Decided):
                    assert entry.event.id not in self.decided
                    self.decided[entry.event.id] = entry.event
                if isinstance(entry.event, Rewarded):
                    assert entry.event.decision not in self.rewarded, "each is learned once"
                    self.rewarded[entry.event.decision] = entry.event.reward
                self.recommender.apply(entry)

    def checksum(self):
        return self.recommender.checksum()()

    def check(self, clients):
        """Check that everything that was acknowledged is in the log."""
        self.follow()
        for client in clients:
            for decision, answer in client.decided.items():
                logged = self.decided[decision]
                assert logged.picked == answer.get("slate", [answer.get("arm")])
                assert logged.propensity == answer["propensity"]
                assert logged.user == self.pseudonymise(client.users[decision])
            for decision, reward in client.rewarded.items():
                assert self.rewarded[decision] == reward

    def close(self):
        self.store.close()
