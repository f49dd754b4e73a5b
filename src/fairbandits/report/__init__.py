"""Shared components of all reports: the HTML page, figures, number formats, and the description of the data."""
