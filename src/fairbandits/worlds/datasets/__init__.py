"""The datasets of the paper: read from a folder, a cache or a download, or replaced by a stand-in."""
