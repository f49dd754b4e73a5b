"""Checks that run in the environment of another library, as scripts; test_peers.py starts them."""
