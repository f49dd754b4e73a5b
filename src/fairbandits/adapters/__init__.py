"""Other libraries' interfaces, each tested against the library itself."""
