"""The process's figures for `prometheus_client`. Only programs that import this module need that package.

    from prometheus_client import REGISTRY
    from readpast.prometheus import Collector

    REGISTRY.register(Collector())

One collector is enough: the figures are the whole process's.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector as _Collector

from ._metrics import metrics


class Collector(_Collector):
    """Gives a registry the figures of `readpast.metrics`, at the moment when it is asked.

    The figures come by the names that the library gives them, also those of a later version. They are no part of
    `prometheus_client`'s mode for several processes: let each process be scraped.
    """

    def collect(self) -> Iterable[Metric]:
        """The figures by name."""
        return text_string_to_metric_families(metrics())
