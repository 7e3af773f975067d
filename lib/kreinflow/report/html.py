"""What all pages share: where their templates come from, and figures as parts of them."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kreinflow.report.tables import percent, share, short_percent

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def page_environment(*folders: Path) -> Environment:
    """Return where the templates of pages come from: these folders, then that of the report.

    Templates have ``script``, which sorts tables and says which are wider than their place,
    ``policy``, which allows no other, and filters that write numbers.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = (Path(__file__).parent / "sort.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    environment.filters |= {
        "count": lambda n: f"{n:,}",
        "percent": percent,
        "short_percent": short_percent,
        "share": share,
    }
    environment.globals |= {
        "script": Markup(script),
        "policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'",
    }
    return environment


def image(svg: str) -> dict[str, Any]:
    """Return an SVG as a data URI, with its title, and its width in CSS pixels.

    A point is 4/3 of a pixel. Below its least width a figure scrolls in its box, so that labels
    stay readable.
    """
    data = base64.b64encode(svg.encode()).decode("ascii")
    title = ElementTree.fromstring(svg).findtext(f"{{{SVG}}}title") or ""
    return {"source": f"data:image/svg+xml;base64,{data}", "alt": title, **_widths(svg)}


def drawing(svg: str, prefix: str) -> dict[str, Any]:
    """Return an SVG as a part of the page, its ids told from those of others by a prefix.

    Its title becomes its label, for browsers show titles under the pointer.
    """
    own = re.sub(r'( id="|:href="#|url\(#)', rf"\g<1>{prefix}", svg)
    root = ElementTree.fromstring(own)
    if (title := root.find(f"{{{SVG}}}title")) is not None:
        root.remove(title)
        root.set("role", "img")
        root.set("aria-label", title.text or "")
    return {"text": Markup(svg_text(root)), **_widths(svg)}


def _widths(svg: str) -> dict[str, int]:
    found = re.search(r'<svg [^>]*?\bwidth="([0-9.]+)pt"', svg)
    width = round(float(found.group(1)) * 4 / 3) if found else 700
    return {"width": width, "least": min(width, max(520, round(0.7 * width)))}


def svg_text(root: ElementTree.Element) -> str:
    """Return the text of a parsed SVG."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
