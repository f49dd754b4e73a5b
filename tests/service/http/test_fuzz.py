"""Random requests and configurations: no internal error, and refused requests change nothing."""

import tomllib
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from fairbandits.service.auth.scopes import SCOPES
from fairbandits.service.config import Config, as_config, example_config, load_config
from fairbandits.service.http.messages import make_pseudonymiser
from fairbandits.service.http.problems import PROBLEM_TYPE
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.store import open_store
from tests.service.key_issuer import KeyIssuer, bearer
from tests.service.small import PLAIN, small_config

# More can be wrong with a request than its description says: it may ask for more arms than there are. And headers
# and parameters of which we do not know are no errors.
LEFT_OUT = [positive_data_acceptance, negative_data_rejection]
QUICK = settings(
    max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
FAST = settings(QUICK, max_examples=200)


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return small_config(store={"url": f"sqlite:///{tmp_path_factory.mktemp('fuzz')}/log.db"})


@pytest.fixture(scope="module")
def client(serving_module, config):
    """A client of a small service, with a key for everything."""
    _, token = KeyIssuer(config).make(*SCOPES)
    limits = {"guest_rate": 1000.0, "guest_burst": 1000.0}
    server = serving_module(**PLAIN, store={"url": config.store.url}, limits=limits)
    with server.client(headers=bearer(token)) as client:
        yield client


@pytest.fixture(scope="module")
def log(client, config):
    """The log that the service writes, read from its file."""
    with open_store(config) as store:
        yield store


@pytest.fixture(scope="module")
def operations(client):
    """The API as its description has it; but for the stream, which does not end."""
    url = f"{client.base_url}/openapi.json"
    api = schemathesis.openapi.from_url(url, headers=dict(client.headers)).exclude(path="/v1/stream")
    assert "user" in api.raw_schema["components"]["schemas"]["DecisionRequest"]["properties"]
    return [operation.ok() for operation in api.get_all_operations()]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
def test_no_request_causes_an_internal_error(client, log, operations, mode):
    statuses = set()
    shown = {"Authorization": client.headers["authorization"]}

    for operation in operations:

        @QUICK
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            before = log.last_seq()
            answer = case.call_and_validate(headers=shown, excluded_checks=LEFT_OUT)
            assert answer.status_code < 500
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == [PROBLEM_TYPE]
                assert log.last_seq() == before
            statuses.add(answer.status_code)

        with suppress(Unsatisfiable):  # where nothing can be wrong
            ask()
    assert statuses >= ({200} if mode is GenerationMode.POSITIVE else {422})


# -- configurations --------------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["", " ", "\x00", "'; DROP TABLE events; --", "sqlite://", "postgresql://", "LinUCB(", "1e999"]
    ),
)
ANYTHING = st.recursive(
    ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)


def places(plain, before=()):
    """Yield all places in plain values."""
    yield before
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in items:
        yield from places(value, (*before, key))


def replaced(plain, place, value):
    """Return plain values with another value at one place."""
    if not place:
        return value
    copy = plain.copy()
    copy[place[0]] = replaced(plain[place[0]], place[1:], value)
    return copy


def takes_or_refuses(plain):
    """Return a configuration, or None if a ValueError explains what is wrong with it."""
    try:
        return as_config(plain, "odd.toml")
    except ValueError as error:
        if not str(error).startswith("odd.toml: "):
            raise AssertionError(f"said without where: {error}") from error
        return None


@FAST
@given(st.dictionaries(st.sampled_from([*Config.model_fields, "more"]), ANYTHING))
def test_random_configurations(plain):
    takes_or_refuses(plain)


@FAST
@given(st.data())
def test_a_configuration_with_one_random_value(data):
    plain = tomllib.loads(example_config())
    place = data.draw(st.sampled_from([place for place in places(plain) if place]))
    config = takes_or_refuses(replaced(plain, place, data.draw(ANYTHING)))
    if config is not None:
        # An accepted configuration can be served.
        config.make_policy()
        Schemas(config, make_pseudonymiser(bytes(32)))


@FAST
@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_invalid_configuration_files(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "odd.toml"
    path.write_bytes(content)
    with suppress(ValueError):
        load_config(path)
