"""The report of an off-policy evaluation: sentences, figures, page."""
