"""A policy that works on tables, combined with the encoder of its contexts and the catalogue of its items."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, overload

from fairbandits.arms import ArmId, as_arm, as_arms
from fairbandits.contexts import ContextEncoder, FrameTable, ItemCatalogue, Offer
from fairbandits.contexts.context_fitting import as_names, fit_context_encoder
from fairbandits.contexts.eligible_items import eligible_ids, eligible_per_user
from fairbandits.contexts.table_encoder import value_in
from fairbandits.contexts.tables import as_row, column_label
from fairbandits.fairness import GroupRewards
from fairbandits.fairness.notebook import group_parts
from fairbandits.locks import SharedLock
from fairbandits.models.device import Device
from fairbandits.models.reward_model import with_prefix
from fairbandits.policies import Decision, Policy, PolicyFileError, Slate
from fairbandits.policies.logged_decisions import check_alignment
from fairbandits.policies.persistence import RECOMMENDER, PolicyState, read, write
from fairbandits.policies.records import RankedArms, Reward
from fairbandits.views import html
from fairbandits.views.text import counted

#: The names of columns that are recognised as ids if the items have no index.
ID_COLUMNS = ("item", "arm", "id", "item_id")
_ITEMS = "items."

User = Any
Names = Sequence[str]


class Recommender:
    """A policy that chooses an item for each user, where users and items are rows of data frames.

    Encoders are fitted to the tables, from which they learn the ranges of numbers and dates, the categories of
    text, and the columns that have missing values (see `fairbandits.contexts.fit_encoder`). Columns that identify
    rows, such as ids and titles, are left out. A context consists of the user's features, the item's features,
    the matches and the interactions, in this order.

    Parameters
    ----------
    policy : Policy
        A policy that has learned nothing yet.
    users : data frame
        Representative users, one per row, in a data frame from pandas, polars or any library that narwhals
        supports.
    items : data frame
        The items, one per row. Their ids are taken from the index of a pandas frame, or from the column `item_id`.
    groups : sequence of str
        The columns of `users` that are sensitive attributes. They are not used as features, unless `features`
        names them.
    features : sequence of str, optional
        The columns of `users` that are features; by default all except `groups` and those that identify rows.
    matches : sequence of str, or mapping of str to (user column, item column)
        Properties that users and items can share, such as a language. Each becomes a feature that is 1 if the user
        and the item have the same value. A name alone refers to the column of that name in both tables.
    interactions : sequence of (user column, item column)
        Pairs of columns whose features are multiplied. Interactions are intended for models that all items share.
    categories : sequence of str
        Numeric columns, in either table, that hold categories, such as postal codes.
    item_id : str, optional
        The column of `items` that contains their ids; by default, the index or, if there is none, the column named
        "item", "arm", "id" or "item_id".
    user_encoder, item_encoder : fitted scikit-learn transformers, optional
        Encoders, such as a ColumnTransformer, that are used instead of encoders fitted to the tables.

    Attributes
    ----------
    policy : Policy
        The policy.
    encoder : ContextEncoder
        The encoder that turns users and items into contexts.
    item_id : str or None
        The column that contains the ids of items; None for the index.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbandits import EvenLinUCB, Recommender
    >>> users = pd.DataFrame({"age": [25, 61, None], "sex": ["female", "male", "female"]})
    >>> items = pd.DataFrame({"genre": ["comedy", "drama"]}, index=["Twelfth Night", "Hamlet"])
    >>> recommender = Recommender(EvenLinUCB(random_state=0), users, items, groups=["sex"])
    >>> decision = recommender.choose({"age": 33, "sex": "male"}, eligible=["Hamlet"])
    >>> decision.arm, decision.group
    ('Hamlet', (('sex', 'male'),))
    >>> recommender.learn(decision, 0.8)
    >>> recommender.feature_names
    ('constant', 'age', 'age is missing', 'arm-genre=comedy', 'arm-genre=drama')
    """

    def __init__(
        self,
        policy: Policy,
        users: Any,
        items: Any,
        groups: Names = (),
        *,
        features: Names | None = None,
        matches: Names | Mapping[str, tuple[str, str]] = (),
        interactions: Sequence[tuple[str, str]] = (),
        categories: Names = (),
        item_id: str | None = None,
        user_encoder: Any = None,
        item_encoder: Any = None,
    ) -> None:
        of_users, of_items = FrameTable(users, "users"), FrameTable(items, "items")
        self.group_columns = as_names("groups", groups)
        of_users.require(self.group_columns, "groups")
        ids, self.item_id = of_items.ids(item_id, ID_COLUMNS)
        encoder = fit_context_encoder(
            of_users,
            of_items,
            left_out=self.group_columns,
            item_id=self.item_id,
            features=features,
            matches=matches,
            interactions=interactions,
            categories=categories,
            user_encoder=user_encoder,
            item_encoder=item_encoder,
        )
        catalogue = ItemCatalogue(encoder)
        catalogue.set_table(ids, of_items)
        _check_policy(policy, encoder, len(ids))
        self._begin(policy, catalogue)

    def _begin(self, policy: Policy, catalogue: ItemCatalogue) -> None:
        self.policy = policy
        # Stored so that policies with different encoders cannot be merged, and a policy saved alone keeps its
        # encoder.
        policy.metadata["encoder"] = catalogue.encoder.to_dict()
        self.catalogue = catalogue
        self._lock = SharedLock()

    @classmethod
    def from_parts(
        cls, policy: Policy, catalogue: ItemCatalogue, groups: Names = (), item_id: str | None = None
    ) -> Self:
        """Build a recommender from a policy and a catalogue, without tables to fit encoders to."""
        recommender = cls.__new__(cls)
        recommender.group_columns = as_names("groups", groups)
        recommender.item_id = item_id
        recommender._begin(policy, catalogue)
        return recommender

    @property
    def encoder(self) -> ContextEncoder:
        """The encoder that turns users and items into contexts."""
        return self.catalogue.encoder

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the context features."""
        return self.encoder.features

    @property
    def items(self) -> tuple[ArmId, ...]:
        """The ids of the items that can be recommended."""
        return self.catalogue.ids

    @property
    def groups(self) -> GroupRewards:
        """The rewards of each group so far."""
        return self.policy.groups

    # -- decisions -------------------------------------------------------------------------------------

    @overload
    def choose(self, user: User, *, eligible: Any = None, k: None = None) -> Decision: ...

    @overload
    def choose(self, user: User, *, eligible: Any = None, k: int) -> Slate: ...

    def choose(self, user: User, *, eligible: Any = None, k: int | None = None) -> Decision | Slate:
        """Choose an item for one user, or an ordered slate of k items.

        Parameters
        ----------
        user : mapping, pandas row, or data frame with one row
            The user's values for the columns of `users`; None where a value is unknown.
        eligible : collection of ids, or boolean array or column with an entry for each item, optional
            The items that this user may get; all by default.
        k : int, optional
            The number of items in the slate; by default, a single item is chosen.
        """
        row = as_row(user, "user")
        group = self.group_of(row)
        # Held until the decision is made, so that no item is chosen after it has been retired.
        with self._lock:
            own = None if eligible is None else eligible_ids(eligible, self.catalogue)
            return self.policy.choose(self.catalogue.offer([row], own), group, k=k)

    def choose_many(
        self, users: Any, *, eligible: Any = None, k: int | None = None, device: str | Device = "cpu"
    ) -> Any:
        """Choose an item, or an ordered slate of k items, for each of many users, without learning in between.

        Parameters
        ----------
        users : data frame, or sequence of mappings
            One row per user.
        eligible : collection of ids, sequence of collections, or boolean array (n_users, n_items), optional
            The items that users may get, either the same for all users or given for each user; None allows all
            items.
        k : int, optional
            The number of items in each user's slate.
        device : {"cpu", "auto"}, name of a device, or Device
            The device on which scores are computed, such as "cuda" for a GPU; see `Policy.choose_many`.

        Returns
        -------
        Decisions, or a sequence of Slates if k is given
            One decision or slate per user, in the order of the users; an empty list if there are no users.
        """
        many = _as_many(users)
        if not len(many):
            return []
        groups = self._groups_of(many)
        with self._lock:
            own = eligible_per_user(eligible, self.catalogue, len(many))
            return self.policy.choose_many(self.catalogue.offer(many), groups, eligible=own, k=k, device=device)

    def rank(self, users: Any, *, k: int, random_state: Any = None, device: str | Device = "cpu") -> RankedArms:
        """Rank the k items that `choose_many` would pick for each of many users, without making a decision.

        Parameters
        ----------
        users : data frame, or sequence of mappings
            One row per user; there must be at least one user.
        k : int
            The number of items per user.
        random_state : int or NumPy generator, optional
            The seed or generator for ties and random draws; by default the policy's own generator.
        device : {"cpu", "auto"}, name of a device, or Device
            The device on which scores are computed; see `Policy.choose_many`.
        """
        many = _as_many(users)
        groups = self._groups_of(many)
        with self._lock:
            offer = self.catalogue.offer(many)
            return self.policy.rank(offer, groups, k=k, random_state=random_state, device=device)

    def offer(
        self,
        users: Sequence[Mapping[str, Any]],
        groups: Sequence[Mapping[str, Any]],
        eligible: Sequence[ArmId] | None = None,
    ) -> Offer:
        """Return the contexts of items for users whose groups are given separately from their features.

        To make decisions, pass the result to `policy.choose_many(offer, groups)`. If your rows contain both
        features and groups, use `choose_many` instead.

        Parameters
        ----------
        users : sequence of mappings
            Each user's values for the columns of `users`.
        groups : sequence of mappings
            Each user's group by attribute; None where it is unknown. Matches on an attribute use these groups.
        eligible : sequence of ids, optional
            The items on offer; all by default.
        """
        with self._lock:
            return self.catalogue.offer(users, eligible, groups)

    def group_of(self, user: Mapping[str, Any]) -> dict[str, str | int | None]:
        """Return the groups of a user, by attribute."""
        return {name: column_label(value_in(user, name), name) for name in self.group_columns}

    def _groups_of(self, users: FrameTable | Sequence[Mapping[str, Any]]) -> list[dict[str, str | int | None]]:
        if not isinstance(users, FrameTable):
            return [self.group_of(user) for user in users]
        users.require(self.group_columns, "groups")
        columns = [users.labels(name) for name in self.group_columns]
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(users)
        # All users with the same groups share one object, so that `as_groups` reads it only once.
        groups = {row: dict(zip(self.group_columns, row, strict=True)) for row in set(rows)}
        return [groups[row] for row in rows]

    def learn(self, decision: Decision | Slate, reward: Reward, *, again: bool = False) -> None:
        """Learn from the reward of a decision, immediately or later, in any order; see `Policy.learn`."""
        self.policy.learn(decision, reward, again=again)

    def learn_many(
        self, decisions: Sequence[Decision | Slate], rewards: Iterable[Reward], *, again: bool = False
    ) -> None:
        """Learn from the rewards of many decisions; see `Policy.learn_many`."""
        self.policy.learn_many(decisions, rewards, again=again)

    def learn_logged(self, users: Any, items: Sequence[ArmId], rewards: Sequence[float]) -> None:
        """Learn from past decisions of any policy, given the users, the items shown and the rewards."""
        many = _as_many(users)
        ids = _as_list_of_ids(items)
        if len(ids) != len(many):
            raise ValueError(f"items must have one entry per user, got {len(ids)} for {len(many)} user(s)")
        check_alignment({"users": users, "items": items, "rewards": rewards})
        if not ids:
            return
        groups = self._groups_of(many)
        with self._lock:
            self.policy.learn_logged(self.catalogue.contexts(many, ids), ids, rewards, groups)

    # -- items -----------------------------------------------------------------------------------------

    def add_items(self, items: Any) -> None:
        """Add items from a data frame with the same columns as the original items; update those with known ids.

        The learned state of an item is kept when the item changes.
        """
        table = FrameTable(items, "items")
        ids, _ = table.ids(self.item_id, ID_COLUMNS)
        with self._lock:
            self.catalogue.set_table(ids, table)

    def retire_items(self, items: Sequence[ArmId]) -> None:
        """Remove items and their learned state; rewards of earlier decisions remain in the group means."""
        ids = as_arms(items) if not isinstance(items, str) else ()
        if not ids:
            raise ValueError(f"items must be a list of ids, got {items!r}")
        with self._lock:
            unknown = [item for item in ids if item not in self.catalogue]
            if unknown:
                raise ValueError(f"items must be in the catalogue, got {unknown[:5]}")
            for item in ids:
                self.catalogue.retire(item)
                self.policy.forget_arm(item, missing_ok=True)

    # -- state -----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the policy, its learned state, the encoder and the items in one file.

        `Policy.load` loads the policy alone from the same file.
        """
        write(path, self.state().to_bytes())

    def state(self) -> PolicyState:
        """Return a copy of the state of the whole recommender, which another thread can save."""
        with self._lock:
            state = self.policy.state()
            state.header["metadata"] = {
                **state.header["metadata"],
                RECOMMENDER: {
                    "groups": list(self.group_columns),
                    "items": self.catalogue.to_json(),
                    "item_id": self.item_id,
                },
            }
            state.arrays.update({f"{_ITEMS}{name}": array for name, array in self.catalogue.arrays().items()})
        return state

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        user_encoder: Any = None,
        item_encoder: Any = None,
        feature_map: Any = None,
    ) -> Self:
        """Load a recommender that `save` or `fairbandits fit` wrote.

        Parameters
        ----------
        path : path
            The file.
        user_encoder, item_encoder : fitted transformers, optional
            The encoders that the recommender was created with, if any; files do not contain them.
        feature_map : fitted transformer, optional
            The feature map of the policy's model, if it has one.
        """
        policy_state = read(path)
        return cls.from_state(
            policy_state,
            str(path),
            user_encoder=user_encoder,
            item_encoder=item_encoder,
            feature_map=feature_map,
        )

    @classmethod
    def from_state(
        cls,
        state: PolicyState,
        name: str = "the state",
        *,
        user_encoder: Any = None,
        item_encoder: Any = None,
        feature_map: Any = None,
    ) -> Self:
        """Rebuild a recommender from its state; `name` identifies it in error messages."""
        policy = Policy.from_state(state, name, feature_map=feature_map)
        if not has_items(state):
            raise PolicyFileError(f"{name}: contains a policy without users and items; load it with Policy.load")
        saved = state.header["metadata"]
        try:
            catalogue = ItemCatalogue(ContextEncoder.from_dict(saved["encoder"], user_encoder, item_encoder))
            held = saved[RECOMMENDER]
            catalogue.restore(held["items"], with_prefix(state.arrays, _ITEMS))
            return cls.from_parts(policy, catalogue, held["groups"], held["item_id"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise PolicyFileError(f"{name}: {error}") from None

    def _repr_html_(self) -> str:
        held = f"{counted(len(self.catalogue), 'item')}, {counted(len(self.feature_names), 'feature')}"
        learned = f"{held}, {counted(self.policy.rounds_learned, 'round')} learned"
        title = f"Recommender with {type(self.policy).__name__}"
        parameters = html.facts(self.policy.get_params(deep=False))
        return html.card(title, parameters, *group_parts(self.groups), note=learned)

    def __repr__(self) -> str:
        groups = f", groups={list(self.group_columns)}" if self.group_columns else ""
        return f"<Recommender of {counted(len(self.catalogue), 'item')} with {self.policy!r}{groups}>"


def has_items(state: PolicyState) -> bool:
    """Return whether a state belongs to a recommender rather than to a policy alone."""
    return RECOMMENDER in state.header["metadata"]


def _check_policy(policy: Any, encoder: ContextEncoder, n_items: int) -> None:
    """Raise ValueError if a policy has learned something, or belongs to another recommender."""
    if not isinstance(policy, Policy):
        raise ValueError(f"policy must be a fairbandits.Policy, got {type(policy).__name__}")
    described = encoder.to_dict()
    if policy.rounds_learned:
        raise ValueError(
            f"policy must have learned nothing yet, got one with {policy.rounds_learned:,} round(s); load a saved "
            "recommender with Recommender.load"
        )
    if policy.metadata.get("encoder", described) != described:
        raise ValueError("policy must not belong to another recommender; create a new policy")
    if policy.min_probability * n_items >= 1.0:
        warnings.warn(
            f"with {n_items} items, min_probability={policy.min_probability:g} makes all decisions random; set it "
            f"far below 1 / {n_items}",
            stacklevel=3,
        )


def _as_many(users: Any) -> FrameTable | Sequence[Mapping[str, Any]]:
    if isinstance(users, Sequence) and all(isinstance(user, Mapping) for user in users):
        return users
    return FrameTable(users, "users")


def _as_list_of_ids(items: Any) -> list[ArmId]:
    listed = items.to_list() if hasattr(items, "to_list") else list(items)
    return [as_arm(item) for item in listed]
