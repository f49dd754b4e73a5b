"""Published datasets: read from a folder, a cache or a download, or replaced by a stand-in."""
