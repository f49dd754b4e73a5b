"""Policies beside each other over a suite of worlds, and beside what an oracle could do."""
