"""Candidates that are policies of this library."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import ContextEncoder, ItemCatalogue, TableEncoder
from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.logs.arm_files import MATCH
from fairbandits.logs.offers import ArmTable, OfferBuilder
from fairbandits.ope.candidates.candidate import ArmProbabilities, Candidate, in_columns
from fairbandits.ope.log_rows import LogRows
from fairbandits.policies import Policy
from fairbandits.recommender import Recommender

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

Floats = NDArray[np.float64]

# The number of rows on which the fairness term of a policy is checked.
_CHECKED_ROWS = 32


class PolicyCandidate(Candidate):
    """A policy of this library.

    Parameters
    ----------
    title : str
        The name in reports.
    policy : Policy
        The policy, as a separate copy.
    is_trained : bool
        Whether the policy has been trained before; if so, it is evaluated as it is.

    Attributes
    ----------
    has_fairness_term : bool or None
        Whether the policy's scores depend on the groups' rewards; None before the first rows.
    offers : OfferBuilder
        The arms from which the policy chooses, after `prepare`.
    """

    needs_contexts = True
    offers: OfferBuilder

    def __init__(self, title: str, policy: Policy, is_trained: bool) -> None:
        super().__init__(title)
        self.policy, self.is_trained = policy, is_trained
        self._fitted_with = encoder_in(policy.metadata) if is_trained else None
        self.encoder = None if self._fitted_with is None else _users_encoder(title, self._fitted_with)
        self.has_fairness_term: bool | None = None
        self.catalogue: ItemCatalogue | None = None

    @classmethod
    def of_recommender(cls, title: str, recommender: Recommender) -> PolicyCandidate:
        """Return the candidate for a recommender, which offers its own items."""
        recommender.policy.metadata["encoder"] = recommender.encoder.to_dict()
        candidate = cls(title, recommender.policy, is_trained=True)
        candidate.catalogue = recommender.catalogue
        return candidate

    def prepare(self, setup: EvaluationSetup) -> None:
        """Encode the arms as the policy does; raise if it was trained with different arms or another catalogue."""
        table = self._arm_table(setup)
        self.offers = setup.offers(table, (self.encoder or setup.encoders[0]).width)
        known, arms = self.policy.arms_learned, setup.survey.arms
        if self.is_trained and known and not set(known) & set(arms):
            raise ValueError(
                f"{self.title}: a trained policy must know some of the arms on offer, such as {arms[0]!r} "
                f"({type(arms[0]).__name__}), got one that knows only others, such as {known[0]!r} "
                f"({type(known[0]).__name__}); write arm ids alike in both"
            )

    def _arm_table(self, setup: EvaluationSetup) -> ArmTable:
        """Return the arms from which the policy chooses: those given, or else a recommender's own or the log's."""
        table, fitted = setup.table, self._fitted_with
        if table is None and self.catalogue is not None:
            return ArmTable.from_catalogue(self.catalogue, setup.log)
        if fitted is None:
            return setup.arms
        if table is None:
            if fitted.has_items:
                raise ValueError(f"{self.title}: it was fitted with a catalogue of arms; pass it (--catalogue)")
            return setup.arms
        if table.fits(fitted):
            return table.encoded_by(fitted)
        if not fitted.has_items:
            raise ValueError(
                f"{self.title}: it was fitted without a catalogue of arms; leave it out (--catalogue)"
            )
        got = _columns(table.context_encoder(TableEncoder()))
        raise ValueError(
            f"{self.title}: the catalogue must have the columns {_columns(fitted)} in addition to the arms, like "
            f"the one it was fitted with, got {got} (--catalogue)"
        )

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Return the policy's probabilities, without training it."""
        # A recommender may have many more items than the log has arms.
        parts = [self._probabilities(batch, setup) for batch in rows.batches(len(self.offers.arms))]
        return ArmProbabilities.from_matrix(parts[0] if len(parts) == 1 else np.concatenate(parts), rows)

    def _probabilities(self, rows: LogRows, setup: EvaluationSetup) -> Floats:
        labels, contexts = setup.survey.groups.decode(rows.groups), rows.contexts[setup.encoder_number(self)]
        if self.has_fairness_term is None:  # checked once, because the policy does not learn here
            few = self.offers.offer_many(contexts[:_CHECKED_ROWS], labels[:_CHECKED_ROWS])
            self.has_fairness_term = bool(self.policy.score(few, labels[:_CHECKED_ROWS]).fairness.any())
        matrix = self.policy.probabilities(self.offers.offer_many(contexts, labels), labels)
        arms = setup.survey.arms
        if self.offers.arms == arms:
            return matrix
        return in_columns(matrix, setup.survey.numbers_of(self.offers.arms), len(arms))

    def fingerprint(self) -> bytes:
        """Return the parameters and a hash of the learned state; a pickle would contain a random id."""
        fitted, items = self._fitted_with, self.catalogue
        encoder = None if fitted is None else fitted.to_dict()
        parts = self.title, self.policy, self.policy.checksum(), self.is_trained, encoder
        own = b"" if items is None else pickle.dumps((items.to_json(), items.arrays()))
        return repr(parts).encode() + own

    @property
    def state(self) -> str:
        """The state in which the policy is evaluated, in words."""
        learned = self.policy.rounds_learned
        if self.is_trained:
            return f"as given, trained on {learned:,} rewards"
        return f"after training on {learned:,} earlier rows" if learned else "untrained"


def _users_encoder(title: str, encoder: ContextEncoder) -> TableEncoder:
    if not isinstance(encoder.users, TableEncoder) or encoder.interactions:
        raise ValueError(
            f"{title}: it must encode users column by column and without interactions to be evaluated on a log; "
            "evaluate a function that calls it"
        )
    return encoder.users


def _columns(encoder: ContextEncoder) -> str:
    """Return the columns of arms that an encoder reads."""
    columns = encoder.items.columns
    return ", ".join([*columns, *(f"{MATCH}{of_user}" for of_user, _ in encoder.matches.values())]) or "none"


def own_candidates(candidates: Iterable[Candidate]) -> list[PolicyCandidate]:
    """Return the candidates that are policies of this library."""
    return [candidate for candidate in candidates if isinstance(candidate, PolicyCandidate)]
