# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model algorithms`: what there is for each collective, and a picture of a schedule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import counted, positive_count
from lanewise.cli.shared_options import given
from lanewise.cli.terminal import columns_shown, folded
from lanewise.errors import RequestError
from lanewise.model.schedule import (
    SCHEDULE,
    Algorithm,
    Message,
    messages_of,
    read_algorithms,
    read_schedules,
)
from lanewise.results.quantity import size_text
from lanewise.results.table import UNLIMITED

DRAWN_RANKS = 64
TREE = "knomial:"
WORDS = {
    "commutative": "operator commutes",
    "power_of_two": "power of two ranks",
    "even_ranks": "even number of ranks",
    "all_counts": "all ranks know all counts",
    "platform": "platform.json",
    "hosts": "ranks on several hosts",
    "sites": "ranks at several sites",
    "single_edges": "no neighbour twice",
}

NATIVE = NativeOptions(SCHEDULE, without=("list", "collective", "algorithm"))

CollectiveName = Annotated[
    str, typer.Argument(metavar="COLLECTIVE", help="Collective, such as scatter (default: all).")
]
AlgorithmName = Annotated[
    str, typer.Argument(metavar="ALGORITHM", help="Algorithm to show (default: list all).")
]
Ranks = Annotated[
    str,
    typer.Option(
        "-n", "--ranks", metavar="N", help="Number of ranks of the schedule (default: 8)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Drawing = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Draw the rounds instead of printing them."),
]


def register(app: typer.Typer) -> None:
    """Add the command `algorithms` to `app`."""
    NATIVE.add_to(app, "algorithms", algorithms)


def algorithms(
    context: typer.Context,
    collective: CollectiveName = "",
    algorithm: AlgorithmName = "",
    ranks: Ranks = "8",
    svg: Drawing = None,
    as_json: AsJson = False,
    **_options: Any,
) -> None:
    """$ lanewise model algorithms scatter binomial --ranks 8 --svg binomial.svg

    List algorithms, or show the rounds of one of them.

    Costs are for n ranks and M bytes, with latency a, time b to move a byte and g to combine one.
    """
    if svg is not None and as_json:
        raise RequestError("--svg and --json: give one of them")
    listed = read_algorithms()
    if collective:
        check_name("collective", collective, [one.collective for one in listed])
        listed = [one for one in listed if one.collective == collective]
    if not algorithm:
        refuse_options_of_one(context, f"{collective or 'scatter'} {listed[0].name}")
        if as_json:
            typer.echo(json.dumps({"algorithms": [asdict(one) for one in listed]}))
        else:
            typer.echo("\n".join(table(listed, columns_shown())))
        return
    chosen = named(collective, algorithm, listed)
    if svg is not None and positive_count("-n", ranks) > DRAWN_RANKS:
        raise RequestError(f"{ranks} ranks are too many for a picture; draw at most {DRAWN_RANKS}")
    call = [f"--collective={collective}", f"--algorithm={algorithm}", f"--ranks={ranks}"]
    messages = messages_of(read_schedules([*call, *NATIVE.arguments(context.params)]))
    if as_json:
        told = {**asdict(chosen), "messages": [asdict(one) for one in messages]}
        typer.echo(json.dumps(told))
    elif svg is None:
        typer.echo("\n".join([*description(chosen), *rounds(messages)]))
    else:
        title = f"{collective}, {algorithm}, {counted(int(ranks), 'rank')}"
        typer.echo(draw(title, int(ranks), messages, svg))


def refuse_options_of_one(context: typer.Context, example: str) -> None:
    """Raise RequestError for an option that means nothing in a list of algorithms."""
    for name, option in given(context).items():
        if name not in ("collective", "algorithm", "as_json"):
            raise RequestError(
                f"{option} is for one algorithm; name it: lanewise model algorithms {example} "
                f"{option} ..."
            )


def named(collective: str, name: str, listed: Sequence[Algorithm]) -> Algorithm:
    """Return an algorithm of a collective, or raise RequestError with a suggestion.

    Of the trees a few are listed, and the native program knows for which numbers there are others.
    """
    trees = [one for one in listed if one.name.startswith(TREE)]
    if name.startswith(TREE) and trees:
        return replace(trees[0], name=name)
    check_name(f"{collective} algorithm", name, [one.name for one in listed])
    return next(one for one in listed if one.name == name)


def check_name(what: str, name: str, known: Sequence[str]) -> None:
    """Raise RequestError with a suggestion where `name` is not known."""
    if name in known:
        return
    near = get_close_matches(name, known, n=1)
    names = ", ".join(dict.fromkeys(known))
    remedy = f"did you mean {near[0]}?" if near else f"use one of {names}"
    raise RequestError(f"no {what} '{name}'; {remedy}")


def table(listed: Sequence[Algorithm], columns: int = UNLIMITED) -> Iterator[str]:
    """Yield a line for each algorithm, a heading for each collective.

    What an algorithm needs stands below its cost where there are too few columns of text.
    """
    width = max(len(one.name) for one in listed) + 2
    cost_width = max(len(one.cost) for one in listed) + 2
    collective = ""
    for one in listed:
        if one.collective != collective:
            if collective:
                yield ""
            collective = one.collective
            yield f"# {collective}"
        text = f"{one.name:<{width}}{one.cost:<{cost_width}}{needs(one)}".rstrip()
        if len(text) <= columns:
            yield text
        else:
            yield f"{one.name:<{width}}{one.cost}"
            yield from folded(" " * width, needs(one), columns)


def needs(algorithm: Algorithm) -> str:
    """Return what an algorithm asks of a call, and that it takes a segment size."""
    asked = [WORDS[word] for word in algorithm.restrictions if word in WORDS]
    options = {"segmented": "takes --segment", "lanes": "takes --lanes"}
    takes = [text for word, text in options.items() if word in algorithm.restrictions]
    return "; ".join([*asked, *takes])


def description(algorithm: Algorithm) -> Iterator[str]:
    """Yield what is known of an algorithm as lines of `name  value`."""
    rows = {"source": algorithm.source, "cost": algorithm.cost, "needs": needs(algorithm) or "-"}
    yield f"# {algorithm.collective} {algorithm.name}"
    yield from (f"# {name:<8}{text}" for name, text in rows.items())


def rounds(messages: Sequence[Message]) -> Iterator[str]:
    """Yield a line for each round: who sends to whom how much."""
    for number in sorted({message.begin for message in messages}):
        words = [
            f"{one.sender}->{one.receiver} {size_text(one.message_bytes)}".removesuffix(" 0 B")
            for one in messages
            if one.begin == number
        ]
        yield f"round {number + 1}: {', '.join(words)}"


def draw(title: str, ranks: int, messages: Sequence[Message], path: Path) -> str:
    """Write the picture and return the line that says so."""
    from lanewise.plots.messages import Arrow, draw_messages
    from lanewise.plots.timeline import save_drawing

    arrows = [Arrow(one.begin, one.sender, one.receiver, one.message_bytes) for one in messages]
    save_drawing(draw_messages(title, ranks, arrows), path)
    return f"{path}  {title}"
