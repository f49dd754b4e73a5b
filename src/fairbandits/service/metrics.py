"""Metrics for Prometheus: counts and means that follow from the log, and request durations of all workers."""

from __future__ import annotations

import asyncio
import json
import secrets
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from fairbandits.service.engine import Engine
from fairbandits.service.state.findings import Findings
from fairbandits.storage import atomic_write

# The total number of seconds, and the count of each bucket, by route and status.
_Durations = dict[tuple[str, int], tuple[list[float], list[int]]]

#: The number of seconds between two publications of a worker's request durations to the other workers.
_PUBLISH_SECONDS = 1.0
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """The metrics of a service. Groups with too few rewards are left out.

    Parameters
    ----------
    engine : Engine
        The engine of the service.
    folder : path, optional
        The folder through which workers exchange the durations of their requests, so that whichever worker is
        asked reports the durations of all. Metrics that follow from the log are the same in all workers, and are
        not added up.
    """

    def __init__(self, engine: Engine, folder: Path | None = None) -> None:
        self._engine = engine
        self._folder = folder
        self._file = None if folder is None else folder / f"{secrets.token_hex(8)}.json"
        self._findings: Findings | None = None
        self._registry = CollectorRegistry(auto_describe=False)
        # The library's histogram would take a lock for every request, although only one thread counts here.
        self._durations: _Durations = {}
        self._registry.register(self)  # the registry needs nothing but `collect`

    def observe_request(self, route: str, status: int, seconds: float) -> None:
        """Record the duration of a request."""
        found = self._durations.get((route, status))
        if found is None:
            found = self._durations[route, status] = [0.0], [0] * (len(_SECONDS) + 1)
        total, counts = found
        total[0] += seconds
        counts[bisect_left(_SECONDS, seconds)] += 1

    async def publish_forever(self) -> None:
        """Publish the durations of requests to other workers periodically, and once more at the end."""
        if self._file is None:
            return
        try:
            while True:
                await asyncio.sleep(_PUBLISH_SECONDS)
                self._publish(self._file)
        finally:
            self._publish(self._file)

    def _publish(self, file: Path) -> None:
        with suppress(OSError):  # failing metrics must not stop anything else
            atomic_write(file, json.dumps([*self._durations.items()]).encode())

    def _all_durations(self) -> _Durations:
        """Return the durations of all workers, even of those that have ended, because sums must not decrease."""
        summed = {key: (total[:], counts[:]) for key, (total, counts) in self._durations.items()}
        for file in [] if self._folder is None else self._folder.glob("[!.]*.json"):
            if file != self._file:
                for (route, status), (total, counts) in json.loads(file.read_bytes()):
                    sums = summed.setdefault((route, status), ([0.0], [0] * len(counts)))
                    sums[0][0] += total[0]
                    sums[1][:] = map(sum, zip(sums[1], counts, strict=True))
        return summed

    def render(self, findings: Findings) -> bytes:
        """Return all metrics in the Prometheus text format, including the findings that the page shows."""
        self._findings = findings
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Collect the metrics when the registry requests them."""
        engine, recommender = self._engine, self._engine.recommender
        up = engine.writer.down is None and engine.writer.broken is None
        yield CounterMetricFamily("fairbandits_decisions", "Decisions in the log.", recommender.decided)
        yield CounterMetricFamily("fairbandits_rewards", "Rewards in the log.", recommender.rewarded)
        yield GaugeMetricFamily(
            "fairbandits_arms", "Arms that can be recommended.", len(recommender.catalogue.arms)
        )
        yield GaugeMetricFamily("fairbandits_log_seq", "The last log entry that was applied.", recommender.seq)
        yield GaugeMetricFamily("fairbandits_store_up", "Whether the log can be written (1 or 0).", int(up))
        yield self._request_durations()
        if self._findings is not None:
            yield from self._groups(self._findings)

    def _request_durations(self) -> Metric:
        durations = HistogramMetricFamily(
            "fairbandits_request_seconds",
            "Time from a request to its response, in seconds.",
            labels=("route", "status"),
        )
        names = (*map(str, _SECONDS), "+Inf")
        for (route, status), (total, counts) in self._all_durations().items():
            buckets = [*zip(names, accumulate(counts), strict=True)]
            durations.add_metric((route, str(status)), buckets, total[0])
        return durations

    def _groups(self, findings: Findings) -> Iterator[Metric]:
        labels = ("attribute", "group")
        count = CounterMetricFamily("fairbandits_group_rewards", "Rewards of a group.", labels=labels)
        mean = GaugeMetricFamily("fairbandits_group_mean_reward", "Mean reward of a group.", labels=labels)
        gap = GaugeMetricFamily(
            "fairbandits_gap",
            "Highest mean reward of a group minus the lowest: the value and its 95% confidence interval.",
            labels=("attribute", "bound"),
        )
        alert = GaugeMetricFamily(
            "fairbandits_alert",
            "Whether the confidence interval of the gap lies above the tolerance (1 or 0).",
            labels=("attribute",),
        )
        for comparison in findings.comparisons:
            for group in comparison.compared:
                count.add_metric((comparison.name, group.name), group.rewards)
                mean.add_metric((comparison.name, group.name), group.mean)
            if comparison.analysis is not None:
                found = comparison.analysis.gap
                for bound, value in (("value", float(found)), ("low", found.low), ("high", found.high)):
                    gap.add_metric((comparison.name, bound), value)
                alert.add_metric((comparison.name,), int(comparison.conclusion == "unfair"))
        yield from (count, mean, gap, alert)
