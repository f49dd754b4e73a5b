"""Compiled loops of the reward models."""
