"""Simulation: policy + world -> trace. Every simulated number comes from the loop in `simulate`."""

from fairbandits.simulate.individual import individual_gaps
from fairbandits.simulate.runs import Run, simulate_many, summarise_many
from fairbandits.simulate.simulation import simulate
from fairbandits.simulate.trace import Trace

__all__ = ["Run", "Trace", "individual_gaps", "simulate", "simulate_many", "summarise_many"]
