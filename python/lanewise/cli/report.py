# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise report`: result files as a page, as text, or as a table for other programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.file_names import compression_of, require_uncompressed
from lanewise.cli.numbers import counted
from lanewise.cli.terminal import columns_shown
from lanewise.errors import RequestError
from lanewise.files.whole import require_apart, write_whole
from lanewise.results.printable import printable
from lanewise.results.table import UNLIMITED

if TYPE_CHECKING:
    from lanewise.results.read import Samples

FORMATS = ("html", "text", "csv", "parquet", "json")
SUFFIXES = {".html": "html", ".txt": "text", ".csv": "csv", ".parquet": "parquet", ".json": "json"}
STANDARD_OUTPUT = "-"
PAGE = "report.html"

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Files of measure, or text of other benchmarks; for the page also files of "
        "model fit, tune, run --interleaved and run --profile.",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="File to write; - is standard output (default: report.html, or standard output for "
        "other formats).",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        help="Format to write (default: by the suffix of OUT).",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Same as --format json.")]
Raw = Annotated[
    bool, typer.Option("--raw", help="Write one row per repetition, not per point, as csv or json.")
]
Definition = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="imb|netpipe|osu",
        help="Print the loops of measure --as in the format of that tool, as text.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command `report` to `app`."""
    app.command("report")(report)


def report(
    files: Files,
    output: Output = "",
    format_: Format = "",
    as_json: AsJson = False,
    raw: Raw = False,
    definition: Definition = "",
) -> None:
    """$ lanewise report openmpi.jsonl mpich.jsonl -o report.html

    Show result files as a page, as text, or as CSV.

    The page has curves with their intervals, the samples behind each point, tables, warnings, and
    what is known about the machine; it is a single file that works offline.  `--format text` prints
    one table per operation, after the conditions and before the cautions.  `csv`, `parquet` and
    `json` are for other programs.
    """
    chosen = format_of(format_ or ("json" if as_json else ""), output)
    if raw and chosen not in ("csv", "json"):
        raise RequestError(f"--raw is for csv and json; leave it out for {chosen}")
    if definition and chosen != "text":
        raise RequestError(f"--as is for text; add --format text, or leave it out for {chosen}")
    if output != STANDARD_OUTPUT and (output or chosen == "html"):
        require_apart({"-o": Path(output or PAGE)}, *files)
    if as_json and chosen != "json":
        raise RequestError(f"--json and --format {chosen} exclude each other; leave one out")
    if chosen == "html":
        write_page(files, output or PAGE)
    elif chosen == "text":
        columns = columns_shown() if output in ("", STANDARD_OUTPUT) else UNLIMITED
        write_text(text_of(files, definition, columns), output)
    else:
        write_rows(files, chosen, output, summarised=not raw)


def format_of(named: str, output: str) -> str:
    """Return the format that is asked for by name, else by the suffix of the file to write."""
    if named and named not in FORMATS:
        raise RequestError(f"no format '{named}'; use one of {', '.join(FORMATS)}")
    suffix = Path(output.removesuffix(compression_of(output)) or PAGE).suffix
    if not named and output != STANDARD_OUTPUT and suffix not in SUFFIXES:
        raise RequestError(
            f"{output} does not say what to write; end it with {', '.join(SUFFIXES)}, "
            "or add --format"
        )
    require_uncompressed(output)
    if named:
        return named
    return "text" if output == STANDARD_OUTPUT else SUFFIXES[suffix]


def write_page(files: Sequence[Path], output: str) -> None:
    """Write the page and say what is on it."""
    from lanewise.imports.load import load
    from lanewise.report.write import write_report

    if output == STANDARD_OUTPUT:
        raise RequestError("the page is a file; name it, -o report.html")
    page = write_report(files, Path(output), load)
    typer.echo(f"{page.path}  {counted(page.figures, 'figure')}, {counted(page.curves, 'curve')}")


