"""Who gained less, by how much, since when, how sure, and by which arms."""

from fairbandits.logs.audit.audit import Audit, audit
from fairbandits.logs.audit.frame import metric_frame

__all__ = ["Audit", "audit", "metric_frame"]
