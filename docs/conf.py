"""Configuration of the Sphinx documentation."""

from importlib import metadata

project = "fairbandits"
author = "The fairbandits developers"
copyright = "2026, " + author
version = release = metadata.version("fairbandits")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "description": "Contextual bandits that treat their users fairly"}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
