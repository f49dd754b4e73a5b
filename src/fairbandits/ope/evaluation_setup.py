"""The inputs of an evaluation: the log, the policies and the settings."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import or_

import numpy as np

from fairbandits.contexts import TableEncoder
from fairbandits.fairness.group_rewards import as_range
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.features import plain_encoder
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, OfferBuilder
from fairbandits.ope.candidates.candidate import Candidate
from fairbandits.ope.log_passes import LogPasses
from fairbandits.ope.log_rows import LogRows
from fairbandits.ope.log_survey import LogSurvey
from fairbandits.ope.propensities import (
    LoggedPropensities,
    Propensities,
    PropensityColumns,
    UniformPropensities,
)
from fairbandits.ope.propensity_model import PropensityModel

# The encoders for an evaluation that needs no features.
_NO_FEATURES = TableEncoder(has_constant=True), TableEncoder(has_constant=True)


@dataclass(frozen=True)
class EvaluationSettings:
    """The settings of an evaluation.

    Attributes
    ----------
    uniform : bool
        Whether a log without propensities is declared to come from a uniform policy.
    propensities : str or None
        The prefix of the names of the columns with the propensities of all arms.
    estimate_propensities : bool
        Whether unknown propensities are estimated.
    clip : float or None
        The maximum importance weight of the IPS, SNIPS and doubly robust estimators.
    confidence : float
        The confidence level of the intervals.
    require_gap : float or None
        The largest gap that is tolerated.
    sequential : bool
        Whether the headline intervals are anytime-valid.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    seed : int
        The random seed of policies given by name and of rejection sampling.
    """

    uniform: bool = False
    propensities: str | None = None
    estimate_propensities: bool = False
    clip: float | None = None
    confidence: float = 0.95
    require_gap: float | None = None
    sequential: bool = False
    reward_range: tuple[float, float] = (0.0, 1.0)
    seed: int = 0

    def check(self, log: Log) -> None:
        """Raise if a setting is invalid, in general or for this log."""
        known = log.roles.propensity
        if self.uniform and known is not None:
            raise ValueError(
                f"{log.name}: uniform must be False for a log with propensities, got True and column "
                f"{known!r}; leave out one of them"
            )
        if self.estimate_propensities and (known is not None or self.uniform or self.propensities is not None):
            where = f"column {known!r}" if known is not None else "others"
            raise ValueError(
                f"{log.name}: estimate_propensities must be False for a log with propensities, got True and "
                f"{where}; leave out one of them"
            )
        if self.uniform and self.propensities is not None:
            raise ValueError("uniform must be False if the propensities of all arms are given, got True")
        if self.clip is not None and not self.clip > 0.0:
            raise ValueError(f"clip must be above 0, got {self.clip!r}")
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be between 0 and 1, exclusive, got {self.confidence!r}")
        if self.require_gap is not None and not self.require_gap > 0.0:
            raise ValueError(f"require_gap must be above 0, got {self.require_gap!r}")
        if self.require_gap is not None and not log.roles.groups:
            raise ValueError(f"{log.name}: require_gap needs groups; name their columns (--group)")
        as_range(self.reward_range)


class EvaluationSetup:
    """A log, the policies to evaluate on it, and the settings.

    Parameters
    ----------
    passes : LogPasses
        The object that runs passes over the log.
    survey : LogSurvey
        The contents of the log.
    candidates : sequence of Candidate
        The policies.
    settings : EvaluationSettings
        The settings.
    table : ArmTable, optional
        The features of the arms.
    """

    def __init__(
        self,
        passes: LogPasses,
        survey: LogSurvey,
        candidates: Sequence[Candidate],
        settings: EvaluationSettings,
        table: ArmTable | None,
    ) -> None:
        self.log, self.survey, self.settings, self.table = passes.log, survey, settings, table
        self.candidates = candidates
        # Features are read only if a reward model, a propensity model or a policy needs them.
        self.needs_contexts = settings.estimate_propensities or any(
            each.knows_all_arms or each.needs_contexts for each in candidates
        )
        #: The arms of policies that do not bring their own.
        self.arms = ArmTable.without_features(survey.arms) if table is None else table
        encoder, self.plain_encoder = _find_encoders(passes) if self.needs_contexts else _NO_FEATURES
        # The log's own encoder comes first; policies fitted to other logs may have other categories.
        self.encoders: list[TableEncoder] = [encoder]
        self._offers: list[tuple[ArmTable, int, OfferBuilder]] = []
        for candidate in candidates:
            candidate.prepare(self)
            if candidate.encoder is not None and candidate.encoder not in self.encoders:
                self.encoders.append(candidate.encoder)
        self.propensities = self._propensities(passes)

    def _propensities(self, passes: LogPasses) -> Propensities:
        if self.settings.uniform:
            return UniformPropensities()
        if self.settings.estimate_propensities:
            return PropensityModel.fit(self, passes)
        if self.settings.propensities is not None:
            columns = PropensityColumns(self.settings.propensities)
            columns.prepare(self)
            return columns
        return LoggedPropensities()

    def on(self, part: Log) -> EvaluationSetup:
        """Return the same setup for a part of the log."""
        setup = copy.copy(self)
        setup.log = part
        return setup

    def encoder_number(self, candidate: Candidate) -> int:
        """Return the number of the encoder of a policy."""
        return 0 if candidate.encoder is None else self.encoders.index(candidate.encoder)

    def offers(self, arms: ArmTable, width: int) -> OfferBuilder:
        """Return the offers of arms to users with `width` features, shared by policies with the same arms."""
        for known, known_width, offers in self._offers:
            if known is arms and known_width == width:
                return offers
        offers = OfferBuilder(arms.arms, width, arms)
        self._offers.append((arms, width, offers))
        return offers

    @property
    def mean_reward(self) -> float:
        """The mean of all rewards, scaled to the range from 0 to 1."""
        low, high = self.settings.reward_range
        return (self.survey.mean_reward - low) / (high - low)

    @property
    def has_propensities(self) -> bool:
        """Whether the propensities are known."""
        return not isinstance(self.propensities, LoggedPropensities) or self.log.roles.propensity is not None

    def read(self) -> Iterator[tuple[Chunk, LogRows]]:
        """Yield the chunks of the log, each together with its rows that have a reward."""
        for chunk, rows in self.read_without_propensities(self.propensities.columns):
            yield chunk, self.propensities.fill(rows, self)

    def read_without_propensities(self, further: tuple[str, ...] = ()) -> Iterator[tuple[Chunk, LogRows]]:
        """Yield the same as `read`, before propensities are filled in."""
        unchanged = {*further, *(column for each in self.candidates for column in each.columns)}
        readers = (
            self.log.with_encoder(encoder).chunks(contexts=self.needs_contexts, unchanged=unchanged)
            for encoder in self.encoders
        )
        for chunks in zip(*readers, strict=True):
            self._check_rewards(chunks[0])
            yield chunks[0], LogRows.from_chunks(chunks, self.survey, self.settings.reward_range)

    def _check_rewards(self, chunk: Chunk) -> None:
        low, high = self.settings.reward_range
        outside = np.flatnonzero((chunk.reward < low) | (chunk.reward > high))
        if outside.size:
            raise chunk.location.error(
                f"reward must be between {low:g} and {high:g}, got {chunk.reward[outside[0]].item()!r}; rescale "
                "rewards, or evaluate with reward_range=(lowest, highest) (--reward-range)",
                self.log.roles.reward,
                outside[0],
            )


def _find_encoders(passes: LogPasses) -> tuple[TableEncoder, TableEncoder]:
    """Return the log's encoder, and the encoder for models from other libraries."""
    given = passes.log.given_encoder
    if given is not None:
        return given, given.unscaled()
    statistics = passes.run("features", Log.feature_statistics, or_)
    return statistics.encoder(), plain_encoder(statistics)
