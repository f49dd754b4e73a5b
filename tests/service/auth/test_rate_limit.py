"""Token buckets."""

import pytest

from fairbandits.service.auth.rate_limit import RateLimiter, client_address


def test_buckets_fill_again_and_go_into_debt():
    now = [0.0]
    limiter = RateLimiter(rate=10, burst=5, clock=lambda: now[0])
    assert [limiter.take("a") for _ in range(5)] == [0.0] * 5
    assert limiter.take("a") == pytest.approx(0.1)
    assert limiter.take("b") == 0.0, "another client has its own bucket"
    now[0] = 0.1
    assert limiter.take("a") == 0.0
    now[0] = 100.0
    assert limiter.take("a", cost=25) == 0.0
    assert limiter.take("a") == pytest.approx(2.1)


def test_memory_is_bounded():
    limiter = RateLimiter(rate=1, burst=1, clock=lambda: 0.0)
    for number in range(60_000):
        limiter.take(str(number))
    assert len(limiter._full_at) <= 20_000


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (None, ""),
        (("192.0.2.7", 5000), "192.0.2.7"),
        (("2001:db8::17", 5000), "2001:db8::/64"),
        (("fe80::17%eth0", 5000), "fe80::/64"),
        (("not:an:address", 5000), "not:an:address"),
    ],
)
def test_addresses_of_clients(client, address):
    assert client_address(client) == address
