"""Checkers that users run on their own code."""

from fairbandits.testing.policies import check_policy, policy_checks

__all__ = ["check_policy", "policy_checks"]
