"""The lifecycle of the data: backups, retention, erasure, and replacement of policies."""
