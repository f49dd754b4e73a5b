"""Policies judged and trained from logged decisions."""
