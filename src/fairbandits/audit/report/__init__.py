"""The report of an audit: sentences, figures, a page, JSON."""
