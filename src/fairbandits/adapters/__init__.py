"""Adapters to the interfaces of other libraries, each tested against the library itself."""
