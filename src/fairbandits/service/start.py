"""The saved recommender that a service starts with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fairbandits.contexts import TableEncoder
from fairbandits.policies.persistence import PolicyState
from fairbandits.recommender import Recommender

#: The suffix of recommender files.
SUFFIX = ".safetensors"


@dataclass(frozen=True, eq=False)
class StartState:
    """The content of a file written by `Recommender.save`, on which the entries of the log build.

    Attributes
    ----------
    name : str
        The name of the file, for error messages.
    content : bytes
        The content of the file.
    """

    name: str
    content: bytes

    @classmethod
    def read(cls, path: Path) -> StartState:
        """Read a file; raise ValueError if a service cannot start with it."""
        start = cls(str(path), path.read_bytes())
        start.check()
        return start

    @property
    def sha256(self) -> str:
        """The hash of the content."""
        return hashlib.sha256(self.content).hexdigest()

    def recommender(self) -> Recommender:
        """Return the recommender, as a new object each time."""
        return Recommender.from_state(PolicyState.from_bytes(self.content, self.name), self.name)

    def check(self) -> None:
        """Raise ValueError if a service cannot start with the recommender."""
        state = PolicyState.from_bytes(self.content, self.name)
        encoders = state.header["metadata"].get("encoder", {})
        custom = [part for part in ("users", "items") if "transformer" in encoders.get(part, {})]
        if custom:
            raise ValueError(
                f"{self.name}: a service cannot load the custom transformer of {custom[0]}; save a recommender "
                "without user_encoder and item_encoder"
            )
        recommender = self.recommender()
        if recommender.policy.records():
            raise ValueError(
                f"{self.name}: the policy must learn from decisions and rewards alone, got "
                f"{type(recommender.policy).__name__}, whose state cannot be rebuilt from the log"
            )
        texts = {str(item) for item in recommender.items}
        if len(texts) < len(recommender.items):
            raise ValueError(f"{self.name}: item ids must be unique as text, got both a number and its text form")
        if not isinstance(recommender.encoder.users, TableEncoder) or not recommender.feature_names:
            raise ValueError(f"{self.name}: contexts must have at least one column, got none")
