"""How the pages are built: ``sphinx-build -W docs site``."""

import re
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger
from sphinx.writers.html5 import HTML5Translator

import kreinflow

project = "kreinflow"
author = "The kreinflow developers"
html_show_copyright = False
release = kreinflow.__version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["equations.css"]
html_title = f"kreinflow {release}"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # links to headings, as GitHub makes them

autodoc_typehints = "none"  # the docstrings say more than the types
autodoc_use_type_comments = False  # there are none
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    # Of scikit-learn; and generic named tuples, whose signature autodoc cannot format.
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request, "
    "Objects, Rectangle, Parts, Besides",
}
numpydoc_show_class_members = False
# numpydoc makes an environment for each docstring, and compiles its template anew in each.
templates = SandboxedEnvironment(
    loader=FileSystemLoader(Path(docscrape_sphinx.__file__).parent / "templates")
)
docscrape_sphinx.SandboxedEnvironment = lambda loader: templates
toc_object_entries = False  # the classes of the library are too many for the table of contents
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!kreinflow).*"),  # names of other packages lead nowhere offline
    ("py:attr", ".*"),  # attributes are listed with their class, if at all
]

html_math_renderer = "mathml"


def write_mathml(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write an equation as MathML, which browsers show without a script and without a network."""
    # A subscript of an accented letter would be written below it, as the bounds of a sum are.
    equation = re.sub(r"\\(bar|hat|tilde) (\w)(?=_)", r"{\\\1 \2{}}", node.astext())
    try:
        written = tex2mathml(equation, as_block=isinstance(node, nodes.math_block))
    except MathError as error:
        getLogger(__name__).warning("%s in: %s", error, node.astext(), location=node)
    else:
        translator.body.append(written)
    raise nodes.SkipNode


ROOMS = {
    "Estimators": "estimators",
    "The Krein factor": "krein",
    "Learners": "learners",
    "Landmarks": "landmarks",
    "Kernels": "kernels",
    "Views and the lift": "views",
    "Alignment": "alignment",
    "Data sets and folds": "sequences",
    "What answers": "answering",
    "What learns": "fitting",
    "New objects": "classify",
    "Evaluation": "evaluation",
    "Configs": "config",
    "Base": "base",
    "Files": "files",
}


def list_modules(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the modules of each room to the page of the library."""
    if name != "api":
        return
    library = Path(kreinflow.__file__).parent
    for title, room in ROOMS.items():
        paths = [
            path.relative_to(library.parent) for path in sorted((library / room).rglob("*.py"))
        ]
        modules = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]
        directives = "\n".join(f".. automodule:: {module}" for module in modules)
        source[0] += f"\n## {title}\n\n```{{eval-rst}}\n{directives}\n```\n"


def setup(app: Sphinx) -> None:
    """Register the writer of equations, in a line and on lines of their own, and the modules."""
    app.connect("source-read", list_modules)
    app.add_html_math_renderer("mathml", (write_mathml, None), (write_mathml, None))
