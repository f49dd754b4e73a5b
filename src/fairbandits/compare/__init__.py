"""Compare policies over a suite of worlds, with an oracle as the reference."""
