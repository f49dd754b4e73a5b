"""Policy + world -> trace: the one loop that everything simulated goes through."""

from fairbandits.simulate.individual import individual_gaps
from fairbandits.simulate.loop import simulate
from fairbandits.simulate.runs import Run, simulate_many, summarise_many
from fairbandits.simulate.trace import Trace

__all__ = ["Run", "Trace", "individual_gaps", "simulate", "simulate_many", "summarise_many"]
