"""The inputs of an evaluation: the log, the policies and the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.encoder import ContextEncoder
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, OfferBuilder
from fairbandits.ope.candidates import Candidate
from fairbandits.ope.log_rows import LogRows
from fairbandits.ope.log_survey import LogSurvey


@dataclass(frozen=True)
class EvaluationSettings:
    """The settings of an evaluation.

    Attributes
    ----------
    uniform : bool
        Whether a log without propensities is declared to come from a uniform policy.
    clip : float or None
        The maximum importance weight.
    confidence : float
        The confidence of the intervals.
    seed : int
        The random seed of policies given by name and of rejection sampling.
    """

    uniform: bool
    clip: float | None
    confidence: float
    seed: int

    def check(self, log: Log) -> None:
        """Raise if a setting is invalid, in general or for this log."""
        if self.uniform and log.roles.propensity is not None:
            raise ValueError(
                f"{log.name}: uniform must be False for a log with propensities, got True and column "
                f"{log.roles.propensity!r}; leave out one of them"
            )
        if self.clip is not None and not self.clip > 0.0:
            raise ValueError(f"clip must be above 0, got {self.clip!r}")
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be between 0 and 1, exclusive, got {self.confidence!r}")


class EvaluationSetup:
    """A log, the policies to evaluate on it, and the settings.

    Parameters
    ----------
    log : Log
        The log.
    survey : LogSurvey
        Its contents.
    candidates : sequence of Candidate
        The policies.
    settings : EvaluationSettings
        The settings.
    table : ArmTable, optional
        The features of the arms.
    """

    def __init__(
        self,
        log: Log,
        survey: LogSurvey,
        candidates: Sequence[Candidate],
        settings: EvaluationSettings,
        table: ArmTable | None,
    ) -> None:
        self.log, self.survey, self.candidates, self.settings, self.table = (
            log,
            survey,
            candidates,
            settings,
            table,
        )
        # The log's own encoder comes first; policies fitted to other logs may have other categories.
        self.encoders: list[ContextEncoder] = [log.encoder()]
        for candidate in candidates:
            candidate.check(survey.arms, table)
            if candidate.encoder is not None and candidate.encoder not in self.encoders:
                self.encoders.append(candidate.encoder)
        self._offers = [OfferBuilder(survey.arms, encoder.width, table) for encoder in self.encoders]

    def offers(self, candidate: Candidate) -> tuple[OfferBuilder, int]:
        """Return the offers for a policy, and the number of the encoder whose features they take."""
        number = 0 if candidate.encoder is None else self.encoders.index(candidate.encoder)
        return self._offers[number], number

    @property
    def has_propensities(self) -> bool:
        """Whether the propensities are known."""
        return self.settings.uniform or self.log.roles.propensity is not None

    def read(self) -> Iterator[tuple[Chunk, LogRows]]:
        """Yield the chunks of the log, each with those of its rows that have a reward."""
        readers = (self.log.with_encoder(encoder).chunks(contexts=True) for encoder in self.encoders)
        for chunks in zip(*readers, strict=True):
            yield chunks[0], LogRows.from_chunks(chunks, self.survey, self.settings.uniform)
