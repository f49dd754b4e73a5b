"""The policies to evaluate, of this library and others."""
