"""Results that are computed once for all readers."""

import asyncio
import time

from fairbandits.service.shared_result import SharedResult


class Source:
    """A value that changes, and the number of times it was computed."""

    def __init__(self, seconds=0.0):
        self.value = self.computed = 0
        self._seconds = seconds

    async def compute(self):
        value = self.value
        self.computed += 1
        await asyncio.sleep(self._seconds)
        return value

    def is_current(self, value):
        return value == self.value


def test_readers_share_a_computation():
    async def read():
        source = Source(0.01)
        shared = SharedResult(source.compute, source.is_current, max_load=0.5)
        assert await asyncio.gather(*[shared.get() for _ in range(50)]) == [0] * 50
        assert source.computed == 1
        assert await shared.get() == 0
        assert source.computed == 1, "nothing has changed"
        source.value = 1
        assert await asyncio.gather(*[shared.get() for _ in range(50)]) == [1] * 50
        assert source.computed == 2
        source.value = 2
        assert await shared.get(max_age=60) == 1

    asyncio.run(read())


def test_computing_takes_a_share_of_the_time():
    async def read():
        source = Source(0.01)
        shared = SharedResult(source.compute, lambda _: False, max_load=0.1)
        began = time.monotonic()
        for _ in range(4):
            await shared.get()
        assert time.monotonic() - began > 3 * 0.1
        assert source.computed == 4

    asyncio.run(read())


def test_readers_who_would_wait_too_long_get_the_last_result():
    async def read():
        source = Source(0.01)
        shared = SharedResult(source.compute, source.is_current, max_load=1e-4, patience=1.0)
        await shared.get()
        source.value = 1
        assert await shared.get() == 0

    asyncio.run(read())


def test_an_error_is_raised_and_forgotten():
    async def read():
        errors = [ValueError("once")]

        async def compute():
            if errors:
                raise errors.pop()
            return 1

        shared = SharedResult(compute, lambda _: True)
        [first, *_] = await asyncio.gather(shared.get(), return_exceptions=True)
        assert isinstance(first, ValueError)
        assert await shared.get() == 1

    asyncio.run(read())
