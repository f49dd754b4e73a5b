"""Checks of a log and of the estimates from it."""
