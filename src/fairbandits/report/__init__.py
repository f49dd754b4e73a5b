"""What all reports have in common: the page, the look of figures, numbers over seeds, which data they show."""
