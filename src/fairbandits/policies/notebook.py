"""Policies, decisions and scores in notebooks: HTML views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.fairness import GroupKey
from fairbandits.fairness.notebook import group_label, group_parts
from fairbandits.views import html
from fairbandits.views.text import counted, number_formatter, percent

if TYPE_CHECKING:
    from fairbandits.policies.decisions import Decisions
    from fairbandits.policies.policy import Policy
    from fairbandits.policies.records import Decision, Scores, Slate

#: The parts of a score that are shown, and the titles of their columns.
_PARTS = {"mean": "mean", "exploration": "exploration", "fairness": "fairness", "total": "score"}


def policy_html(policy: Policy, n_arms: int) -> str:
    """Return the view of a policy: its parameters, its learned state, and the rewards of the groups."""
    learned = f"{counted(policy.rounds_learned, 'round')} learned, {counted(n_arms, 'arm')}"
    return html.card(
        type(policy).__name__, html.facts(policy.get_params(deep=False)), *group_parts(policy.groups), note=learned
    )


def decision_html(decision: Decision) -> str:
    """Return the view of a decision."""
    title = f"Decision {decision.number:,}: arm {decision.arm}"
    note = f"one of {counted(decision.n_arms, 'arm')}"
    return html.card(
        title, _facts(decision), _score_table([decision.arm], _at(decision, [decision.index])), note=note
    )


def slate_html(slate: Slate) -> str:
    """Return the view of a slate."""
    title = f"Decision {slate.number:,}: {counted(len(slate), 'arm')} of {slate.n_arms:,}"
    named = [f"{position}. {arm}" for position, arm in enumerate(slate.picked, start=1)]
    table = _score_table(named, _at(slate, list(slate.indices)))
    return html.card(title, _facts(slate), table)


def decisions_html(decisions: Decisions) -> str:
    """Return the view of many decisions: how often each arm was picked."""
    indices, counts = np.unique(decisions.indices, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    number, total = number_formatter(3), decisions.scores.total
    # Decisions made on a device have only the scores of the picked arms.
    places = decisions.indices if total.shape[1] > 1 else 0
    score = total[np.arange(len(total)), places] if len(total) else np.empty(0)
    rows = (
        (
            decisions.arms[int(indices[i])],
            f"{counts[i]:,}",
            percent(counts[i] / len(decisions)),
            number(float(score[decisions.indices == indices[i]].mean())),
        )
        for i in order.tolist()
    )
    columns = ("arm", "decisions", "share", "mean score")
    picked = f"{counted(len(indices), 'arm')} picked of {len(decisions.arms):,}"
    return html.card(counted(len(decisions), "decision"), html.table(columns, rows, len(indices)), note=picked)


def _facts(decision: Decision | Slate) -> html.Markup:
    probability = "unknown" if decision.probability is None else f"{decision.probability:.4g}"
    return html.facts({"probability": probability, "group": _groups(decision.group)})


def _groups(key: GroupKey) -> str:
    return ", ".join(group_label(attribute, value) for attribute, value in key) or "unknown"


def _at(decision: Any, indices: list[int]) -> Mapping[str, Sequence[float]]:
    scores: Scores = decision.scores
    return {part: getattr(scores, part)[indices].tolist() for part in _PARTS}


def _score_table(arms: Sequence[object], scores: Mapping[str, Sequence[float]]) -> html.Markup:
    number = number_formatter(3)
    rows = ([arm, *(number(scores[part][i]) for part in _PARTS)] for i, arm in enumerate(arms))
    return html.table(["arm", *_PARTS.values()], rows, len(arms))
