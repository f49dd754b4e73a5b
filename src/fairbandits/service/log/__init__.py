"""The event log: the only thing the service stores, in SQLite or PostgreSQL. Nothing here knows HTTP."""
