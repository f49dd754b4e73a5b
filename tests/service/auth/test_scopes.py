"""Scopes of keys."""

import pytest

from fairbandits.service.auth.scopes import parse_scopes


def test_scopes_are_a_set_of_known_ones():
    assert parse_scopes(["read", "admin", "read"]) == {"read", "admin"}
    with pytest.raises(ValueError, match="scopes must be one or more of decide, reward, read, admin, got 'root'"):
        parse_scopes(["read", "root"])
    with pytest.raises(ValueError, match="got none"):
        parse_scopes([])
