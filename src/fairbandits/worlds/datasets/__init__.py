"""Real data: found on disk, in the cache or downloaded, and an embedded stand-in."""
