"""`POST /v1/rewards`: the rewards of decisions, at once or days later."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.decisions import arm_cost
from fairbandits.service.http.messages import idempotency_key, parse, respond
from fairbandits.service.http.openapi import json_body, json_responses
from fairbandits.service.http.problems import refused
from fairbandits.service.http.routing import access
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.appender import AppendRequest, Settlement
from fairbandits.service.log.events import Decided, Rewarded, decision_key, reward_key
from fairbandits.service.log.requests import Outcome, Refusal, RefusalReason
from fairbandits.service.log.rewards import settle_reward

# The place of the reward within a request, or within one item of a list.
_POINTER = "#/reward"


@dataclass(frozen=True, slots=True, kw_only=True)
class _RewardsRequest(AppendRequest):
    """Rewards to append: one, or a list in which each has a result of its own.

    Attributes
    ----------
    rewards : sequence of mapping
        The rewards, validated.
    is_list : bool
        Whether they came as a list.
    window : float
        The number of seconds after a decision in which its reward is accepted.
    max_arms : int
        The number of arms that may be learned from one request: a slate has many.
    """

    rewards: Sequence[Mapping[str, Any]]
    is_list: bool
    window: float
    max_arms: int

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Append the rewards that are new and valid, unless they are of too many arms."""
        n_arms = sum(len(each.picked) for each in found.values() if isinstance(each, Decided))
        if self.is_list and n_arms > self.max_arms:
            detail = (
                f"the rewards of one request must be of at most {self.max_arms:,} arms together (limits.cost), "
                f"got {n_arms:,}; split it"
            )
            return Settlement((), Refusal(RefusalReason.TOO_COSTLY, detail))
        now = time.time()
        known, new, results = dict(found), [], []
        for each in self.rewards:
            reward = Rewarded(each["decision"], now, each["reward"])
            result = settle_reward(reward, self.window, known)
            if result is reward:
                known[reward.key] = reward  # a later item of the list may repeat it
                new.append(reward)
            results.append(result)
        return Settlement(new, self._outcome(results))

    def _outcome(self, results: Sequence[Rewarded | Refusal]) -> Outcome:
        if self.is_list:
            listed = [_item(result, each["decision"]) for result, each in zip(results, self.rewards, strict=True)]
            return to_json({"rewards": listed})
        [result] = results
        return result if isinstance(result, Refusal) else to_json(_to_dict(result))


def routes(engine: Engine, schemas: Schemas) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/rewards", tags=["rewards"])
    window = engine.config.reward.window
    max_arms = max(1, engine.config.limits.cost // arm_cost(len(engine.config.columns)))

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
        asked = _RewardsRequest(
            rewards=rewards,
            is_list=is_list,
            window=window,
            max_arms=max_arms,
            depends_on=[key(each["decision"]) for each in rewards for key in (decision_key, reward_key)],
            idempotency=idempotency_key(request, body),
        )
        return respond(await engine.writer.write(asked), _POINTER)

    return router


def _to_dict(rewarded: Rewarded) -> dict[str, Any]:
    return {"decision": rewarded.decision, "reward": rewarded.reward}


def _item(result: Rewarded | Refusal, decision: str) -> dict[str, Any]:
    if isinstance(result, Refusal):
        return {"decision": decision, "problem": refused(result, _POINTER).to_dict()}
    return _to_dict(result)
