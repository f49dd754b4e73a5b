"""Off-policy evaluation of slates with a reward per position."""
