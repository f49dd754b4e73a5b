"""Simulation: policy + world -> trace. Every simulated number comes from the loop in `simulate`."""

from fairbandits.simulate.fixed_world import FixedWorld
from fairbandits.simulate.individual import individual_gaps
from fairbandits.simulate.runs import Run, SummaryFormat, simulate_many, summarise_many
from fairbandits.simulate.simulation import simulate
from fairbandits.simulate.trace import Trace

__all__ = [
    "FixedWorld",
    "Run",
    "SummaryFormat",
    "Trace",
    "individual_gaps",
    "simulate",
    "simulate_many",
    "summarise_many",
]
