"""Recommendations for all users of a table in one run: block by block, resumable, locally or on a cluster."""

from fairbandits.recommendations.run import Recommendations, recommend
from fairbandits.recommendations.summary import GroupScores

__all__ = ["GroupScores", "Recommendations", "recommend"]
