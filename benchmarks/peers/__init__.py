"""One adapter for each contender: `make(n_arms, width, own, alpha, ridge, **options)` gives a `Peer`.

An adapter imports NumPy and the one library that it is for, and uses that as its documentation recommends.
"""
