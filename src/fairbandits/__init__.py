"""Contextual bandits that treat their users fairly."""
