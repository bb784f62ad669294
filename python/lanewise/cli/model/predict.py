# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model predict`: a table of predicted times, or a picture of one schedule in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lanewise.errors import RequestError, RunError
from lanewise.model.predict import Prediction, Question, read_prediction
from lanewise.model.program import PREDICT, ask
from lanewise.results.quantity import size_text, time_text

NAME_WIDTH = 20
TIME_WIDTH = 13
COLUMNS = 6
DRAWN_RANKS = 64

Collective = Annotated[str, typer.Argument(metavar="COLLECTIVE", help="scatter, bcast, ...")]
PlatformFile = Annotated[
    str, typer.Option("--platform", metavar="FILE", help="What lanewise model fit wrote.")
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "--ranks",
        "-n",
        metavar="N",
        min=1,
        help="Number of ranks (default: as many as were fitted).",
    ),
]
Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithm",
        metavar="NAME[:SEGMENT[:LANES]]",
        help="An algorithm to price; repeatable (default: all).",
    ),
]
Sizes = Annotated[
    str, typer.Option("--sizes", metavar="GRAMMAR", help="Message sizes: 8,1K,64K or 1:4M:x2.")
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="hockney, loggp, plogp, lmo or lanes (default: the best fit).",
    ),
]
Root = Annotated[
    int,
    typer.Option("--root", metavar="RANK", min=0, help="Root of a rooted collective (default: 0)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Drawing = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Draw one algorithm at one size, rank by rank."),
]


def register(app: typer.Typer) -> None:
    """Add the command `predict` to `app`."""
    app.command("predict")(predict)


def predict(
    collective: Collective,
    platform: PlatformFile = "platform.json",
    ranks: Ranks = None,
    algorithm: Algorithms = None,
    sizes: Sizes = "",
    model: Model = "",
    root: Root = 0,
    as_json: AsJson = False,
    svg: Drawing = None,
) -> None:
    """$ lanewise model predict scatter --platform platform.json --ranks 4096

    Predict the time of a collective by each algorithm.

    The schedules that would run are priced on the platform, at any number of ranks; the fastest is
    marked.
    """
    if svg is not None and as_json:
        raise RequestError("--svg and --json: give one of them")
    if svg is not None and len(algorithm or ()) != 1:
        raise RequestError("--svg draws one algorithm; name it with --algorithm")
    question = Question(
        platform=platform,
        collective=collective,
        ranks=ranks,
        algorithms=tuple(algorithm or ()),
        sizes=sizes or ("64K" if svg else ""),
        model=model,
        root=root,
        spans=svg is not None,
    )
    text = ask(*question.arguments(), name=PREDICT)
    if as_json:
        typer.echo(text, nl=False)
    elif svg is not None:
        typer.echo(draw(read_prediction(text), svg))
    else:
        typer.echo("\n".join(table(read_prediction(text))))


def table(prediction: Prediction) -> Iterator[str]:
    """Yield the lines of the table; many sizes go into several, one below the other."""
    marked = len(prediction.candidates) > 1
    yield (
        f"# {prediction.collective} on {prediction.ranks} ranks, model {prediction.model} of "
        f"{prediction.platform}" + ("; * is the fastest" if marked else "")
    )
    sizes = prediction.message_bytes
    for first in range(0, len(sizes), COLUMNS):
        columns = range(first, min(first + COLUMNS, len(sizes)))
        heading = "".join(f"{size_text(sizes[column]):>{TIME_WIDTH}}  " for column in columns)
        yield f"{'# Algorithm':<{NAME_WIDTH}}{heading}".rstrip()
        for candidate in prediction.candidates:
            cells = "".join(
                f"{time_text(candidate.predicted_s[column]):>{TIME_WIDTH}} "
                + ("*" if marked and candidate is prediction.best(column) else " ")
                for column in columns
            )
            yield f"{candidate.name:<{NAME_WIDTH}}{cells}".rstrip()
    for one in prediction.left_out:
        yield f"! {one.name}: {one.reason}"


def draw(prediction: Prediction, path: Path) -> str:
    """Write the picture of the one candidate and return the line that says so."""
    from lanewise.plots.timeline import Work, draw_timeline, save_drawing

    if prediction.left_out:
        raise RequestError(f"{prediction.left_out[0].name}: {prediction.left_out[0].reason}")
    if prediction.ranks > DRAWN_RANKS:
        raise RequestError(
            f"{prediction.ranks} ranks cannot be told apart; draw at most {DRAWN_RANKS}"
        )
    candidate = prediction.candidates[0]
    size = size_text(prediction.message_bytes[0])
    total = time_text(candidate.predicted_s[0])
    title = f"{prediction.collective}, {candidate.name}, {size}, {prediction.ranks} ranks: {total}"
    work = [Work(one.what, one.rank, one.peer, one.begin_s, one.end_s) for one in prediction.spans]
    try:
        save_drawing(draw_timeline(title, prediction.ranks, work), path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    return f"{path}  {title}"
