"""Certified learning: the best policy of a family that is shown to be fair on held-out users."""
