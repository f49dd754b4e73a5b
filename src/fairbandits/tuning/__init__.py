"""Choosing the parameters of a policy: by simulation in worlds, or from a log by off-policy evaluation."""

from fairbandits.tuning.results import Trial, TuningResult
from fairbandits.tuning.tuning import tune

__all__ = ["Trial", "TuningResult", "tune"]
