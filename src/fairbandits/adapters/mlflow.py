"""Policies as MLflow models of the pyfunc flavour: log, load, predict.

A model contains the policy's own file and a JSON file with the columns of users; nothing is pickled.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.arms import ArmId, as_arms
from fairbandits.contexts import Catalogue
from fairbandits.contexts.column_encoders import NumberEncoder
from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.contexts.table_encoder import TableEncoder
from fairbandits.contexts.tables import FrameTable
from fairbandits.extras import install_hint
from fairbandits.policies import Policy

if TYPE_CHECKING:
    from mlflow.models.model import ModelInfo

_POLICY, _SERVING = "policy.safetensors", "serving.json"


class PolicyModel:
    """The model that MLflow loads; `predict` takes a data frame of users and returns a data frame of decisions.

    Parameters
    ----------
    policy : Policy, or any other object with `choose_many`
        The policy. An object that is not a `Policy` is passed the data frame unchanged.
    features, groups : sequences of str
        The columns with the features of users, and with their sensitive attributes.
    arms : sequence of ids
        The arms on offer.
    """

    def __init__(
        self, policy: Any, features: Sequence[str] = (), groups: Sequence[str] = (), arms: Sequence[ArmId] = ()
    ) -> None:
        self.policy = policy
        self.features, self.groups, self.arms = tuple(features), tuple(groups), tuple(arms)
        fitted = _user_encoder(policy) if isinstance(policy, Policy) else None
        self.encoder = TableEncoder(tuple(map(NumberEncoder, self.features))) if fitted is None else fitted

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return the arm of each user, and the probability with which it was chosen, in the order of the rows."""
        import pandas as pd  # noqa: PLC0415 - comes with MLflow

        frame = model_input if isinstance(model_input, pd.DataFrame) else pd.DataFrame(model_input)
        decisions = self._choose(frame)
        # A probability without a closed form (None) becomes NaN.
        probability = np.array(decisions.probability, np.float64)
        return pd.DataFrame({"arm": decisions.picked, "probability": probability}, index=frame.index)

    def get_raw_model(self) -> Any:
        """Return the policy; the name is MLflow's, for the object that a model wraps."""
        return self.policy

    def _choose(self, frame: Any) -> Any:
        if not isinstance(self.policy, Policy):
            return self.policy.choose_many(frame)
        users = FrameTable(frame, "model_input")
        users.require((*self.encoder.columns, *self.groups), "features and groups")
        contexts = self.encoder.encode_table(users)
        offer = Catalogue(np.zeros((len(self.arms), 0)), self.encoder.width, self.arms).offer_many(contexts)
        groups = {name: users.labels(name) for name in self.groups}
        return self.policy.choose_many(offer, [{n: groups[n][row] for n in groups} for row in range(len(frame))])


def save_policy(
    policy: Any,
    path: str | os.PathLike[str],
    *,
    features: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    arms: Sequence[ArmId] | None = None,
    pip_requirements: Sequence[str] | None = None,
    **options: Any,
) -> None:
    """Save a policy as an MLflow model in a folder.

    Parameters
    ----------
    policy : Policy
        The policy, or another object with `save`, `load` and `choose_many(frame)`.
    path : path
        The folder, which must not exist.
    features : sequence of str, optional
        The columns of the users' features, in the order of the contexts on which the policy was trained; the
        context of all arms consists of the user's features. By default those of the log to which the policy was
        fitted.
    groups : sequence of str, optional
        The columns of the users' sensitive attributes; by default those of that log.
    arms : sequence of ids, optional
        The arms to choose from; by default the arms about which the policy has learned something.
    pip_requirements : sequence of str, optional
        The requirements of the model; by default this release of fairbandits, and pandas.
    **options
        Options that are passed on to `mlflow.pyfunc.save_model`.
    """
    mlflow = _import_mlflow("save_policy")
    with _model_files(policy, features, groups, arms, pip_requirements) as files:
        mlflow.pyfunc.save_model(str(path), **files | options)


def log_policy(
    policy: Any,
    name: str = "policy",
    *,
    features: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    arms: Sequence[ArmId] | None = None,
    pip_requirements: Sequence[str] | None = None,
    **options: Any,
) -> ModelInfo:
    """Log a policy as a model of the current MLflow run.

    The parameters are those of `save_policy`, but options are passed on to `mlflow.pyfunc.log_model`.

    Returns
    -------
    ModelInfo
        MLflow's description of the model, which can be loaded by its `model_uri`.
    """
    mlflow = _import_mlflow("log_policy")
    with _model_files(policy, features, groups, arms, pip_requirements) as files:
        return mlflow.pyfunc.log_model(name=name, **files | options)


