# SPDX-License-Identifier: BSD-3-Clause
"""Cautions of a page: those of each file, and what only shows once the points are drawn.

Files that say the same are named together, so that ten files with one fault
make one warning and not ten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lanewise.report.labels import names_of
from lanewise.results.cautions import cautions_of, counted, named
from lanewise.results.read import Samples
from lanewise.results.records import Point


def page_cautions(runs: Sequence[Samples]) -> list[str]:
    """Return one sentence for each thing that makes the numbers of `runs` less certain."""
    by_sentence: dict[str, list[Path]] = {}
    for run in runs:
        for sentence in [*cautions_of(run), *_drawing_cautions(run.points)]:
            by_sentence.setdefault(sentence, []).append(run.path)
    every = [run.path for run in runs]
    names = dict(zip(every, names_of(every), strict=True))
    return [_with_files(sentence, paths, names) for sentence, paths in by_sentence.items()]


def _with_files(sentence: str, paths: list[Path], names: Mapping[Path, str]) -> str:
    text = sentence.rstrip(".") + "."
    if text.startswith(tuple(map(str, paths))):
        return text
    files = list(dict.fromkeys(names[path] for path in paths))
    if len(names) == 1 or all(name in sentence for name in files):
        return text[:1].upper() + text[1:]
    where = "all files" if len(files) == len(names) else ", ".join(files)
    return f"{where}: {text}"


def _drawing_cautions(points: Sequence[Point]) -> list[str]:
    kinds = (
        ("maximum", "used all the repetitions allowed"),
        ("time_limit", "ran into the time limit"),
    )
    found = []
    for kind, words in kinds:
        stopped = [point for point in points if point.stopped == kind]
        if stopped:
            found.append(f"{counted(stopped)} {words}: {named(stopped)}")
    return found
