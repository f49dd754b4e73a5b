"""Parameters: scikit-learn's conventions."""

from __future__ import annotations

from fairbandits.testing.policies.subject import PolicySubject, assert_refused


def check_parameters(subject: PolicySubject) -> None:
    """Check get_params, set_params and the repr."""
    policy = subject.new()
    params = policy.get_params(deep=False)
    copied = type(policy)(**params).get_params(deep=False)
    assert all(copied[name] is params[name] for name in params), "__init__ must store its arguments unchanged"
    assert policy.set_params(**policy.get_params()) is policy, "set_params must return the policy"
    after = policy.get_params()
    assert all(after[name] is params[name] for name in params), "set_params must store its arguments unchanged"
    assert repr(policy).startswith(type(policy).__name__ + "("), "the repr must be a call of the class"
    assert_refused(policy, lambda: policy.set_params(no_such_parameter=1), "an unknown parameter")


CHECKS = (check_parameters,)
