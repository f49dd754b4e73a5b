"""The event log: the only data that the service stores, in SQLite or PostgreSQL. No module here knows HTTP."""
