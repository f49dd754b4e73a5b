"""The page that shows the findings: its static files, and the live feed of the findings."""
