# SPDX-License-Identifier: BSD-3-Clause
"""`python -m examples.demo FOLDER PROGRAMS -- MPIRUN...` runs the demonstration into FOLDER.

PROGRAMS is the folder of the example programs, MPIRUN the launcher of their MPI with its options.
Ends with status 1 where a chapter could not be shown.
"""

from __future__ import annotations

import shutil
import sys
from datetime import date
from pathlib import Path

from examples.demo import cable, measure, sites, sweep
from examples.demo.page import machine, write_page
from examples.demo.picture import write_picture
from examples.demo.story import Chapter, Stage, tell

CHAPTERS = (measure.CHAPTER, sites.CHAPTER, cable.CHAPTER, sweep.CHAPTER)
PAGE = "index.html"
# The chapters in the picture of the README.
PICTURED = (sites.CHAPTER, cable.CHAPTER)
PICTURE = "lanewise.svg"


def main(folder: Path, programs: Path, mpirun: tuple[str, ...]) -> int:
    """Run every chapter, write the page and return the exit status."""
    page = folder / PAGE
    minutes = sum(one.estimate_s for one in CHAPTERS) / 60
    sys.stderr.write(f"{len(CHAPTERS)} chapters, about {minutes:.0f} minutes; then open {page}\n")
    folder.mkdir(parents=True, exist_ok=True)

    def stage_of(chapter: Chapter) -> Stage:
        files = folder / chapter.name
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        return Stage(files, programs, mpirun)

    told = tell(CHAPTERS, stage_of)
    write_page(page, told)
    drawn = {one.chapter: one.shown.figure for one in told if one.shown is not None}
    if all(one in drawn for one in PICTURED):
        caption = f"Measured on {machine()}, {date.today()}, by make demo"
        write_picture(folder / PICTURE, [drawn[one] for one in PICTURED], caption)
    sys.stderr.write(f"{len(drawn)} of {len(told)} chapters shown. The page is {page}\n")
    return 0 if len(drawn) == len(told) else 1


if __name__ == "__main__":
    places, launcher = sys.argv[1:3], tuple(sys.argv[4:])
    sys.exit(main(Path(places[0]).resolve(), Path(places[1]).resolve(), launcher))
