"""The site: `make docs` builds it into out/docs without network, and a warning ends the build."""

import re
import sys
import warnings
from pathlib import Path

from sphinx.application import Sphinx

from counterpoise import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

project = "Counterpoise"
author = "the Counterpoise developers"
version = release = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "argument_lists",
    "command_pages",
    "settings_pages",
]
exclude_patterns = ["_extensions", "**/.ipynb_checkpoints", "gallery/*.ipynb", "gallery/*.py"]

# Pages are Markdown. Their Python blocks are executed by tests/docs, so that they read the same on the site and in a
# checkout; notebooks are executed here, once for each content (the cache is in out/).
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parents[1] / "out" / "notebook-cache")
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_execution_timeout = 300

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # types of arguments stand in their sentences, in words
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True
default_role = "code"
toc_object_entries = False


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!.*plot_).*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # seconds are of no interest to readers
    "write_computation_times": False,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "Counterpoise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "use_edit_page_button": False,
    "navigation_with_keys": False,
    "show_nav_level": 1,
}
html_sidebars = {"index": []}
copyright = "Counterpoise, Apache-2.0"
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # what is copied can be run: no prompts, and no outputs
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-output):not(.highlight-text) > div.highlight > pre"
linkcheck_ignore = [r"http://(127\.0\.0\.1|localhost).*"]
suppress_warnings = ["config.cache"]

PRINTED = re.compile(r"^```output\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
TABLE_WIDTH = 115  # what programs print in longer lines are sentences
OUTSIDE = re.compile(r"\[`?([^\]`]+)`?\]\((?:\.\./)+((?:benchmarks|examples|src|tests)/[^)]*)\)")


def _name_files_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files of the repository that are no pages become their paths."""
    source[0] = OUTSIDE.sub(r"\1 (`\2`)", source[0])


def _wrap_printed_sentences(app: Sphinx, page: str, source: list[str]) -> None:
    """Outputs of long lines become blocks of text, which wrap; printed tables keep their columns and scroll."""
    source[0] = PRINTED.sub(_choose_language, source[0])


def _choose_language(found: re.Match[str]) -> str:
    longest = max(map(len, found[1].splitlines()), default=0)
    return found[0].replace("```output", "```text", 1) if longest > TABLE_WIDTH else found[0]


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("source-read", _name_files_outside)
    app.connect("source-read", _wrap_printed_sentences)
