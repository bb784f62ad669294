# SPDX-License-Identifier: BSD-3-Clause
"""Whole: `lanewise reproduce --all`, from the experiments to the page.

A whole run is kept like that of a single experiment.  With --quick nothing is kept or judged, not
even what runs whole because it has no smaller scale: whoever wants the page expects neither changed
files nor a status that a missed target decides.  The page marks what ran at a smaller scale.
Whatever ends the run early, the page is written with what there is.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from experiments import published, results, show
from experiments.papers import gallery
from experiments.papers.answers import Answer, Run, answers, answers_of_kept, papers_json
from experiments.papers.catalogue import experiments_of
from experiments.papers.conduct import Conduct, conduct
from experiments.papers.page import refuse_output, verdict, write_page
from experiments.run import Finished
from lanewise.errors import RunError

NOT_REACHED = "it was not reached before the run was interrupted"


@dataclass(frozen=True)
class Request:
    """What is asked for; without `results_folder` the kept runs of the clone are meant."""

    output: Path
    folder: Path
    results_folder: Path | None = None
    quick: bool = False
    from_results: bool = False
    as_json: bool = False


def reproduce_all(request: Request, run: Conduct | None = None) -> bool:
    """Run or read all experiments and write the page; say whether all ran and met their targets.

    Raises RequestError before anything runs where the page or the kept runs could not be written.
    """
    refuse_output(request.output)
    kept_in = request.results_folder or results.FOLDER
    if request.from_results:
        kept, newest = answers_of_kept([one.name for one in experiments_of()], kept_in)
        _write(request, kept, newest)
        return True
    if not request.quick:
        results.require_writable([one.name for one in experiments_of()], kept_in)
    runs = {one.name: Run(None, {}, why=NOT_REACHED) for one in experiments_of()}
    good = True
    lost: list[str] = []
    try:
        found = conduct(experiments_of(), request.folder, _say, quick=request.quick, run=run)
        for experiment, answered, finished in found:
            runs[experiment.name] = answered
            good = good and finished is not None
            if finished is None or request.quick:
                continue
            good = _told_as_well(finished) and good
            if not_kept := show.keep(finished, kept_in, request.folder):
                _say(f"  {not_kept}")
                lost.append(not_kept)
    finally:
        _write(request, answers(runs), runs)
        if not request.quick and request.results_folder is None:
            published.write(published.ROOT)
            gallery.write(published.ROOT)
    if lost:
        raise RunError(lost[0], lost[1:])
    return good


def _write(request: Request, found: list[Answer], runs: dict[str, Run]) -> None:
    data = write_page(found, runs, request.output)
    if request.as_json:
        sys.stdout.write(json.dumps(papers_json(found), ensure_ascii=False) + "\n")
        return
    sys.stdout.write(text_of(found))
    sys.stdout.write(f"page: {request.output}\ndata: {data}\n")


def _told_as_well(finished: Finished) -> bool:
    """Say of each target whether it was met, and what is not as declared; tell if all is well."""
    for sentence in (*map(show.target_sentence, finished.judged), *finished.faults):
        _say(f"  {sentence}")
    return finished.met and not finished.faults


def text_of(found: list[Answer]) -> str:
    """Return what is printed: the verdict, and what was not measured."""
    missing = dict.fromkeys(why for answer in found for why in answer.why_not_measured)
    return "".join(f"{line}\n" for line in (verdict(found), *missing))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
