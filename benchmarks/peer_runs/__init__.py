"""Example problems of other libraries, each run in the environment of its library."""
