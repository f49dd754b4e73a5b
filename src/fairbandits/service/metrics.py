"""What Prometheus reads: numbers that follow from the log, and how long requests took in this worker."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from fairbandits.service.engine import Engine

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
        self._registry = CollectorRegistry(auto_describe=False)
        self._took = Histogram(
            "fairbandits_request_seconds",
            "How long requests took in this worker, until their answer was on disk.",
            ("route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._registry.register(self)  # anything with `collect` will do

    def took(self, route: str, status: int, seconds: float) -> None:
        """Note how long a request took."""
        self._took.labels(route, str(status)).observe(seconds)

    def text(self) -> bytes:
        """Give all of it in the text format of Prometheus."""
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
        yield from self._groups()

    def _groups(self) -> Iterator[Metric]:
        groups, config = self._engine.recommender.policy.groups, self._engine.config
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
        for attribute in groups.attributes:
            for standing in groups.standings(attribute):
                if standing.count >= config.min_group:
                    names = (attribute, str(standing.group))
                    count.add_metric(names, standing.count)
                    mean.add_metric(names, standing.mean)
            found = groups.difference(attribute, least=config.min_group)
            if found.attribute:
                for bound, value in (("value", float(found)), ("low", found.low), ("high", found.high)):
                    gap.add_metric((attribute, bound), value)
                alert.add_metric((attribute,), int(found.low > config.tolerance))
        yield from (count, mean, gap, alert)
