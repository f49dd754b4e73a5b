"""Which policies can run in which worlds: each combination is tried for two rounds before the first long run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairbandits.compare.policy_specs import PolicySpec
from fairbandits.compare.suite import SuiteWorld
from fairbandits.policies import Policy
from fairbandits.simulate import FixedWorld, simulate
from fairbandits.worlds import DataError

_ROUNDS = 2


@dataclass
class Trials:
    """The results of trying all policies and worlds before the runs.

    Attributes
    ----------
    data_sources : dict
        The data of each world; None for a world that does not name its data.
    skipped : dict
        The reason why a world is left out, by world: its data are unavailable, or no policy can run in it.
    not_applicable : dict
        The reason why a policy cannot run, by world and policy.
    """

    data_sources: dict[str, str | None] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    not_applicable: dict[str, dict[str, str]] = field(default_factory=dict)

    def sources(self) -> str:
        """Return one line that names all data."""
        return "; ".join(dict.fromkeys(source or "synthetic data" for source in self.data_sources.values()))


def try_all(worlds: Mapping[str, SuiteWorld], specs: Sequence[PolicySpec], *, quick: bool, data: Any) -> Trials:
    """Construct every world once, and try every policy in it.

    A policy that runs in some worlds is not applicable in the others. If a policy runs in no world, its error is
    raised, because its parameters must be wrong. A world in which no policy runs is skipped. If no world is left,
    the first error is raised.
    """
    trials = Trials()
    errors: dict[str, Exception] = {}
    for name, world in worlds.items():
        cls, params = world.world_class(), world.world_params(quick, data)
        try:
            made = specs[0].run(0, cls, params).make_world()
        except (DataError, ImportError) as error:
            trials.skipped[name] = _with_need(world, error)
            errors.setdefault("world", error)
            continue
        if isinstance(cls, FixedWorld):
            cls.digest  # noqa: B018 - computed once, before the world is sent to workers
        _check_true_rewards(name, made)
        found = {spec.title: _try_policy(spec, cls, params, made) for spec in specs}
        errors |= {title: error for title, error in found.items() if error is not None}
        reasons = {title: str(error) for title, error in found.items() if error is not None}
        if len(reasons) == len(specs):
            texts = (f"{title} ({reason})" for title, reason in reasons.items())
            trials.skipped[name] = f"no policy is applicable: {', '.join(texts)}"
            continue
        trials.data_sources[name] = getattr(made, "data_source", None)
        trials.not_applicable[name] = reasons
    if not trials.data_sources:
        raise next(iter(errors.values()))
    for spec in specs:
        if all(spec.title in reasons for reasons in trials.not_applicable.values()):
            raise errors[spec.title]
    return trials


def _check_true_rewards(name: str, world: Any) -> None:
    """Raise ValueError if the true rewards of a world are unknown, as those of logged data are."""
    # Runs check the later rounds, in `run_summary`.
    visit = next(iter(world.visits()), None)
    if visit is not None and not np.isfinite(visit.expected).all():
        raise ValueError(
            f"worlds must know the true mean reward of every arm, which {name} does not; use simulate for it, or "
            "evaluate policies on its log"
        )


def _with_need(world: SuiteWorld, error: Exception) -> str:
    return f"{world.needs}: {error}" if world.needs else str(error)


def _try_policy(
    spec: PolicySpec, cls: type | FixedWorld, params: Mapping[str, Any], world: Any
) -> Exception | None:
    try:
        policy = spec.run(0, cls, params).make_policy(world)
        _check_needed(policy)
        simulate(policy, world, rounds=min(_ROUNDS, len(world)))
    except ValueError as error:
        return error
    return None


def _check_needed(policy: Policy) -> None:
    """Raise ValueError if a policy lacks parameters that it needs."""
    for names in getattr(policy, "needed_params", ()):
        if all(_is_empty(getattr(policy, name)) for name in names):
            raise ValueError(
                f"{type(policy).__name__} needs {' or '.join(names)}, which this world does not offer"
            )


def _is_empty(value: Any) -> bool:
    return value is None or (hasattr(value, "__len__") and len(value) == 0)
