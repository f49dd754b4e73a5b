"""Every interval that the package reports."""
