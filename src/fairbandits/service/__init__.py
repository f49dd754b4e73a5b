"""The recommender as a service: an HTTP API, an event log, the state that follows from it, and a page.

Nothing is imported here, so that a configuration can be read even if no web server is installed.
"""
