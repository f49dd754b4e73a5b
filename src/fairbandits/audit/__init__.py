"""Audit of a log: reward gaps between groups, their intervals, their history and their decomposition over arms."""

from fairbandits.audit.audit import Audit, audit

__all__ = ["Audit", "audit"]
