"""Waiting for a condition instead of sleeping for a fixed time."""

import time

#: Seconds after which waiting fails. Generous, because machines are busy and kernels may have to be compiled.
DEADLINE = 120.0


def wait_until(
    condition, message="the condition did not become true", seconds=DEADLINE, interval=0.02, pause=None
):
    """Call a condition until it returns something true, and return that.

    Parameters
    ----------
    condition : callable
        The condition.
    message : str or callable
        The message of the error after `seconds`.
    pause : callable, optional
        A function of seconds that waits, instead of `time.sleep`.
    """
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, message() if callable(message) else message
        (pause or time.sleep)(interval)
    return result


def wait_for_first_run(process, out):
    """Wait until a command, which must go on meanwhile, has written its first run to the cache in `out`."""

    def has_run():
        assert process.poll() is None
        return list((out / "cache").glob("*.npz"))

    wait_until(has_run, seconds=60, interval=0.005)
