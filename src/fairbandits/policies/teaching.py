"""How a policy learns: its own decisions, and those that somebody else made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from fairbandits.arms import ArmId, as_arm
from fairbandits.categorical import Categorical
from fairbandits.fairness import GroupKey
from fairbandits.fairness.group_rewards import as_reward
from fairbandits.models import Row, check_width
from fairbandits.policies.batch_learning import SufficientStatistics, as_logged_rows, group_keys
from fairbandits.policies.choosing import Choosing
from fairbandits.policies.core import Floats
from fairbandits.policies.decision import Decision
from fairbandits.policies.slate import Reward, Slate, as_slate_rewards


class Teaching(Choosing):
    """A policy as far as it learns."""

    def learn(self, decision: Decision | Slate, reward: Reward, *, again: bool = False) -> None:
        """Learn the reward of a decision: at once, later, in any order.

        Parameters
        ----------
        decision : Decision or Slate
            What `choose` returned.
        reward : float, or sequence for a slate
            Within `reward_range`. For a slate: one for each of its arms in their order, None for an arm that
            nobody looked at, which is then not learned; or a single number for the whole slate, which every
            one of its arms learns as its own. The user's groups count the mean of what came, once.
        again : bool
            Allow a decision that was learned before; its reward then counts once more.
        """
        checked = self._ledger.check(decision, again)
        if isinstance(checked, Slate):
            self._learn_slate(checked, *as_slate_rewards(reward, checked, self.reward_range))
        else:
            self._learn(checked, as_reward(reward, self.reward_range))

    def learn_many(
        self, decisions: Sequence[Decision | Slate], rewards: Iterable[Reward], *, again: bool = False
    ) -> None:
        """Learn the rewards of many decisions; all are checked before the first is learned.

        Only a row that float64 cannot hold (`RidgeBank.learn` says which) is found later: those before it are
        then learned, it and those behind it are not. That holds for the arms of one slate as well.
        """
        if not (isinstance(decisions, Iterable) and isinstance(rewards, Iterable)):
            raise ValueError("learn_many takes a list of decisions and a list of rewards; use learn for one")
        checked = [self._ledger.check(decision, again) for decision in decisions]
        given = list(rewards)
        if len(checked) != len(given):
            raise ValueError(f"got {len(checked)} decision(s) and {len(given)} reward(s); give one for each")
        if not again and len({(d.policy, d.number) for d in checked}) < len(checked):
            raise ValueError("a decision stands more than once; pass again=True if its reward counts twice")
        lessons: list[Callable[[], None]] = []
        for decision, reward in zip(checked, given, strict=True):
            if isinstance(decision, Slate):
                came = as_slate_rewards(reward, decision, self.reward_range)
                lessons.append(partial(self._learn_slate, decision, *came))
            else:
                lessons.append(partial(self._learn, decision, as_reward(reward, self.reward_range)))
        for learn in lessons:
            learn()

    def _learn(self, decision: Decision, reward: float) -> None:
        at = self._learn_arm(decision, decision.arm, decision.row, reward)
        # The model is the one that may still refuse; from here on nothing does.
        self.groups.record(reward, decision.group, at)
        self._note(decision)
        self._ledger.mark(decision)
        self.rounds_learned += 1

    def _learn_slate(self, slate: Slate, gain: float, rewards: list[float | None]) -> None:
        learned: list[tuple[int, float]] = []
        try:
            for arm, row, reward in zip(slate.picked, slate.rows, rewards, strict=True):
                if reward is not None:
                    learned.append((self._learn_arm(slate, arm, row, reward), reward))
        finally:
            # Where the model refuses an arm, those before it stay learned, and must not be learned again.
            if learned:
                self.groups.record_slate(gain, slate.group, learned)
                self._note(slate)
                self._ledger.mark(slate)
                self.rounds_learned += 1

    def _learn_arm(self, decision: Decision | Slate, arm: ArmId, row: Row, reward: float) -> int:
        """Let the model learn, and give the row of the arm; -1 for one that was forgotten meanwhile.

        Its reward still tells what its user received.
        """
        return self._learn_one(None if self._ledger.is_gone(decision, arm) else arm, row, reward)

    def _learn_one(self, arm: ArmId | None, row: Row, reward: float) -> int:
        if arm is None:
            self._update(-1, row, reward)
            return -1
        self._update(self._arms.row_for(arm), row, reward)
        return self._arms.claim(arm)

    def replay(self, gain: float, group: GroupKey, items: Iterable[tuple[ArmId | None, Row, float]]) -> None:
        """Learn one decision that somebody else keeps account of, such as a service that has a log.

        The same decisions in the same order lead to the same state to the bit, whoever made them and whatever was
        chosen in between. Whether it was learned before is not asked. Policies that note more of a decision than
        this (`notes_more`) cannot learn it so.

        Parameters
        ----------
        gain : float
            What the user gained in all, within `reward_range`.
        group : tuple of (attribute, value) pairs
            The user's group.
        items : iterable of (arm, row, reward)
            Each arm that was looked at, None for one that was forgotten since, with its context and its
            reward. A row that the model refuses (`RidgeBank.learn` says which) counts for the groups alone.
        """
        if self.notes_more:
            raise ValueError(
                f"{type(self).__name__} notes more of a decision than is kept; let it learn decisions"
            )
        learned = []
        for arm, row, reward in items:
            check_width(row.width, self._learned_width)
            self.n_features_in_ = row.width
            try:
                learned.append((self._learn_one(arm, row, reward), reward))
            except ValueError:
                learned.append((-1, reward))
        self.groups.record_slate(gain, group, learned)
        self.rounds_learned += 1

    def learn_statistics(self, lessons: SufficientStatistics) -> None:
        """Learn what decisions of a log teach, which may be those of another policy: summed up, solved once.

        The same as learning them one by one, and much faster. For models to which the order matters use
        `learn_logged`.
        """
        if not self.is_additive:
            raise ValueError(
                f"the order of rewards matters to {self!r}, so that they cannot be summed up; use learn_logged"
            )
        self._check_alike(lessons.policy)
        if lessons.width is None:
            return
        check_width(lessons.width, self._learned_width)
        self.n_features_in_ = lessons.width
        if lessons.sums is not None:
            self._learn_sums(lessons.sums, *lessons.places(self._arms))
        self.groups.merge(lessons.groups)
        self.rounds_learned += lessons.rounds

    def learn_logged(
        self, contexts: Any, arms: Categorical, rewards: Floats, groups: Mapping[str, Categorical]
    ) -> None:
        """Learn decisions of a log, which may be those of another policy, in their order.

        Takes what `SufficientStatistics.add` takes.
        """
        if self.is_additive:
            lessons = SufficientStatistics(self)
            lessons.add(contexts, arms, rewards, groups)
            self.learn_statistics(lessons)
            return
        rows = as_logged_rows(self, contexts, rewards)
        self.n_features_in_ = rows.width
        picked = [as_arm(arm) for arm in arms.labels]
        for i, (code, reward, key) in enumerate(
            zip(arms.codes, rewards, group_keys(groups, len(rewards)), strict=True)
        ):
            arm, gain = picked[code], float(reward)
            self._update(self._arms.row_for(arm), rows.row(i, 0), gain)
            self.groups.record(gain, key, self._arms.claim(arm))
            self.rounds_learned += 1

    def forget_arm(self, arm: ArmId) -> None:
        """Retire an arm: what was learned of it is dropped, what its users received stays counted.

        Offered again under the same id, it is a new arm. Rewards of earlier decisions for it still count for the
        groups, and do not bring it back. What a shared model learned from it cannot be told apart, and stays.
        """
        arm = as_arm(arm)
        self._ledger.forget(arm)
        at = self._arms.release(arm)
        if at is not None:
            self.groups.forget_row(at)
            self._forget(at)
