"""Checks that users run on what they write for the library."""

from fairbandits.testing.worlds import check_world

__all__ = ["check_world"]
