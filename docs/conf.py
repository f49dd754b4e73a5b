"""Configuration of the documentation site. `make docs` builds it and checks its links."""

import os
import sys
from importlib import metadata
from pathlib import Path

# Notebooks call `fairbandits` as a command, which is beside the interpreter.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
sys.path.append(str(Path(__file__).parent / "_ext"))
# Notebooks do not depend on the IPython profile of whoever builds the site. Kernels would warn that they are not
# encrypted, although they listen on this machine alone.
profile = Path(__file__).parent / "_build" / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text('get_config().IPKernelApp.log_level = "ERROR"\n')
os.environ["IPYTHONDIR"] = str(profile.parent)

project = "fairbandits"
author = "The fairbandits developers"
copyright = "2026, " + author
version = release = metadata.version("fairbandits")

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "accessible_output",
    "command_reference",
    "mathml",
    "plain_notebooks",
]
exclude_patterns = ["_build", "examples", "gallery/**.ipynb"]
nitpicky = True
# Base classes that are not part of the public interface.
nitpick_ignore = [
    ("py:class", "fairbandits.models.low_rank_regressions.LowRankRegressions"),
    ("py:class", "fairbandits.policies.counterfactual_policy.CounterfactualPolicy"),
    ("py:class", "fairbandits.policies.merit.MeritPolicy"),
]

# Markdown and notebooks. Notebooks run in every build, in a temporary folder; an error in a cell fails the build.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_merge_streams = True
# A fresh installation says that it compiles its kernels.
nb_output_stderr = "remove"
copybutton_exclude = ".linenos, .gp, .go"

# The gallery: every file of examples/ runs in every build, and its last figure is its thumbnail.
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "copyfile_regex": "^$",
    "reset_modules": ("matplotlib", "gallery_style.apply_style"),
    "run_stale_examples": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
}

# The reference. Docstrings write code between single backticks.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

# The look.
html_theme = "pydata_sphinx_theme"
html_title = f"fairbandits {version}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": f"fairbandits {version}"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
