"""Which decisions were made, and which have been learned."""

from __future__ import annotations

import copy
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.policies.records import Decision, Slate

_DECISIONS = (Decision, Slate)


class Account:
    """The decisions of one policy: how many, which were learned (a bit each), and which arms were forgotten when.

    Attributes
    ----------
    issued : int
        The number of decisions.
    forgotten : dict
        For each forgotten arm the number of the first decision after it was forgotten.
    """

    def __init__(self) -> None:
        self.issued = 0
        self.forgotten: dict[ArmId, int] = {}
        self._learned = bytearray()

    def has_learned(self, number: int) -> bool:
        """Return whether a decision has been learned."""
        byte = number >> 3
        return byte < len(self._learned) and bool(self._learned[byte] >> (number & 7) & 1)

    def mark(self, number: int) -> None:
        """Mark a decision as learned."""
        byte = number >> 3
        if byte >= len(self._learned):
            self._learned.extend(bytes(byte + 1 - len(self._learned) + len(self._learned) // 4))
        self._learned[byte] |= 1 << (number & 7)

    def unmark(self, number: int) -> None:
        """Mark a decision as not learned."""
        self._learned[number >> 3] &= ~(1 << (number & 7))

    def bits(self) -> NDArray[np.uint8]:
        """Return the bits of the decisions, without zeros at the end."""
        return np.frombuffer(bytes(self._learned).rstrip(b"\0"), np.uint8)

    @classmethod
    def restored(cls, issued: int, forgotten: dict[ArmId, int], bits: NDArray[Any]) -> Account:
        """Return an account from its parts."""
        account = cls()
        account.issued, account.forgotten, account._learned = issued, forgotten, bytearray(bits.tobytes())
        return account


class Ledger:
    """Numbers decisions, and ensures that each is learned once.

    It takes a bit per decision, so that rewards may never come without filling the memory. After a merge it holds
    the accounts of both policies, and decisions of either can be learned.
    """

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self.open_account()

    def open_account(self) -> None:
        """Open a new account for future decisions; those made before can still be learned."""
        # Random, not seeded: two policies with the same seed are still two policies.
        self.policy = secrets.token_hex(8)
        self._current = self._accounts[self.policy] = Account()

    def issue(self, many: int = 1) -> int:
        """Return the number of the next decision, or the first of the next many."""
        account = self._current
        account.issued += many
        return account.issued - many

    def check(self, decision: Any, again: bool) -> Account:
        """Raise ValueError unless this is a decision of the policy that may be learned; return its account."""
        if not isinstance(decision, _DECISIONS):
            raise ValueError(
                f"decision must be a Decision or Slate that choose returned, got {type(decision).__name__}"
            )
        account = self._accounts.get(decision.policy)
        if account is None or not 0 <= decision.number < account.issued:
            raise ValueError(
                f"decision must be one of this policy, got decision {decision.number} of {decision.policy}; "
                "another "
                "policy made it, or this one after it was saved: learn it where it was made, and merge the two"
            )
        if not again and account.has_learned(decision.number):
            raise ValueError(
                f"decision {decision.number} must be learned once, and has been; pass again=True if its reward "
                "counts twice"
            )
        return account

    def claim(self, decision: Any, again: bool) -> tuple[Account, bool]:
        """Mark a decision as learned, if `check` allows; return its account, and whether it is the first time."""
        account = self.check(decision, again)
        is_first = not (again and account.has_learned(decision.number))
        account.mark(decision.number)
        return account, is_first

    def forget(self, arm: ArmId) -> None:
        """Note that an arm is forgotten from now on."""
        for account in self._accounts.values():
            account.forgotten[arm] = account.issued

    def merge(self, other: Ledger) -> None:
        """Add copies of the accounts of another policy."""
        self._accounts.update(copy.deepcopy(other._accounts))

    def shares_history(self, other: Ledger) -> bool:
        """Return whether both know decisions of one and the same policy."""
        return bool(self._accounts.keys() & other._accounts.keys())

    def to_json(self) -> dict[str, Any]:
        """Return the accounts as JSON values, without their bits."""
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
        """Return the bits of each account."""
        return {policy: account.bits() for policy, account in self._accounts.items()}

    @classmethod
    def restored(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Ledger:
        """Return the ledger of which `to_json` and `arrays` returned the parts."""
        ledger = cls()
        ledger.policy = str(values["policy"])
        ledger._accounts = {
            policy: Account.restored(int(account["issued"]), dict(account["forgotten"]), arrays[policy])
            for policy, account in values["accounts"].items()
        }
        if ledger.policy not in ledger._accounts:
            raise ValueError(f"there is no account of {ledger.policy}")
        ledger._current = ledger._accounts[ledger.policy]
        return ledger
