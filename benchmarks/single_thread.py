"""Use one thread: import this before NumPy, because thread pools read the environment when they start."""

from __future__ import annotations

import os

from threads import thread_variables

os.environ.update(thread_variables(1))
