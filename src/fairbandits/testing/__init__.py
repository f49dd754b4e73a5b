"""Checks that users can run on their own policies and worlds."""

from fairbandits.testing.policies import check_policy, policy_checks
from fairbandits.testing.worlds import check_world

__all__ = ["check_policy", "check_world", "policy_checks"]
