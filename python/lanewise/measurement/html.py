# SPDX-License-Identifier: BSD-3-Clause
"""Tables as HTML for notebooks: plain elements, which take the look of the notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a row has one text for each heading."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    lines = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<table><caption style="text-align:left">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def block(content: str, notes: Iterable[str]) -> str:
    """Return HTML with a list of notes below it, if there are any."""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<div>{content}{f'<ul>{items}</ul>' if items else ''}</div>"
