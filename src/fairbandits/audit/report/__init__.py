"""The report of an audit: sentences, figures, page, JSON."""