def load_policy(model_uri: str | os.PathLike[str]) -> Any:
    """Load the policy itself, to continue training it; for predictions, use `mlflow.pyfunc.load_model`."""
    mlflow = _import_mlflow("load_policy")
    return mlflow.pyfunc.load_model(str(model_uri)).get_raw_model()


def _load_pyfunc(path: str) -> PolicyModel:
    """Load a model; MLflow calls this function by name."""
    folder = Path(path)
    serving = json.loads((folder / _SERVING).read_text("utf-8"))
    module, _, name = serving.pop("class").partition(":")
    return PolicyModel(getattr(importlib.import_module(module), name).load(folder / _POLICY), **serving)


@contextmanager
def _model_files(
    policy: Any,
    features: Sequence[str] | None,
    groups: Sequence[str] | None,
    arms: Sequence[ArmId] | None,
    pip_requirements: Sequence[str] | None,
) -> Iterator[dict[str, Any]]:
    """Write the files of a model to a temporary folder; yield the arguments that MLflow needs."""
    from fairbandits import __version__  # noqa: PLC0415 - imports this package

    serving = _serving(policy, features, groups, arms)
    kind = Policy if isinstance(policy, Policy) else type(policy)
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / _POLICY)
        text = json.dumps({"class": f"{kind.__module__}:{kind.__qualname__}", **serving})
        (Path(folder) / _SERVING).write_text(text, "utf-8")
        default = (f"fairbandits=={__version__}", "pandas")
        yield {
            "loader_module": __name__,
            "data_path": folder,
            "signature": _signature(PolicyModel(policy, **serving)) if serving else None,
            "pip_requirements": list(default if pip_requirements is None else pip_requirements),
        }


def _serving(
    policy: Any, features: Sequence[str] | None, groups: Sequence[str] | None, arms: Sequence[ArmId] | None
) -> dict[str, Any]:
    """Return the columns of users and the arms, which a policy needs in addition to its file."""
    if not isinstance(policy, Policy):
        if (features, groups, arms) != (None, None, None):
            raise ValueError(
                f"features, groups and arms must be None for a {type(policy).__name__}, got other values"
            )
        return {}
    fitted = policy.metadata.get("roles", {})
    encoder = _user_encoder(policy)
    if features is None and encoder is None:
        raise ValueError("features must name the columns of the users' features, got None")
    width, given = policy.n_features_in_, () if features is None else tuple(features)
    if features is not None and encoder is not None and given != encoder.columns:
        raise ValueError(f"features must be None or the features of the fit, {encoder.columns}, got {given}")
    if features is not None and encoder is None and width not in (None, len(given)):
        raise ValueError(
            f"features must have {width} names, one per column of contexts, got {len(given)}: {list(given)}"
        )
    known = policy.arms_learned if arms is None else as_arms(arms)
    if not known:
        raise ValueError("arms must be given for a policy that has learned nothing, got none")
    columns = given or tuple(fitted.get("contexts", ()))
    return {
        "features": columns,
        "groups": tuple(fitted.get("groups", ()) if groups is None else groups),
        "arms": known,
    }


def _user_encoder(policy: Policy) -> TableEncoder | None:
    """Return the encoder of users with which a policy was fitted, or None if there is none."""
    encoder = encoder_in(policy.metadata)
    if encoder is not None and (encoder.has_items or not isinstance(encoder.users, TableEncoder)):
        raise ValueError(
            "policy must be fitted without items and transformers, got one fitted with them; save a Recommender"
        )
    return None if encoder is None else encoder.users  # type: ignore[return-value]


def _signature(model: PolicyModel) -> Any:
    from mlflow.models import ModelSignature  # noqa: PLC0415 - an extra
    from mlflow.types import ColSpec, DataType, Schema  # noqa: PLC0415

    text, number = DataType.string, DataType.double
    kinds = {"number": number, "date": DataType.datetime, "category": text}
    columns = [(each.name, kinds.get(each.kind, text)) for each in model.encoder.encoders]
    inputs = [ColSpec(kind, name) for name, kind in columns]
    inputs += [ColSpec(text, name, required=False) for name in model.groups if name not in model.encoder.columns]
    arm = text if any(isinstance(each, str) for each in model.arms) else DataType.long
    return ModelSignature(Schema(inputs), Schema([ColSpec(arm, "arm"), ColSpec(number, "probability")]))


def _import_mlflow(what: str) -> Any:
    try:
        import mlflow.pyfunc  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"{what} needs MLflow; {install_hint('mlflow')}") from None
    return mlflow