def text_of(files: Sequence[Path], definition: str, columns: int) -> str:
    """Return the tables of all files; those of another tool are as wide as it prints them."""
    from lanewise.cli import samples_text

    loaded = [samples_in(path, "text") for path in files]
    if not definition:
        texts = ("\n".join(samples_text.text_of(samples, columns)) for samples in loaded)
        return "\n\n".join(texts) + "\n"
    warn(loaded)
    return "".join(f"{line}\n" for samples in loaded for line in looped_text(samples, definition))


def samples_in(path: Path, format_: str) -> Samples:
    """Load a file of samples; RequestError for another, which says what else takes it."""
    from lanewise.imports.load import load

    try:
        return load(path)
    except RequestError:
        from lanewise.profile.read import SCHEMA as PROFILE_SCHEMA
        from lanewise.report.decisions import SCHEMAS, schema_of

        schema = schema_of(path)
        if not schema:
            raise
        page = ", or write the page" if schema in (*SCHEMAS, PROFILE_SCHEMA) else ""
        raise RequestError(
            f"{path} is of {schema}, not samples, and {format_} is of samples alone; "
            f"leave it out{page}"
        ) from None


def looped_text(samples: Samples, definition: str) -> Iterator[str]:
    """Yield the tables of another tool, of points that were measured with its loop."""
    from lanewise.suite.printed_as import TABLES, Layout, tables

    if definition not in TABLES:
        raise RequestError(f"no definition '{definition}'; use {' or '.join(TABLES)}")
    isolated = {(one.operation, one.message_bytes): one for one in samples.points}
    pairs = [
        (isolated[one.operation, one.message_bytes], one)
        for one in samples.looped
        if one.definition == definition and (one.operation, one.message_bytes) in isolated
    ]
    if not pairs:
        raise RequestError(
            f"{samples.path} has nothing measured as {definition} does; isolated repetitions "
            f"cannot be converted, so measure with --as {definition} -o FILE"
        )
    yield from tables(Layout(definition, samples.context.ranks, samples.context.window), pairs)


def write_text(text: str, output: str) -> None:
    """Write `text` to a file, or to standard output."""
    if output in ("", STANDARD_OUTPUT):
        sys.stdout.write(text)
        return
    write_whole(Path(output), text)


def write_rows(files: Sequence[Path], format_: str, output: str, *, summarised: bool) -> None:
    """Write points, or repetitions, as rows."""
    from lanewise.results.export import json_of, repetitions, summary, write_csv, write_parquet
    from lanewise.results.frame import frame_of, launch_frame_of

    loaded = [samples_in(path, format_) for path in files]
    for samples in loaded:
        refuse_costs(samples, format_)
        if not summarised:
            refuse_single_numbers(samples)
    warn(loaded)
    if format_ == "parquet":
        write_parquet(frame_of(loaded), output or STANDARD_OUTPUT)
        return
    rows = summary(frame_of(loaded)) if summarised else repetitions(launch_frame_of(loaded))
    if format_ == "csv":
        write_csv(rows, output or STANDARD_OUTPUT)
    else:
        write_text(json_of(rows), output)


def warn(loaded: Sequence[Samples]) -> None:
    """Write to standard error what files warn of, where the format has no place for that."""
    for sentence in (sentence for samples in loaded for sentence in samples.warnings):
        sys.stderr.write(f"lanewise report: warning: {printable(sentence)}\n")


def refuse_single_numbers(samples: Samples) -> None:
    """Raise RequestError for a file that has one number for each point, and no repetitions."""
    if samples.points and not any(point.samples_s for point in samples.points):
        raise RequestError(
            f"{samples.path} has one number for each point and no repetitions; leave --raw out"
        )


def refuse_costs(samples: Samples, format_: str) -> None:
    """Raise RequestError for a file that has nothing but what messages cost the processor."""
    if (samples.polling or samples.waiting) and not samples.points:
        raise RequestError(
            f"{samples.path} is of polling or post-work-wait, which have no rows in {format_}; "
            "use html or text, or read the lines of the file, which are JSON"
        )
