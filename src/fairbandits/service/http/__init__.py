"""HTTP: routes, schemas, the request gate and problem responses."""
