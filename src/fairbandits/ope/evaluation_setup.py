"""All that is fixed before the first row judges: the log, the policies, and how they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.encoder import ContextEncoder
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, OfferBuilder
from fairbandits.ope.candidates import Candidate
from fairbandits.ope.log_rows import LogRows, piece_of
from fairbandits.ope.survey import LogSurvey


@dataclass(frozen=True)
class EvaluationSettings:
    """How policies are judged.

    Attributes
    ----------
    uniform : bool
        Whether the log, which has no propensities, is said to have shown arms at random.
    clip : float or None
        The largest weight that a row may have.
    confidence : float
        The confidence of the intervals.
    seed : int
        The randomness of named policies and of rejections.
    """

    uniform: bool
    clip: float | None
    confidence: float
    seed: int

    def check(self, log: Log) -> None:
        """Refuse what makes no sense, or not for this log."""
        if self.uniform and log.roles.propensity is not None:
            raise ValueError(
                f"{log.name}: it is said to have shown arms at random, but it has propensities, in column "
                f"{log.roles.propensity!r}; leave out one of the two"
            )
        if self.clip is not None and not self.clip > 0.0:
            raise ValueError(f"clip is the largest weight that a row may have, above 0; got {self.clip!r}")
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(
                f"confidence is a probability between 0 and 1, both excluded; got {self.confidence!r}"
            )


class EvaluationSetup:
    """A log, the policies that it judges, and how.

    Parameters
    ----------
    log : Log
        The log.
    survey : LogSurvey
        What it has.
    candidates : sequence of Candidate
        The policies.
    setting : EvaluationSettings
        How they are judged.
    table : ArmTable, optional
        What is known of arms.
    """

    def __init__(
        self,
        log: Log,
        survey: LogSurvey,
        candidates: Sequence[Candidate],
        setting: EvaluationSettings,
        table: ArmTable | None,
    ) -> None:
        self.log, self.survey, self.candidates, self.setting, self.table = log, survey, candidates, setting, table
        # The log's own comes first; a policy that was fitted to another log may know other words.
        self.encoders: list[ContextEncoder] = [log.encoder()]
        for candidate in candidates:
            candidate.check(survey.arms, table)
            if candidate.encoder is not None and candidate.encoder not in self.encoders:
                self.encoders.append(candidate.encoder)
        self._offers = [OfferBuilder(survey.arms, encoder.width, table) for encoder in self.encoders]

    def offers(self, candidate: Candidate) -> tuple[OfferBuilder, int]:
        """Give what is on offer to a policy, and which of the encoders of a row it is made of."""
        place = 0 if candidate.encoder is None else self.encoders.index(candidate.encoder)
        return self._offers[place], place

    @property
    def is_weighed(self) -> bool:
        """Whether propensities are known."""
        return self.setting.uniform or self.log.roles.propensity is not None

    def read(self) -> Iterator[tuple[Chunk, LogRows]]:
        """Read the log: every chunk, and those of its rows that have a reward."""
        readers = (self.log.with_encoder(encoder).chunks(contexts=True) for encoder in self.encoders)
        for chunks in zip(*readers, strict=True):
            yield chunks[0], piece_of(chunks, self.survey, self.setting.uniform)
