"""The statistical methods behind all intervals that the package reports."""
