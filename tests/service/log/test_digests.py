"""Digests and chains: they depend on everything that they cover."""

from itertools import pairwise

import pytest

from fairbandits.service.log.digests import chain_value, content_digest, new_chain, new_salts, next_link, seal

CONTENT = {"salt": b"s" * 16, "kind": "decided", "key": "d:1", "time": 1.5, "body": b"{}"}
LINK = {"link": b"l" * 32, "n": 3, "kind": "decided", "key": "d:1", "time": 1.5, "digest": b"d" * 32}


@pytest.mark.parametrize(
    ("function", "given", "changed"),
    [
        (content_digest, CONTENT, {"salt": b"t" * 16}),
        (content_digest, CONTENT, {"kind": "decide", "key": "dd:1"}),
        (content_digest, CONTENT, {"time": 2.5}),
        (content_digest, CONTENT, {"body": b"{} "}),
        (next_link, LINK, {"link": b"m" * 32}),
        (next_link, LINK, {"n": 4}),
        (next_link, LINK, {"kind": "rewarded"}),
        (next_link, LINK, {"key": "d:2"}),
        (next_link, LINK, {"time": -1.5}),
        (next_link, LINK, {"digest": b"e" * 32}),
        (chain_value, {"seq": 1, "link": b"l"}, {"seq": 2}),
        (chain_value, {"seq": 1, "link": b"l"}, {"link": b"m"}),
    ],
)
def test_every_part_counts(function, given, changed):
    assert function(**given) == function(**given)
    assert function(**given) != function(**given | changed)


def test_a_chain_begins_with_its_writer_and_goes_on():
    assert new_chain("one") == new_chain("one") != new_chain("two")
    assert new_chain().writer != new_chain().writer
    heads = [new_chain("one")]
    for _ in range(3):
        sealed, head = seal(heads[-1], b"s" * 16, "decided", "d:1", 1.5, "ä")
        assert sealed.digest == content_digest(sealed.salt, "decided", "d:1", 1.5, "ä".encode())
        assert (sealed.n, sealed.link) == (head.n, head.link)
        heads.append(head)
    assert all(after.n == before.n + 1 and after.link != before.link for before, after in pairwise(heads))


def test_equal_events_have_different_digests():
    salts = new_salts(2)
    sealed = [seal(new_chain("one"), salt, "decided", "d:1", 1.5, "{}")[0] for salt in salts]
    assert {len(salt) for salt in salts} == {16}
    assert sealed[0].digest != sealed[1].digest
