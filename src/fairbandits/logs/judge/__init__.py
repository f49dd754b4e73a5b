"""What would another policy have done? Off-policy evaluation, overall, per group and of the difference."""

from fairbandits.logs.judge.estimate import Estimate
from fairbandits.logs.judge.judging import judge
from fairbandits.logs.judge.result import Difference, Judged, Judgement, Verdict

__all__ = ["Difference", "Estimate", "Judged", "Judgement", "Verdict", "judge"]
