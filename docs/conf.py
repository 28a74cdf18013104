"""Configuration of Sphinx (`make docs`). Building and reading the site needs no network."""

import os
import sys
from pathlib import Path

# Sphinx does not add the folder of this file to the path.
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import tamiz  # noqa: E402

project = "tamiz"
author = "the authors of tamiz"
project_copyright = "the authors of tamiz"
version = release = tamiz.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathematics",
    "registries",
    "commands",
    "abilities",
]
exclude_patterns = ["_build", "gallery"]
# Words in backquotes link to the page of the object that they name, and are code where there is none.
default_role = "py:obj"
nitpicky = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"tamiz {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}

# Figures are drawn without a window.
os.environ["MPLBACKEND"] = "agg"
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "doc_module": ("tamiz",),
    "backreferences_dir": "examples/used",
    # Code in the gallery links to pages of this site.
    "reference_url": {"tamiz": None},
}
