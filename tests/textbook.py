"""The paper's pseudo-code line by line: an inverse every round, dictionaries, nothing shared with the library.

One rule is shared, because otherwise two right programs could not be compared: what is closer than
1e-10 is a tie, and a tie of n is broken by `rng.integers(n)`.
"""

from __future__ import annotations

import numpy as np

TIE = 1e-10


class Textbook:
    """Algorithms 1 and 2 of the paper (gamma = 0 is LinUCB), disjoint or shared, two groups "+" and "-"."""

    def __init__(self, alpha, gamma, ridge, model, seed, plus="+", minus="-"):
        self.alpha, self.gamma, self.ridge, self.model = alpha, gamma, ridge, model
        self.rng = np.random.default_rng(seed)
        self.A, self.b = {}, {}
        self.plus, self.minus = plus, minus
        self.rewards = {plus: [], minus: []}
        self.arm_rewards = {}

    def key(self, arm):
        return arm if self.model == "disjoint" else "all"

    def scores(self, contexts, arms):
        means, widths = [], []
        for x, arm in zip(contexts, arms, strict=True):
            A = self.A.get(self.key(arm), self.ridge * np.eye(len(x)))
            b = self.b.get(self.key(arm), np.zeros(len(x)))
            inverse = np.linalg.inv(A)
            theta = inverse @ b
            means.append(theta @ x)
            widths.append(np.sqrt(x @ inverse @ x))
        smallest = min(widths)
        scores = []
        for arm, mean, width in zip(arms, means, widths, strict=True):
            score = mean + self.alpha * width
            if self.gamma > 0:
                score += self.alpha * smallest / 2 * (self.penalty(arm) + 1) * self.gamma
            scores.append(score)
        return np.array(scores)

    def penalty(self, arm):
        def mean(rewards):
            return sum(rewards) / len(rewards) if rewards else 0.0

        bias = mean(self.arm_rewards.get((arm, self.plus), [])) - mean(self.arm_rewards.get((arm, self.minus), []))
        return -np.sign(mean(self.rewards[self.plus]) - mean(self.rewards[self.minus])) * bias

    def choose(self, contexts, arms):
        scores = self.scores(contexts, arms)
        best = np.flatnonzero(scores >= scores.max() - TIE * max(1, abs(scores.max())))
        place = best[self.rng.integers(len(best))] if len(best) > 1 else best[0]
        return arms[place], scores

    def learn(self, arm, x, reward, group):
        key = self.key(arm)
        self.A[key] = self.A.get(key, self.ridge * np.eye(len(x))) + np.outer(x, x)
        self.b[key] = self.b.get(key, np.zeros(len(x))) + reward * x
        if group is not None:
            self.rewards[group].append(reward)
            self.arm_rewards.setdefault((arm, group), []).append(reward)

    def restart(self):
        self.rewards = {self.plus: [], self.minus: []}
