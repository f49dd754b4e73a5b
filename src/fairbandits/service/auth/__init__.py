"""Who may do what, and how much of it: keys with scopes, sessions of the page, limits, headers."""
