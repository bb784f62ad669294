# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model predict`: a table of predicted times, or a picture of one schedule in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import counted
from lanewise.cli.terminal import columns_shown
from lanewise.errors import RequestError
from lanewise.model.predict import Prediction, read_prediction
from lanewise.model.program import PREDICT, ask
from lanewise.results.quantity import size_text, time_text
from lanewise.results.table import UNLIMITED

NAME_WIDTH = 20
TIME_WIDTH = 13
COLUMNS = 6
DRAWN_RANKS = 64
DRAWN_SIZE = "64K"

NATIVE = NativeOptions(PREDICT, without=("spans", "json"))

Ranks = Annotated[
    str,
    typer.Option(
        "-n", "--ranks", metavar="N", help="Number of ranks (default: as many as were fitted)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Drawing = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Draw one algorithm at one size, rank by rank."),
]


def register(app: typer.Typer) -> None:
    """Add the command `predict` to `app`."""
    NATIVE.add_to(app, "predict", predict)


def predict(
    context: typer.Context,
    ranks: Ranks = "",
    as_json: AsJson = False,
    svg: Drawing = None,
    **_options: Any,
) -> None:
    """$ lanewise model predict scatter --platform platform.json --ranks 4096

    Predict the time of a collective by each algorithm.

    The schedules that would run are priced on the platform, at any number of ranks; the fastest is
    marked.
    """
    if svg is not None and as_json:
        raise RequestError("--svg and --json: give one of them")
    values = context.params
    line = NATIVE.arguments(values) + ([f"--ranks={ranks}"] if ranks else [])
    if svg is not None:
        if len(values["algorithm"] or ()) != 1:
            raise RequestError("--svg draws one algorithm; name it with --algorithm")
        line += ["--spans", *([] if values["sizes"] else [f"--sizes={DRAWN_SIZE}"])]
    text = ask(*line, name=PREDICT)
    if as_json:
        typer.echo(text, nl=False)
    elif svg is not None:
        typer.echo(draw(read_prediction(text), svg))
    else:
        typer.echo("\n".join(table(read_prediction(text), columns_shown())))


def table(prediction: Prediction, shown: int = UNLIMITED) -> Iterator[str]:
    """Yield the lines of the table; many sizes go into several, one below the other.

    A line has at most `shown` columns of text, if one size has room there.
    """
    sizes_max = min(max((shown - NAME_WIDTH) // (TIME_WIDTH + 2), 1), COLUMNS)
    marked = len(prediction.candidates) > 1
    yield (
        f"# {prediction.collective} on {counted(prediction.ranks, 'rank')}, "
        f"model {prediction.model} of {prediction.platform}"
        + ("; * is the fastest" if marked else "")
    )
    sizes = prediction.message_bytes
    for first in range(0, len(sizes), sizes_max):
        columns = range(first, min(first + sizes_max, len(sizes)))
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
            f"{prediction.ranks} ranks are too many for a picture; draw at most {DRAWN_RANKS}"
        )
    candidate = prediction.candidates[0]
    size = size_text(prediction.message_bytes[0])
    total = time_text(candidate.predicted_s[0])
    ranks = counted(prediction.ranks, "rank")
    title = f"{prediction.collective}, {candidate.name}, {size}, {ranks}: {total}"
    work = [Work(one.what, one.rank, one.peer, one.begin_s, one.end_s) for one in prediction.spans]
    save_drawing(draw_timeline(title, prediction.ranks, work), path)
    return f"{path}  {title}"
