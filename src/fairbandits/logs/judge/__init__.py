"""What would another policy have done? Off-policy evaluation, overall, per group and of the difference."""
