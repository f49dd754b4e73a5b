"""What the tests share."""

import sys
from pathlib import Path

# The textbook implementation is a module of the tests, not of the library.
sys.path.insert(0, str(Path(__file__).parent))
