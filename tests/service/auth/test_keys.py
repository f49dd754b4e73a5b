"""Keys: random, verified by their secret, which is not stored."""

import pytest

from fairbandits.service.auth.keys import hash_secret, make_key, parse_token


def test_a_key_is_long_and_random_and_its_secret_is_not_stored():
    made = [make_key("shop", ["decide"], 0.0) for _ in range(50)]
    tokens = {token for _, token in made}
    assert len(tokens) == 50
    for key, token in made:
        key_id, secret = parse_token(token)
        assert key_id == key.id
        assert len(secret) == 64  # 256 bits
        assert secret not in repr(key)
        assert key.digest == hash_secret(secret)


@pytest.mark.parametrize(
    "token",
    ["", "fb_", "x" * 84, "fb_0123456789abcdef_" + "g" * 64, "fb_0123456789abcdef_" + "a" * 63, "fb_" + "é" * 81],
)
def test_other_texts_are_not_tokens(token):
    assert parse_token(token) is None
