"""Who gained less, by how much, since when, how sure, and by which arms."""

from fairbandits.logs.audit.audit import Audit, audit
from fairbandits.logs.audit.result import Comparison

__all__ = ["Audit", "Comparison", "audit"]
