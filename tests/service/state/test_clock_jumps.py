"""Clocks that jump: the blocks of time are as short as before once the clock is right again."""

import numpy as np
import pytest

from fairbandits.service.state.findings import Findings
from fairbandits.service.state.monitor import Monitor
from tests.service.logs import START, entries
from tests.service.small import small_config

DAY = 86_400.0
_ARRAYS = ("decided", "explored", "totals", "by_block", "by_arm")


def rounds(start, n, step=60.0, groups=("female", "male")):
    return [
        {
            "groups": {"gender": groups[number % len(groups)]},
            "time": start + step * number,
            "reward": number % 5 / 5,
        }
        for number in range(n)
    ]


def fold(log, monitor=None):
    monitor = monitor or Monitor(small_config())
    for entry in log:
        monitor.apply(entry)
    return monitor


@pytest.mark.parametrize("offset", [40 * DAY, 3 * DAY, -40 * DAY, 2000 * DAY])
def test_a_clock_that_is_off_for_a_while_does_not_make_blocks_longer_for_ever(offset):
    right, wrong = rounds(START, 60), rounds(START + 3600 + offset, 30)
    later = rounds(START + 2 * 3600, 60)
    monitor, usual = fold(entries([*right, *wrong, *later])), fold(entries([*right, *later]))
    assert monitor.blocks.width == usual.blocks.width
    assert monitor.last == usual.last
    np.testing.assert_allclose(monitor.by_block.sum(axis=0), monitor.totals)
    assert monitor.totals[:, 0].sum() == 150
    # What came meanwhile is in the block beside the jump.
    assert (
        np.abs(monitor.by_block.sum(axis=(1, 2)) - usual.by_block.sum(axis=(1, 2)))[1:-1].astype(bool).sum() <= 1
    )
    assert Findings(monitor, small_config()).to_dict()["comparisons"][0]["timeline"]


def test_several_jumps_are_undone_together():
    monitor = fold(
        entries(
            [
                *rounds(START, 60),
                *rounds(START + 5 * DAY, 5),
                *rounds(START + 90 * DAY, 5),
                *rounds(START + 3600, 60),
            ]
        )
    )
    assert monitor.blocks.width == fold(entries(rounds(START, 120))).blocks.width
    assert monitor._jumps.kept == []


def test_a_pause_is_not_undone():
    monitor = fold(entries([*rounds(START, 60), *rounds(START + 40 * DAY, 60)]))
    assert monitor.blocks.width >= 6 * 3600 * 1e6
    assert monitor.last > START + 40 * DAY


def test_groups_that_come_during_a_jump_are_kept():
    config = small_config()
    monitor = Monitor(config)
    monitor._open = {"gender"}
    fold(
        entries([*rounds(START, 60), *rounds(START + 40 * DAY, 10, groups=("other",)), *rounds(START + 3600, 10)]),
        monitor,
    )
    assert ("gender", "other") in monitor.groups
    np.testing.assert_allclose(monitor.by_block.sum(axis=0), monitor.totals)


def test_a_jump_survives_a_restart():
    log = entries([*rounds(START, 60), *rounds(START + 40 * DAY, 5), *rounds(START + 3600, 60)])
    through = fold(log)
    first = fold(log[:124])  # within the jump
    assert len(first._jumps.kept) == 1
    restored = Monitor(small_config())
    restored.restore(first.snapshot()())
    fold(log[124:], restored)
    assert restored._header() == through._header()
    for name in _ARRAYS:
        assert getattr(restored, name).tobytes() == getattr(through, name).tobytes()
