"""Views of objects in notebooks and reports: HTML cards, short reprs, and components shared by figures."""
