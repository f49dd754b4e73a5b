"""The HTTP interface: the gate that every request passes, routes, schemas and problem responses."""
