"""Where the true reward is known: students and videos, and synthetic worlds."""

from fairbandits.worlds.base import Visit, World

__all__ = ["Visit", "World"]
