"""The page that shows who is left behind, and what it is fed with."""

from fairbandits.service.page.live import Live

__all__ = ["Live"]
