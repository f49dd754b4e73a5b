"""Who gained less, by how much, since when, how sure, and by which arms."""

from fairbandits.audit.audit import Audit, audit

__all__ = ["Audit", "audit"]
