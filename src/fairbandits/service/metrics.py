"""What Prometheus reads: numbers that follow from the log, and how long requests took in this worker."""

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
    """The numbers of one service.

    Groups are named as the configuration names them, and only those with enough rewards are shown.

    Parameters
    ----------
    engine : Engine
        The service.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._findings: Findings | None = None
        self._registry = CollectorRegistry(auto_describe=False)
        # By route and status: the seconds in all, and how many requests ended between one of `_SECONDS` and the
        # next. Only one thread counts here; the library's histogram takes locks.
        self._took: dict[tuple[str, int], tuple[list[float], list[int]]] = {}
        self._registry.register(self)  # anything with `collect` will do

    def took(self, route: str, status: int, seconds: float) -> None:
        """Note how long a request took."""
        found = self._took.get((route, status))
        if found is None:
            found = self._took[route, status] = [0.0], [0] * (len(_SECONDS) + 1)
        total, counts = found
        total[0] += seconds
        counts[bisect_left(_SECONDS, seconds)] += 1

    def text(self, findings: Findings) -> bytes:
        """Give all of it in the text format of Prometheus, with the same findings as the page."""
        self._findings = findings
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Give what follows from the log."""
        engine, recommender = self._engine, self._engine.recommender
        up = engine.writer.down is None and engine.writer.broken is None
        yield CounterMetricFamily("fairbandits_decisions", "Decisions in the log.", recommender.decided)
        yield CounterMetricFamily("fairbandits_rewards", "Rewards in the log.", recommender.rewarded)
        yield GaugeMetricFamily("fairbandits_arms", "Arms that can be recommended.", len(recommender.shelf.arms))
        yield GaugeMetricFamily("fairbandits_log_seq", "The last entry of the log applied.", recommender.seq)
        yield GaugeMetricFamily("fairbandits_store_up", "Whether the log can be written: 1 or 0.", int(up))
        yield self._times()
        if self._findings is not None:
            yield from self._groups(self._findings)

    def _times(self) -> Metric:
        times = HistogramMetricFamily(
            "fairbandits_request_seconds",
            "How long requests took in this worker, until their answer was on disk.",
            labels=("route", "status"),
        )
        names = (*map(str, _SECONDS), "+Inf")
        for (route, status), (total, counts) in self._took.items():
            buckets = [*zip(names, accumulate(counts), strict=True)]
            times.add_metric((route, str(status)), buckets, total[0])
        return times

    def _groups(self, findings: Findings) -> Iterator[Metric]:
        labels = ("attribute", "group")
        count = CounterMetricFamily("fairbandits_group_rewards", "Rewards of a group.", labels=labels)
        mean = GaugeMetricFamily("fairbandits_group_mean_reward", "The mean reward of a group.", labels=labels)
        gap = GaugeMetricFamily(
            "fairbandits_gap",
            "The highest mean reward of a group minus the lowest: its value, and the 95% interval.",
            labels=("attribute", "bound"),
        )
        alert = GaugeMetricFamily(
            "fairbandits_alert",
            "Whether the gap is surely beyond what is tolerated: 1 or 0.",
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
