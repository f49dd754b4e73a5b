"""The recommender as a service: an API, a log that is the truth, a page that shows who is left behind.

Nothing is imported here, so that the configuration can be read without a web server being there.
"""
