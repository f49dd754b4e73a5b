"""Metrics for Prometheus: counts and means that follow from the log, and request durations of this worker."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from fairbandits.service.engine import Engine
from fairbandits.service.state.findings import Findings

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """The metrics of a service. Groups with too few rewards are left out.

    Parameters
    ----------
    engine : Engine
        The engine of the service.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._findings: Findings | None = None
        self._registry = CollectorRegistry(auto_describe=False)
        # By route and status: the total of seconds, and the count of each bucket. The histogram of the library
        # would take a lock for every request, and only one thread counts here.
        self._durations: dict[tuple[str, int], tuple[list[float], list[int]]] = {}
        self._registry.register(self)  # which needs nothing but `collect`

    def observe_request(self, route: str, status: int, seconds: float) -> None:
        """Record the duration of a request."""
        found = self._durations.get((route, status))
        if found is None:
            found = self._durations[route, status] = [0.0], [0] * (len(_SECONDS) + 1)
        total, counts = found
        total[0] += seconds
        counts[bisect_left(_SECONDS, seconds)] += 1

    def render(self, findings: Findings) -> bytes:
        """Return all metrics in the text format of Prometheus, with the findings that the page shows."""
        self._findings = findings
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Collect the metrics, as the registry asks for them."""
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
            "Seconds that requests took in this worker, until they were answered.",
            labels=("route", "status"),
        )
        names = (*map(str, _SECONDS), "+Inf")
        for (route, status), (total, counts) in self._durations.items():
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
