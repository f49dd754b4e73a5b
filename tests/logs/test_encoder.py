"""The encoder of the users of a log."""

import pytest

from fairbandits.contexts import NumberEncoder, TableEncoder
from fairbandits.logs import Log, LogError
from tests.logs.helpers import error_of
from tests.logs.test_fitting import cities, make


@pytest.mark.parametrize("names", [["Paris", "Rome"], [1.0, 2.0]])
def test_a_log_without_the_columns_of_an_encoder(names):
    encoder = Log.open(cities(names)).encoder()
    other = Log.open(cities(names).rename(columns={"context_city": "context_cty"}))
    message = r"no column 'context_city', which the encoder needs; did you mean 'context_cty'\?"
    with pytest.raises(LogError, match=message):
        other.with_encoder(encoder)


def test_an_encoder_that_fills_nothing_refuses_gaps():
    frame = make(50)
    frame.loc[3, "context_age"] = None
    log = Log.open(frame).with_encoder(TableEncoder((NumberEncoder("context_age"),)))
    expected = "dataframe, column 'context_age', row 4: numeric feature must not be empty; fill it in"
    assert error_of(lambda: list(log.chunks(contexts=True))) == expected
