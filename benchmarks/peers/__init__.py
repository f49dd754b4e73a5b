"""One adapter per contender: `make(n_arms, width, own, alpha, ridge, **options)` returns a `Peer`.

An adapter imports NumPy and its library, and uses the library as its documentation recommends.
"""
