"""Candidates that are policies of this library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairbandits.contexts import ContextEncoder, ItemCatalogue, TableEncoder
from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope.candidates.candidate import ArmProbabilities, Candidate
from fairbandits.ope.log_rows import LogRows
from fairbandits.policies import Policy
from fairbandits.recommender import Recommender

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

# The number of rows on which the fairness term of a policy is checked.
_CHECKED_ROWS = 32


class PolicyCandidate(Candidate):
    """A policy of this library.

    Parameters
    ----------
    title : str
        The name in reports.
    policy : Policy
        The policy, a copy of its own.
    is_trained : bool
        Whether it has learned before; it is then evaluated as it is.

    Attributes
    ----------
    has_fairness_term : bool or None
        Whether the policy's scores depend on the groups' rewards; None before the first rows.
    """

    needs_contexts = True

    def __init__(self, title: str, policy: Policy, is_trained: bool) -> None:
        super().__init__(title)
        self.policy, self.is_trained = policy, is_trained
        self._fitted_with = encoder_in(policy.metadata)
        self.encoder = None if self._fitted_with is None else _users_encoder(title, self._fitted_with)
        self.has_fairness_term: bool | None = None
        self.catalogue: ItemCatalogue | None = None

    @classmethod
    def of_recommender(cls, title: str, recommender: Recommender) -> PolicyCandidate:
        """Return the candidate for a recommender, whose items are on offer."""
        recommender.policy.metadata["encoder"] = recommender.encoder.to_dict()
        candidate = cls(title, recommender.policy, is_trained=True)
        candidate.catalogue = recommender.catalogue
        return candidate

    def prepare(self, setup: EvaluationSetup) -> None:
        """Raise if the policy was trained on other arms or with another catalogue."""
        known, arms = self.policy.arms_learned, setup.survey.arms
        if self.is_trained and known and not set(known) & set(arms):
            raise ValueError(
                f"{self.title}: a trained policy must know some of the arms on offer, such as {arms[0]!r} "
                f"({type(arms[0]).__name__}), got one that knows only others, such as {known[0]!r} "
                f"({type(known[0]).__name__}); write arm ids alike in both"
            )
        if self._fitted_with is not None and self._fitted_with.has_items != (setup.table is not None):
            fitted, remedy = ("with", "pass it") if setup.table is None else ("without", "leave it out")
            raise ValueError(f"{self.title}: it was fitted {fitted} a catalogue of arms; {remedy} (--catalogue)")

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Return the policy's probabilities, without learning."""
        offers, encoder = setup.offers(self)
        labels, contexts = setup.survey.groups.decode(rows.groups), rows.contexts[encoder]
        if self.has_fairness_term is None:  # checked once, because the policy does not learn here
            few = offers.offer_many(contexts[:_CHECKED_ROWS], labels[:_CHECKED_ROWS])
            self.has_fairness_term = bool(self.policy.score(few, labels[:_CHECKED_ROWS]).fairness.any())
        matrix = self.policy.probabilities(offers.offer_many(contexts, labels), labels)
        return ArmProbabilities.from_matrix(matrix, rows)

    def fingerprint(self) -> bytes:
        """Return the parameters and a hash of everything learned; a pickle would have a random id."""
        return repr((self.title, self.policy, self.policy.checksum(), self.is_trained)).encode()

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


def known_items(candidates: Iterable[PolicyCandidate], log: Log) -> ArmTable | None:
    """Return the items of the recommenders among the candidates; None if there are none with features."""
    found = [each.catalogue for each in candidates if each.catalogue and each.catalogue.encoder.has_items]
    if not found:
        return None
    if any(each.to_json() != found[0].to_json() for each in found):
        raise ValueError("recommenders must have the same items to be compared; pass a catalogue (--catalogue)")
    return ArmTable.from_catalogue(found[0], log)


def own_candidates(candidates: Iterable[Candidate]) -> list[PolicyCandidate]:
    """Return those candidates that are policies of this library."""
    return [candidate for candidate in candidates if isinstance(candidate, PolicyCandidate)]
