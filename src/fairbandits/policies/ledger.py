"""Which decisions were handed out, and which have been learned from."""

from __future__ import annotations

import copy
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.policies.decision import Decision
from fairbandits.policies.slate import Slate

_DECISIONS = (Decision, Slate)


class _Account:
    """The decisions of one policy: how many, which were learned (a bit each), which arms left when."""

    def __init__(self) -> None:
        self.issued = 0
        self.learned = bytearray()
        self.forgotten: dict[ArmId, int] = {}

    def has_learned(self, number: int) -> bool:
        byte = number >> 3
        return byte < len(self.learned) and bool(self.learned[byte] >> (number & 7) & 1)

    def mark(self, number: int) -> None:
        byte = number >> 3
        if byte >= len(self.learned):
            self.learned.extend(bytes(byte + 1 - len(self.learned) + len(self.learned) // 4))
        self.learned[byte] |= 1 << (number & 7)


class Ledger:
    """Numbers decisions, and sees to it that each is learned once.

    A bit per decision, so that rewards may stay away for ever without filling the memory. After a merge
    the accounts of both policies are kept, and either's decisions can still be learned.
    """

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self.open_account()

    def open_account(self) -> None:
        """Give decisions a new name from now on; those handed out before can still be learned."""
        # Random, not seeded: two policies of one seed are still two policies.
        self.policy = secrets.token_hex(8)
        self._accounts[self.policy] = _Account()

    def issue(self, many: int = 1) -> int:
        """Give the next decision its number; or the first of the next many."""
        account = self._accounts[self.policy]
        account.issued += many
        return account.issued - many

    def check(self, decision: Any, again: bool) -> Decision | Slate:
        """Refuse what is not a decision of this policy, or was learned before."""
        if not isinstance(decision, _DECISIONS):
            raise ValueError(
                f"learn takes the Decision or Slate that choose returned; got {type(decision).__name__}"
            )
        account = self._accounts.get(decision.policy)
        if account is None or not 0 <= decision.number < account.issued:
            raise ValueError(
                f"decision {decision.number} of {decision.policy} is not known to this policy: another one made "
                "it, or this one after it was saved; learn it where it was made, and merge the two"
            )
        if not again and account.has_learned(decision.number):
            raise ValueError(
                f"decision {decision.number} has been learned before; pass again=True if its reward counts twice"
            )
        return decision

    def mark(self, decision: Decision | Slate) -> None:
        """Note that a decision has been learned."""
        self._accounts[decision.policy].mark(decision.number)

    def forget(self, arm: ArmId) -> None:
        """Note that an arm was forgotten now."""
        for account in self._accounts.values():
            account.forgotten[arm] = account.issued

    def is_gone(self, decision: Decision | Slate, arm: ArmId) -> bool:
        """Whether an arm of a decision has been forgotten since."""
        return decision.number < self._accounts[decision.policy].forgotten.get(arm, 0)

    def merge(self, other: Ledger) -> None:
        """Take over copies of the accounts of another policy."""
        self._accounts.update(copy.deepcopy(other._accounts))

    def shares_history(self, other: Ledger) -> bool:
        """Whether the two know of decisions of one and the same policy."""
        return bool(self._accounts.keys() & other._accounts.keys())

    def to_json(self) -> dict[str, Any]:
        """Give the accounts as plain values, but for the bits."""
        return {
            "policy": self.policy,
            "accounts": {
                policy: {
                    "issued": account.issued,
                    "forgotten": [list(pair) for pair in account.forgotten.items()],
                }
                for policy, account in self._accounts.items()
            },
        }

    def arrays(self) -> dict[str, NDArray[np.uint8]]:
        """Give the bits of each account."""
        return {policy: np.frombuffer(bytes(a.learned), np.uint8) for policy, a in self._accounts.items()}

    @classmethod
    def restore(cls, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Ledger:
        """Take a ledger from what `to_json` and `arrays` gave."""
        ledger = cls()
        ledger.policy = str(plain["policy"])
        ledger._accounts = {}
        for policy, values in plain["accounts"].items():
            account = ledger._accounts[policy] = _Account()
            account.issued = int(values["issued"])
            account.forgotten = dict(values["forgotten"])
            account.learned = bytearray(arrays[policy].tobytes())
        if ledger.policy not in ledger._accounts:
            raise ValueError(f"there is no account of {ledger.policy}")
        return ledger
