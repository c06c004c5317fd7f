"""Turns a matplotlib figure into an SVG that may stand inside a page.

The page allows no inline styles, shows light and dark, and holds several pictures: so style
attributes become plain attributes, colours of the palette become classes of the style sheet, and
ids get the name of their picture.
"""

import io
import re
import warnings
from contextlib import AbstractContextManager
from html import escape
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

# Colours that only stand for a class of the style sheet (page.css), where the real ones are.
PALETTE = {
    "ink": "#a1b2c0",
    "quiet": "#a1b2c1",
    "commit": "#a1b2c2",
    "abort": "#a1b2c3",
    "open": "#a1b2c4",
    "hanging": "#a1b2c5",
    "ground": "#a1b2c6",
    "mark": "#a1b2c7",
}
CLASSES = {colour: name for name, colour in PALETTE.items()}
STYLE: dict[Any, Any] = {
    # The same bytes every time: ids from a fixed salt, text as text, no font of the machine.
    "svg.hashsalt": "eosaudit",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "hatch.linewidth": 1.4,
    # A dollar in a name is a dollar.
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": PALETTE["quiet"],
    "axes.labelcolor": PALETTE["ink"],
    "text.color": PALETTE["ink"],
    "xtick.color": PALETTE["quiet"],
    "ytick.color": PALETTE["quiet"],
    "xtick.labelcolor": PALETTE["ink"],
    "ytick.labelcolor": PALETTE["ink"],
    "legend.frameon": False,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-15, 15),
}
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
SVG = "{http://www.w3.org/2000/svg}"
REFERENCE = re.compile(r"^url\(#(.+)\)$")
FONT_SIZE = re.compile(r"([\d.]+)px")


def styled() -> AbstractContextManager[None]:
    """The settings under which figures are drawn."""
    return mpl.rc_context(STYLE)


def figure(width: float, height: float) -> Figure:
    """An empty figure without ground, inches."""
    return Figure(figsize=(width, height), facecolor="none")


def inline_svg(drawn: Figure, name: str, title: str, description: str) -> str:
    """The figure as an `<svg>` element. `name` makes its ids unique in the page."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # Names may hold letters that the measuring font lacks; the browser's has them.
        warnings.simplefilter("ignore")
        FigureCanvasSVG(drawn).print_figure(buffer, format="svg", metadata=NO_METADATA)
    root = ElementTree.fromstring(buffer.getvalue())
    box = root.attrib["viewBox"]
    inner = "".join(_element(child, name) for child in root)
    return (
        f'<svg viewBox="{box}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{inner}</svg>'
    )


def _element(element: ElementTree.Element, name: str) -> str:
    tag = element.tag.removeprefix(SVG)
    if tag in ("metadata", "style"):
        return ""
    inner = "".join(_element(child, name) for child in element)
    if tag == "defs" and not inner:
        return ""
    if tag == "text":
        inner += escape(element.text or "", quote=False)
    attributes = "".join(f' {key}="{escape(value)}"' for key, value in _attributes(element, name))
    return f"<{tag}{attributes}>{inner}</{tag}>" if inner else f"<{tag}{attributes}/>"


def _attributes(element: ElementTree.Element, name: str) -> list[tuple[str, str]]:
    given = [(key, value) for key, value in element.attrib.items() if key != "style"]
    for declaration in element.attrib.get("style", "").split(";"):
        key, _, value = declaration.partition(":")
        if key.strip():
            given.append((key.strip(), value.strip()))
    kept, classes = [], []
    for key, value in given:
        if value in CLASSES:
            classes.append(f"{key}-{CLASSES[value]}")
        elif key in ("font", "font-size"):
            size = FONT_SIZE.search(value)
            kept.append(("font-size", size.group(1) if size else "11"))
        elif key == "d":
            kept.append((key, " ".join(value.split())))
        elif key == "id":
            kept.append((key, f"{name}-{value}"))
        elif key.endswith("href"):
            kept.append(("href", f"#{name}-{value.removeprefix('#')}"))
        elif found := REFERENCE.match(value):
            kept.append((key, f"url(#{name}-{found.group(1)})"))
        elif not key.startswith("font"):
            kept.append((key, value))
    return [*kept, ("class", " ".join(classes))] if classes else kept
