"""`POST /v1/rewards`: the rewards of decisions, immediately or days later."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.cost import COST_OF_TOKEN, WaitingWork, arm_cost
from fairbandits.service.http.messages import idempotency_key, parse, respond
from fairbandits.service.http.openapi import json_body, json_responses
from fairbandits.service.http.problems import refused
from fairbandits.service.http.routing import access
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.appender import AppendRequest, Settlement
from fairbandits.service.log.events import Decided, Rewarded, decision_key, reward_key
from fairbandits.service.log.requests import Outcome, Refusal, RefusalReason
from fairbandits.service.log.rewards import settle_reward

# The location of the reward within a request, or within one item of a list.
_POINTER = "#/reward"


@dataclass(frozen=True, slots=True, kw_only=True)
class _RewardsRequest(AppendRequest):
    """Rewards to append: a single reward, or a list in which each reward has its own result.

    Attributes
    ----------
    rewards : sequence of mapping
        The rewards, validated.
    is_list : bool
        Whether they were sent as a list.
    window : float
        The number of seconds after a decision during which its reward is accepted.
    max_arms : int
        The number of arms that may be learned from one request; a slate has many.
    of_arm : int
        The cost of learning one arm.
    state : dict
        The state of the HTTP request, in which the tokens to be charged are set: if a decision is rewarded with
        one number, only the log knows how many arms it has.
    """

    rewards: Sequence[Mapping[str, Any]]
    is_list: bool
    window: float
    max_arms: int
    of_arm: int
    state: dict[str, Any]

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Append the rewards that are new and valid, unless they concern too many arms."""
        n_arms = sum(len(each.picked) for each in found.values() if isinstance(each, Decided))
        if self.is_list and n_arms > self.max_arms:
            detail = (
                f"the rewards of one request must concern at most {self.max_arms:,} arms in total (limits.cost), "
                f"got {n_arms:,}; split the request"
            )
            return Settlement((), Refusal(RefusalReason.TOO_COSTLY, detail))
        self.state["tokens"] = max(self.state["tokens"], n_arms * self.of_arm // COST_OF_TOKEN)
        now = time.time()
        known, new, results = dict(found), [], []
        for each in self.rewards:
            reward = Rewarded(each["decision"], now, each["reward"])
            result = settle_reward(reward, self.window, known)
            if result is reward:
                known[reward.key] = reward  # a later item of the list may repeat this reward
                new.append(reward)
            results.append(result)
        return Settlement(new, self._outcome(results))

    def _outcome(self, results: Sequence[Rewarded | Refusal]) -> Outcome:
        if self.is_list:
            listed = [_item(result, each["decision"]) for result, each in zip(results, self.rewards, strict=True)]
            return to_json({"rewards": listed})
        [result] = results
        return result if isinstance(result, Refusal) else to_json(_to_dict(result))


def routes(engine: Engine, schemas: Schemas, work: WaitingWork) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/rewards", tags=["rewards"])
    window, limits = engine.config.reward.window, engine.config.limits
    of_arm = arm_cost(len(engine.config.columns))
    max_arms = max(1, limits.cost // of_arm)

    @router.post(
        "",
        openapi_extra=json_body("RewardRequest", many="RewardsRequest"),
        responses=json_responses("RewardResponse", 404, 409, 410, 422, many="RewardsResponse"),
    )
    @access("reward", body="json")
    async def reward(request: Request) -> Response:
        """Record the reward of a decision, or a list of rewards.

        Rewards may arrive late, in any order, and repeatedly with the same value. In a list, each has its own
        result.
        """
        body = await request.body()
        is_list = body.lstrip()[:1] == b"["
        rewards = parse(schemas.rewards, body) if is_list else [parse(schemas.reward, body)]
        state = request.scope["state"]
        asked = _RewardsRequest(
            rewards=rewards,
            is_list=is_list,
            window=window,
            max_arms=max_arms,
            of_arm=of_arm,
            state=state,
            depends_on=[key(each["decision"]) for each in rewards for key in (decision_key, reward_key)],
            idempotency=idempotency_key(request, body),
            # A number may be the reward of a whole slate.
            size=_n_arms(rewards, limits.slate) if is_list else 1,
            client=state["payer"],
        )
        # A list with too many arms is refused once the number of arms is known from the log.
        cost = min(_n_arms(rewards, 1) * of_arm, limits.cost)
        return respond(await work.write(engine.writer, asked, cost, state), _POINTER)

    return router


def _n_arms(rewards: Sequence[Mapping[str, Any]], of_number: int) -> int:
    """Return the number of rewarded arms, at least 1; a reward that is one number counts as `of_number` arms."""
    return sum(len(each["reward"]) if isinstance(each["reward"], list) else of_number for each in rewards) or 1


def _to_dict(rewarded: Rewarded) -> dict[str, Any]:
    return {"decision": rewarded.decision, "reward": rewarded.reward}


def _item(result: Rewarded | Refusal, decision: str) -> dict[str, Any]:
    if isinstance(result, Refusal):
        return {"decision": decision, "problem": refused(result, _POINTER).to_dict()}
    return _to_dict(result)
