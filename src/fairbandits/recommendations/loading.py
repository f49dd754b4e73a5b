"""The recommender of a run: a saved policy, with the items on offer."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from fairbandits.contexts import ItemCatalogue
from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.logs.errors import LogError
from fairbandits.logs.fragments import BATCH_ROWS
from fairbandits.logs.sources import open_source
from fairbandits.policies import Policy, PolicyFileError
from fairbandits.policies.persistence import PolicyState, read
from fairbandits.recommendations.tables import kinds_to_read, read_tables, require_columns
from fairbandits.recommender import ID_COLUMNS, Recommender, has_items


def load_recommender(policy: str | os.PathLike[str] | Recommender, items: Any) -> Recommender:
    """Load a policy from a file written by `Recommender.save`, `fairbandits fit` or `Policy.save`.

    Parameters
    ----------
    policy : path or Recommender
        The file, or a recommender that was loaded from it.
    items : path, data frame or None
        The items on offer, instead of those in the file.
    """
    if isinstance(policy, Recommender):
        recommender = policy
    else:
        state = read(policy)
        load = Recommender.from_state if has_items(state) else _without_items
        recommender = load(state, str(policy))
    if items is not None:
        return _with_items(recommender, items)
    if not recommender.items:
        raise PolicyFileError(f"{policy}: contains a policy without items; pass a file of items (--items)")
    return recommender


def _without_items(state: PolicyState, name: str) -> Recommender:
    """Return the recommender of a policy that was saved without items, but with its encoder."""
    policy = Policy.from_state(state, name)
    encoder = encoder_in(policy.metadata)
    if encoder is None:
        raise PolicyFileError(
            f"{name}: contains a policy without encoders of users and items; save its Recommender instead"
        )
    return Recommender.from_parts(policy, ItemCatalogue(encoder), tuple(policy.groups.attributes))


def _with_items(recommender: Recommender, items: Any) -> Recommender:
    """Return the recommender with other items on offer; what it has learned about items is retained."""
    is_file = isinstance(items, str | os.PathLike)
    frame, item_id = _read_items(recommender, items) if is_file else (items, recommender.item_id)
    catalogue = ItemCatalogue(recommender.encoder)
    offered = Recommender.from_parts(recommender.policy, catalogue, recommender.group_columns, item_id)
    try:
        offered.add_items(frame)
    except ValueError as error:
        raise LogError(f"{items if is_file else 'items'}: {error}") from None
    return offered


def _read_items(recommender: Recommender, items: str | os.PathLike[str]) -> tuple[Any, str]:
    """Read a file of items; return the columns that a recommender needs, and the name of the id column."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    source = open_source(items)
    named = [recommender.item_id] if recommender.item_id else [c for c in ID_COLUMNS if c in source.kinds]
    if not named:
        raise LogError(
            f"{source.name}: the table must have a column of ids, named {' or '.join(ID_COLUMNS)}, got "
            f"{', '.join(source.kinds)}"
        )
    item_id, encoder = named[0], recommender.encoder
    matched = [of_item for _, of_item in encoder.matches.values()]
    require_columns(source, [item_id], "id of items")
    require_columns(source, matched, "value to compare users with")
    tables = list(read_tables(source, kinds_to_read(source, encoder.items, [item_id, *matched]), BATCH_ROWS))
    if not tables:
        raise LogError(f"{source.name}: has no rows; a catalogue has one row per item")
    return pa.concat_tables(tables, promote_options="permissive"), item_id


def hash_policy(state: PolicyState) -> str:
    """Return a hash of a policy: its parameters and its entire learned state."""
    # Pending decisions make no difference, and a new session is opened whenever a policy is loaded.
    header = {name: value for name, value in state.header.items() if name != "ledger"}
    return hashlib.sha256(f"{json.dumps(header, sort_keys=True)} {state.checksum()}".encode()).hexdigest()


def hash_items(catalogue: ItemCatalogue) -> str:
    """Return a hash of the items on offer."""
    digest = hashlib.sha256(json.dumps(catalogue.to_json()).encode())
    for array in catalogue.arrays().values():
        digest.update(array.tobytes())
    return digest.hexdigest()


def seed_of(state: PolicyState) -> int:
    """Return the seed of a run, derived from the seed and the learned state of the policy.

    The same policy makes the same draws, and a policy that has learned in the meantime makes new ones. Otherwise,
    a policy that explores would try the same items on the same users every night.
    """
    seed = state.header["params"].get("random_state")
    drawn = json.dumps(state.header["rng"] if seed is None else seed, sort_keys=True)
    return int(hashlib.sha256(f"{drawn} {state.checksum()}".encode()).hexdigest(), 16)
