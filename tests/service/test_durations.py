"""Durations that people write."""

import pytest

from fairbandits.service.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90d", 7_776_000), ("180 days", 15_552_000), (" 1 week ", 604_800), ("0.5h", 1800), ("30 s", 30)],
)
def test_durations(text, seconds):
    assert parse_duration(text, "--expires") == seconds


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "0d", "1e3d", "90 dd", "1 year", "\u0661d"])
def test_texts_that_are_not_durations(text):
    with pytest.raises(ValueError, match="--expires must be a duration such as 90d, 12h or '2 weeks', got "):
        parse_duration(text, "--expires")
