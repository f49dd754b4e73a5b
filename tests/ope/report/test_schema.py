"""The format of `evaluation.json`."""

import copy
import json
from pathlib import Path

import jsonschema_rs
import pytest

from fairbandits.ope import evaluate
from fairbandits.ope.report import page
from tests.audit.report.test_serialisation import strict

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "evaluation.md"
SCHEMA = json.loads(Path(page.__file__).with_name("schema.json").read_text())
VALIDATOR = jsonschema_rs.validator_for(strict(copy.deepcopy(SCHEMA)))


@pytest.mark.parametrize(
    "options",
    [{}, {"sequential": True}, {"require_gap": 0.02}, {"learning": True}, {"reward_range": (0, 5)}],
    ids=str,
)
def test_results_follow_the_schema(tmp_path, frame, trained, options):
    policies = trained if "sequential" in options else [trained, "Uniform"]
    evaluate(frame, policies, **options).write(tmp_path)
    VALIDATOR.validate(json.loads((tmp_path / "evaluation.json").read_text()))


def test_a_log_without_propensities_or_groups_follows_the_schema(frame, trained):
    bare = frame.drop(columns=["propensity", "sex"])
    VALIDATOR.validate(json.loads(json.dumps(evaluate(bare, trained).to_dict())))


def test_the_schema_is_strict_enough(evaluation):
    plain = json.loads(json.dumps(evaluation.to_dict()))
    for change in ({"version": 2}, {"policies": None}, {"status": 2}, {"further": 1}):
        assert not VALIDATOR.is_valid(plain | change)
    jsonschema_rs.validator_for(SCHEMA).validate(plain | {"further": 1})


def test_all_keys_are_documented(evaluation):
    text = DOCUMENT.read_text()
    section = text[text.index("## evaluation.json") :]
    policy = next(iter(evaluation.to_dict()["policies"].values()))
    for key in {*evaluation.to_dict(), *policy} - {"format", "version"}:
        assert f"`{key}`" in section, key
