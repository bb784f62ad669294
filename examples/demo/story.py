# SPDX-License-Identifier: BSD-3-Clause
"""Chapters of the demonstration: what they are given, what they return, and how they are run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from lanewise.errors import LanewiseError, RunError


@dataclass
class Stage:
    """Where a chapter works.

    `folder` is its own for files, `programs` has the example programs, `mpirun` is the launcher of
    their MPI with its options, `commands` is what was run, as typed.
    """

    folder: Path
    programs: Path
    mpirun: tuple[str, ...]
    commands: list[str] = field(default_factory=list)

    def lanewise(self, *words: str) -> str:
        """Run `lanewise WORDS` with its progress on the terminal and return what it prints."""
        started = self.start(*words)
        printed, _ = started.communicate()
        if started.returncode != 0:
            raise RunError(f"lanewise {words[0]} ended with status {started.returncode}")
        return printed

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `lanewise WORDS` and return at once; its output is a pipe."""
        typed = shlex.join(["lanewise", *(self.typed(word) for word in words)])
        self.commands.append(typed)
        sys.stderr.write(f"  $ {typed}\n")
        line = [sys.executable, "-m", "lanewise", *words]
        beside = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        return subprocess.Popen(
            line, stdout=subprocess.PIPE, text=True, cwd=self.folder, env=beside
        )

    def launch(self, ranks: str) -> list[str]:
        """Return the words that launch a program on so many ranks."""
        return [*self.mpirun, "-n", ranks]

    def typed(self, word: str) -> str:
        """Return a word as a user would type it in the folder of the chapter."""
        return Path(word).name if word.startswith(str(self.programs)) else word


@dataclass(frozen=True)
class Shown:
    """What a chapter found: a sentence with its numbers, a picture, and a page that has more."""

    finding: str
    figure: Figure
    report: str = ""


@dataclass(frozen=True)
class Chapter:
    """One thing that Lanewise does; `page` of docs/ tells more."""

    name: str
    title: str
    question: str
    estimate_s: float
    page: str
    show: Callable[[Stage], Shown]


@dataclass(frozen=True)
class Told:
    """A chapter after its run; without `shown`, `reason` says why it could not be shown."""

    chapter: Chapter
    stage: Stage
    elapsed_s: float
    shown: Shown | None = None
    reason: str = ""


def tell(chapters: Sequence[Chapter], stage_of: Callable[[Chapter], Stage]) -> list[Told]:
    """Run the chapters one after another, each on the stage that `stage_of` makes for it."""
    told = []
    for number, chapter in enumerate(chapters, start=1):
        sys.stderr.write(f"[{number}/{len(chapters)}] {chapter.title}, ")
        sys.stderr.write(f"about {chapter.estimate_s:.0f} s\n")
        stage = stage_of(chapter)
        begin_s = time.monotonic()
        try:
            shown, reason = chapter.show(stage), ""
            sys.stderr.write(f"  {shown.finding}\n")
        except (LanewiseError, OSError) as error:
            shown, reason = None, str(error)
            sys.stderr.write(f"  This could not be shown here: {reason}\n")
        told.append(Told(chapter, stage, time.monotonic() - begin_s, shown, reason))
    return told
