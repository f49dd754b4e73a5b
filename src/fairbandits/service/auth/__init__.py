"""Authentication and authorisation: keys and their scopes, sessions of the page, rate limits."""
