"""The contenders: peers with pinned releases, NumPy baselines, and fairbandits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ONE_PER_ARM, ONE_PER_USER = "one per arm", "one per user"
ALL = ("w1", "w2", "w3")


@dataclass(frozen=True)
class Contender:
    """One row of the comparison.

    Parameters
    ----------
    name : str
        The name in tables.
    module : str
        The adapter, `peers/<module>.py`.
    imports : str
        The module that a user imports; its import time is measured.
    computes : str
        The algorithm, in a few words.
    contexts : str
        One context per user, or one per arm.
    is_checked : bool
        Whether its choices are compared with the textbook's; False if it computes something else.
    pins, bare : tuples of str
        The packages of its environment; `bare` ones are installed without their requirements, on any Python.
    options : dict
        Options of the adapter.
    workloads : tuple of str
        The workloads it takes part in.
    model : {"disjoint", "shared"}
        One regression per arm, or one for all arms.
    """

    name: str
    module: str
    imports: str
    computes: str
    contexts: str
    is_checked: bool = True
    pins: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    workloads: tuple[str, ...] = ALL
    model: str = "disjoint"

    @property
    def is_ours(self) -> bool:
        """Whether it is fairbandits."""
        return self.module == "ours"

    @property
    def is_in_tree(self) -> bool:
        """Whether it runs in the environment of the project."""
        return not (self.pins or self.bare)


#: All ratios refer to the first of these.
OURS, SHARED = "fairbandits LinUCB", "fairbandits LinUCB, shared"
NUMPY, BLAS = "vectorised NumPy (einsum)", "NumPy through BLAS"

_MABWISER = ("mabwiser==2.7.4",)
_CONTEXTUALBANDITS = ("contextualbandits==0.3.30",)
_VW = ("vowpalwabbit==9.11.9", "numpy==2.4.6")
# The release requires Python below 3.11 and torch; its LinUCB needs neither.
_OBP, _OBP_PINS = ("obp==0.5.7",), ("numpy==2.4.6", "scikit-learn==1.9.1")


def _ours(name: str, computes: str, workloads: tuple[str, ...] = ALL, **options: Any) -> Contender:
    return Contender(
        name, "ours", "fairbandits", computes, ONE_PER_ARM, options.get("policy") != "FairLinUCB",
        options=options, workloads=workloads, model=options.get("model", "disjoint"),
    )  # fmt: skip


def _vw(exploration: str) -> Contender:
    name = exploration.strip("-")
    return Contender(
        f"vowpalwabbit, {name}", "vw", "vowpalwabbit", f"first-order learning, {name}", ONE_PER_ARM, False,
        pins=_VW, options={"exploration": exploration}, workloads=("w1", "w2"), model="shared",
    )  # fmt: skip


CONTENDERS = (
    _ours(OURS, "LinUCB"),
    _ours("fairbandits FairLinUCB", "LinUCB and a fairness term", policy="FairLinUCB"),
    _ours("fairbandits LinUCB, from a matrix", "LinUCB", ("w1", "w3"), matrix=True),
    _ours("fairbandits LinUCB, float32", "LinUCB", dtype="float32"),
    _ours(SHARED, "LinUCB", model="shared"),
    Contender(BLAS, "in_tree", "numpy", "LinUCB", ONE_PER_ARM, options={"kind": "BatchedBlas"}),
    Contender(NUMPY, "in_tree", "numpy", "LinUCB", ONE_PER_ARM, options={"kind": "VectorisedNumpy"}),
    Contender(
        "textbook", "in_tree", "numpy", "LinUCB", ONE_PER_ARM, options={"kind": "Textbook"},
        workloads=("w1", "w2"),
    ),
    Contender("mabwiser", "mabwiser", "mabwiser.mab", "LinUCB", ONE_PER_USER, pins=_MABWISER),
    Contender(
        "contextualbandits", "contextualbandits", "contextualbandits.online", "LinUCB", ONE_PER_USER,
        pins=_CONTEXTUALBANDITS,
    ),
    Contender(
        "contextualbandits, float32", "contextualbandits", "contextualbandits.online", "LinUCB",
        ONE_PER_USER, pins=_CONTEXTUALBANDITS, options={"use_float": True},
    ),
    Contender("obp", "obp", "", "LinUCB", ONE_PER_USER, pins=_OBP_PINS, bare=_OBP),
    Contender(
        "obp, the user's own columns", "obp", "", "LinUCB", ONE_PER_USER, pins=_OBP_PINS,
        bare=_OBP, options={"narrow": True}, workloads=("w1",),
    ),
    Contender(
        "river", "river", "river.bandit", "LinUCB, the noise in its width", ONE_PER_USER,
        pins=("river==0.26.1",),
    ),
    Contender(
        "bayesianbandits", "bayesianbandits", "bayesianbandits", "quantiles by sampling", ONE_PER_USER,
        pins=("bayesianbandits==1.5.0",),
    ),
    Contender(
        "coba", "coba", "coba", "LinUCB", ONE_PER_ARM, pins=("coba==8.1.0", "numpy==2.4.6"),
        workloads=("w1", "w2"), model="shared",
    ),
    _vw("--squarecb"),
    _vw("--epsilon 0.05"),
    _vw("--first 100"),
)  # fmt: skip
