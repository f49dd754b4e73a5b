"""The ledger of a policy: which decisions were made, and which have been learned."""

from __future__ import annotations

import copy
import secrets
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.policies.records import Decision, Slate

Ints = NDArray[np.int64]

_DECISIONS = (Decision, Slate)
# A decision takes one bit. A corrupt number beyond this limit would exhaust the memory.
_MOST_DECISIONS = 2**32


class Account:
    """The decisions of one session: which were learned (one bit each), and when arms were forgotten.

    Parameters
    ----------
    epoch : int
        The number of arms that its family had forgotten when the session began.

    Attributes
    ----------
    issued : int
        The number of decisions.
    forgotten : dict
        For each forgotten arm, the number of the first decision after it was forgotten.
    epoch : int
        The number of the family's forgotten arms that are accounted for: in `forgotten`, or before the session
        began.
    """

    def __init__(self, epoch: int = 0) -> None:
        self.issued = 0
        self.forgotten: dict[ArmId, int] = {}
        self.epoch = epoch
        self._learned = bytearray()

    @property
    def is_empty(self) -> bool:
        """Whether the account is indistinguishable from a new one."""
        return not (self.issued or self.forgotten or any(self._learned))

    def has_learned(self, number: int) -> bool:
        """Return whether a decision has been learned."""
        byte = number >> 3
        return byte < len(self._learned) and bool(self._learned[byte] >> (number & 7) & 1)

    def mark(self, number: int) -> None:
        """Mark a decision as learned."""
        byte = number >> 3
        self._reserve(byte)
        self._learned[byte] |= 1 << (number & 7)

    def unmark(self, number: int) -> None:
        """Mark a decision as not learned."""
        self._learned[number >> 3] &= ~(1 << (number & 7))

    def has_learned_any(self, numbers: Ints) -> bool:
        """Return whether any of several decisions has been learned."""
        known = numbers[numbers >> 3 < len(self._learned)]
        bits = np.frombuffer(self._learned, np.uint8)[known >> 3] >> (known & 7).astype(np.uint8)
        return bool((bits & 1).any())

    def mark_many(self, numbers: Ints) -> None:
        """Mark several decisions as learned."""
        if numbers.size:
            self._reserve(int(numbers.max()) >> 3)
            bits = np.frombuffer(self._learned, np.uint8)
            np.bitwise_or.at(bits, numbers >> 3, np.left_shift(1, numbers & 7).astype(np.uint8))

    def _reserve(self, byte: int) -> None:
        if byte >= len(self._learned):
            self._learned.extend(bytes(byte + 1 - len(self._learned) + len(self._learned) // 4))

    def bits(self) -> NDArray[np.uint8]:
        """Return the bits of the decisions, without zeros at the end."""
        return np.frombuffer(bytes(self._learned).rstrip(b"\0"), np.uint8)

    def to_json(self) -> dict[str, Any]:
        """Return the account as JSON values, without its bits."""
        return {"issued": self.issued, "forgotten": _pairs(self.forgotten), "epoch": self.epoch}

    @classmethod
    def restored(cls, values: dict[str, Any], bits: NDArray[Any]) -> Account:
        """Rebuild an account from the values that `to_json` and `bits` returned; older files have no epoch."""
        account = cls(int(values.get("epoch", 0)))
        account.issued, account.forgotten = int(values["issued"]), dict(values["forgotten"])
        account._learned = bytearray(bits.tobytes())
        return account


class Ledger:
    """The register that numbers decisions and ensures that each is learned once.

    A policy and all copies loaded from its files form one family; each process that loads it opens a session. A
    decision names both, `FAMILY:SESSION`, and its number within the session. So a policy can also learn decisions
    that were made after its file was saved, by a process that died before saving again: the account of an unknown
    session is opened when its first decision arrives.

    The ledger takes one bit per decision, so decisions whose rewards never arrive do not fill the memory. After a
    merge, it knows both families.

    Forgotten arms are numbered within a family, and the name of a session states how many there were when it
    began (its epoch): an arm that was forgotten later is forgotten for all decisions of that session.

    Attributes
    ----------
    policy : str
        The name of the current session, which decisions carry.
    """

    def __init__(self) -> None:
        self.policy = ""
        self._current = Account()
        self._accounts: dict[str, Account] = {}
        # For each family, the forgotten arms in order, with their epochs: 1, 2, ...
        self._families: dict[str, dict[ArmId, int]] = {}
        self.open_family()

    def open_family(self) -> None:
        """Open a new family for future decisions; decisions of known families can still be learned."""
        # Random, not seeded: two policies with the same seed are still different policies.
        self._family = secrets.token_hex(8)
        self._families[self._family] = {}
        self.open_session()

    def open_session(self) -> None:
        """Open a new session for future decisions; earlier decisions can still be learned."""
        if self.policy in self._accounts and self._current.is_empty:
            del self._accounts[self.policy]
        epoch = _epoch(self._families[self._family])
        self.policy = f"{self._family}:{secrets.token_hex(4)}.{epoch:x}"
        self._current = self._accounts[self.policy] = Account(epoch)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A copy of a policy must not name its decisions like the original.
        self.__dict__.update(state)
        self.open_session()

    def issue(self, many: int = 1) -> int:
        """Return the number of the next decision, or of the first of the next `many`."""
        account = self._current
        account.issued += many
        return account.issued - many

    def check(self, decision: Any, again: bool) -> Account:
        """Return the account of a decision; raise ValueError unless it is the policy's and may be learned."""
        account = self._find(decision)
        if account is None:
            raise ValueError(
                f"decision must have been made by this policy, got decision {decision.number} of "
                f"{decision.policy}; learn it with the policy that made it, and merge the two"
            )
        if not again and account.has_learned(decision.number):
            raise ValueError(
                f"decision {decision.number} has already been learned; pass again=True if its reward counts twice"
            )
        return account

    def check_many(self, policy: str, numbers: Ints, again: bool) -> Account | None:
        """Return the account of distinct decisions of a session; None if `check` rejects one, or two are equal."""
        if not again and not np.diff(np.sort(numbers, kind="stable")).all():
            return None
        account = self._account(policy, int(numbers.min()), int(numbers.max()))
        return None if account is None or (not again and account.has_learned_any(numbers)) else account

    def claim(self, decision: Any, again: bool) -> tuple[Account, bool]:
        """Mark a decision as learned, if `check` allows it; return its account, and whether the mark is new."""
        account = self.check(decision, again)
        is_first = not (again and account.has_learned(decision.number))
        account.mark(decision.number)
        return account, is_first

    def has_learned(self, decision: Any) -> bool:
        """Return whether a decision has been learned."""
        account = self._find(decision)
        return account is not None and account.has_learned(decision.number)

    def _find(self, decision: Any) -> Account | None:
        """Return the account of a decision; None if it belongs to another family, or was never made."""
        if not isinstance(decision, _DECISIONS):
            raise ValueError(
                f"decision must be a Decision or Slate that choose returned, got {type(decision).__name__}"
            )
        return self._account(decision.policy, decision.number, decision.number)

    def _account(self, policy: str, lowest: int, highest: int) -> Account | None:
        """Return the account of decisions of a session, given the range of their numbers."""
        account = self._accounts.get(policy)
        if account is self._current:
            return account if lowest >= 0 and highest < account.issued else None
        family = self._families.get(_family_of(policy))
        if family is None or lowest < 0 or highest >= _MOST_DECISIONS:
            return None
        if account is None:
            account = self._accounts[policy] = Account(_first_epoch(policy))
        # Arms forgotten since the session ended were forgotten after all of its decisions.
        since = takewhile(lambda pair: pair[1] > account.epoch, reversed(family.items()))
        account.forgotten.update((arm, _MOST_DECISIONS) for arm, _ in since)
        account.epoch = max(account.epoch, _epoch(family))
        return account

    def forget(self, arm: ArmId) -> None:
        """Record that an arm is forgotten from now on."""
        for forgotten in self._families.values():
            epoch = _epoch(forgotten) + 1
            forgotten.pop(arm, None)  # so that it is inserted last
            forgotten[arm] = epoch
        self._current.forgotten[arm] = self._current.issued
        self._current.epoch = _epoch(self._families[self._family])

    def merge(self, other: Ledger) -> None:
        """Add copies of the accounts of another policy; future decisions belong to a new family."""
        self._accounts.update(copy.deepcopy(other._accounts))
        self._families.update(copy.deepcopy(other._families))
        self.open_family()

    def shares_history(self, other: Ledger) -> bool:
        """Return whether both ledgers know decisions of the same family."""
        return bool(self._families.keys() & other._families.keys())

    def to_json(self) -> dict[str, Any]:
        """Return the families and the accounts as JSON values, without the bits."""
        return {
            "policy": self.policy,
            "families": {family: _pairs(forgotten) for family, forgotten in self._families.items()},
            "accounts": {policy: account.to_json() for policy, account in self._accounts.items()},
        }

    def arrays(self) -> dict[str, NDArray[np.uint8]]:
        """Return the bits of each account."""
        return {policy: account.bits() for policy, account in self._accounts.items()}

    @classmethod
    def restored(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Ledger:
        """Rebuild a ledger from the values that `to_json` and `arrays` returned, with a new session.

        In files up to version 4, an account belonged to a whole policy; each becomes a family with one session.
        """
        ledger = cls()
        accounts = {
            policy: Account.restored(account, arrays[policy]) for policy, account in values["accounts"].items()
        }
        if values["policy"] not in accounts:
            raise ValueError(f"there is no account of {values['policy']}")
        families = values["families"] if "families" in values else {policy: [] for policy in accounts}
        # Sessions without decisions are opened again when a decision arrives.
        ledger._accounts = {policy: account for policy, account in accounts.items() if not account.is_empty}
        ledger._families = {family: dict(forgotten) for family, forgotten in families.items()}
        ledger.policy, ledger._family = "", _family_of(values["policy"])
        ledger.open_session()
        return ledger


def _family_of(policy: str) -> str:
    return policy.partition(":")[0]


def _first_epoch(policy: str) -> int:
    """Return the epoch at which a session began; 0 if its name does not state it."""
    try:
        return int(policy.partition(".")[2], 16)
    except ValueError:
        return 0


def _epoch(forgotten: dict[ArmId, int]) -> int:
    return next(reversed(forgotten.values()), 0)


def _pairs(forgotten: dict[ArmId, int]) -> list[list[ArmId | int]]:
    return [list(pair) for pair in forgotten.items()]
