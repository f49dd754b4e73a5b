"""Views of objects in notebooks and reports: HTML cards, short reprs, and what figures share."""
