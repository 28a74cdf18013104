"""Formulas as MathML, which browsers render without scripts, fonts or images."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

_log = logging.getLogger(__name__)


def _mathml(node: nodes.Node, latex: str, display: str) -> str:
    try:
        return convert(latex, display=display)
    except Exception as error:  # noqa: BLE001 - the converter has one exception class per kind of error
        _log.warning("the formula %r cannot be parsed: %r", latex, error, location=node)
        return ""


def _visit_inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_mathml(node, node.astext(), "inline"))
    raise nodes.SkipNode


def _visit_block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{_mathml(node, node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer under the name that `html_math_renderer` asks for."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
