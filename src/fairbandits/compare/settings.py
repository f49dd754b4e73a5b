"""The settings that all runs of a comparison share."""

from __future__ import annotations

from dataclasses import dataclass

from fairbandits.validation import check_integer, check_number


@dataclass(frozen=True)
class Settings:
    """How a comparison is run and evaluated.

    Parameters
    ----------
    seeds : int
        The number of seeds.
    tolerance : float
        The tolerated reward gap.
    quick : bool
        Whether runs have a tenth of the rounds.
    min_rounds : int, optional
        The number of measured rounds over all seeds that a group needs to count; by default a share of the rounds.
    benchmark : bool
        Whether this is FairBench, whose report also shows the promises of the default policy.
    """

    seeds: int
    tolerance: float
    quick: bool = False
    min_rounds: int | None = None
    benchmark: bool = False

    def __post_init__(self) -> None:
        check_integer("seeds", self.seeds, 1)
        check_number("tolerance", self.tolerance, 0, 1)
