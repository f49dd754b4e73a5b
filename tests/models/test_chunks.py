"""Work in chunks that several threads take: every item once, and errors are not lost."""

import threading

import pytest

from fairbandits.models import threads


@pytest.fixture(autouse=True)
def _many_threads(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)


@pytest.mark.parametrize("n", [1, 7, 64, 1000])
def test_every_item_is_done_once(n):
    done, lock = [], threading.Lock()

    def part(first, end):
        with lock:
            done.extend(range(first, end))
        return end - first

    assert threads.in_chunks(part, n, step=8, work=10**9) == n
    assert sorted(done) == list(range(n))


def test_an_error_in_a_chunk_is_raised_even_if_it_is_an_index_error():
    def part(first, end):
        raise IndexError(f"no user {first}")

    with pytest.raises(IndexError, match="no user"):
        threads.in_chunks(part, 1000, step=8, work=10**9)
