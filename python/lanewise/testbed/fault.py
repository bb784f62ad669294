# SPDX-License-Identifier: BSD-3-Clause
"""Faults: links that are cut, mended and degraded, cables pulled, hosts killed, at set times.

A script is a TOML file of [[fault]] tables.  A time may be drawn between two; the same seed draws
the same times.  `schedule` turns a script into events, `play` brings them about and logs each.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from lanewise.errors import RequestError
from lanewise.interrupts import deferred_interrupts
from lanewise.testbed.bed import Bed
from lanewise.testbed.impairments import BY_KEY, BY_SETTING, IMPAIRMENTS, for_delay_line
from lanewise.testbed.plan import Plan, SlowWire
from lanewise.toml import quantities
from lanewise.toml.lines import Path
from lanewise.toml.quantities import MOMENT, size_text, time_text
from lanewise.toml.tables import Tables, hint, shown
from lanewise.toml.text import read_text

ACTIONS = ("cut", "mend", "degrade", "kill")


@dataclass(frozen=True)
class Event:
    """A fault at a time since the script began.

    The target of cut and mend is a link (`a-b`) or an interface (`a1.lan0`), that of degrade is a
    link, that of kill a host.  A mend that `ends` one fault leaves others of the target: those in
    `left`.
    """

    time_ns: float
    action: str
    target: str
    settings: tuple[tuple[str, float], ...] = ()
    ends: Event | None = None
    left: tuple[Event, ...] = ()


def settings_of(words: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    """Return settings from words such as rate = "10 Mbit/s"; ValueError names the wrong one."""
    found = []
    for key, text in words.items():
        one = BY_KEY[key]
        try:
            found.append((one.setting, quantities.parse(one.kind, text, one.least)))
        except ValueError as error:
            raise ValueError(f"{key} = {shown(text)} {error}") from None
    return tuple(found)


def links_of(plan: Plan) -> dict[str, tuple[str, SlowWire]]:
    """Return each link by its name, with the delay line that carries it."""
    return {
        wire.name: (line.name, wire)
        for line in plan.delay_lines for wire in line.wires if wire.kind == "tun"
    }  # fmt: skip


def check_event(event: Event, plan: Plan) -> None:
    """Refuse an event that names what the testbed has not, or that cannot be done to it."""
    links = list(links_of(plan))
    hosts = [host.name for host in plan.hosts]
    interfaces = [
        f"{end.namespace}.{end.device}"
        for end in (
            *(wire.host for wire in plan.wires),
            *(wire.ends[0] for line in plan.delay_lines for wire in line.wires if wire.bridge),
        )
    ]
    targets = {"kill": hosts, "degrade": links}.get(event.action, [*links, *interfaces])
    if event.action == "degrade" and not links:
        raise ValueError("this testbed has no [[link]] between sites, and only one can be degraded")
    if event.target not in targets:
        raise ValueError(f"{event.action} = '{event.target}': {hint(event.target, targets)}")
    if event.action == "degrade" and not event.settings:
        raise ValueError(f"degrade says no new value; give one of {', '.join(BY_KEY)}")
    if event.action != "degrade" and event.settings:
        key = BY_SETTING[event.settings[0][0]].key
        raise ValueError(f"{event.action} has no use for {key}; degrade has")
    if event.action == "degrade":
        check_mark(event, links_of(plan)[event.target][1])


def check_mark(event: Event, wire: SlowWire) -> None:
    """Refuse to degrade a link so that its queue is full before it marks anything."""
    settings = {**dict(wire.settings), **dict(event.settings)}
    queue, mark = settings["queue_bytes"], settings.get("mark_bytes", 0.0)
    if queue < mark:
        raise ValueError(
            f"mark, {size_text(mark)}, is larger than queue, {size_text(queue)}, so nothing is "
            "marked; give both"
        )


def schedule(text: str, where: str, plan: Plan) -> list[Event]:
    """Return the events of a script in their order; RequestError names the line that is wrong."""
    return _Script(text, where).events(plan)


def load(path: pathlib.Path, plan: Plan) -> list[Event]:
    """Return the events of a script in a file."""
    text = read_text(path, f"give a script, or one of {', '.join(ACTIONS)}")
    return schedule(text, path.name, plan)


def single(action: str, target: str, words: Mapping[str, str], plan: Plan) -> Event:
    """Return one fault that is to happen now; RequestError says what is wrong with it."""
    try:
        event = Event(0.0, action, target, settings_of(words))
        check_event(event, plan)
    except ValueError as error:
        raise RequestError(str(error)) from None
    return event


class _Script(Tables):
    """Reads a script of faults."""

    def events(self, plan: Plan) -> list[Event]:
        self.known(self.values, (), ("seed", "fault"))
        draw = random.Random(self.whole(self.values, (), "seed", 1))
        placed = [
            (event, path)
            for table, path in self.listed("fault")
            for event in self.checked(self.fault(table, path, draw), path, plan)
        ]
        if not placed:
            raise self.refuse((), "there is no [[fault]]; begin each fault with a line [[fault]]")
        placed.sort(key=lambda each: each[0].time_ns)
        events = list(with_what_is_left([event for event, _ in placed]))
        self.check_jitter(events, [path for _, path in placed], plan)
        return events

    def check_jitter(self, events: list[Event], paths: list[Path], plan: Plan) -> None:
        """Refuse what leaves a link with more jitter than delay, given all that came before it."""
        wires = {name: wire for name, (_, wire) in links_of(plan).items()}
        settings = {name: dict(wire.settings) for name, wire in wires.items()}
        for event, path in zip(events, paths, strict=True):
            if event.action == "kill" or event.target not in wires:
                continue
            now = settings[event.target]
            now.update(new_settings(event, wires[event.target]))
            if now["jitter_ns"] > now["delay_ns"]:
                at, what = ("for", "its end") if event.ends else (event.action, event.action)
                jitter, delay = time_text(now["jitter_ns"]), time_text(now["delay_ns"])
                raise self.refuse(
                    (*path, at),
                    f"{what} leaves {event.target} with a jitter of {jitter}, larger than its "
                    f"delay, {delay}; give a delay that is at least as large",
                )

    def checked(self, events: list[Event], path: Path, plan: Plan) -> list[Event]:
        try:
            for event in events:
                check_event(event, plan)
        except ValueError as error:
            raise self.refuse((*path, events[0].action), str(error)) from None
        return events

    def fault(self, table: dict[str, Any], path: Path, draw: random.Random) -> list[Event]:
        """Return the event of a table, and the one that ends it where it says `for`."""
        self.known(table, path, ("at", "for", *ACTIONS, *BY_KEY))
        actions = [action for action in ACTIONS if action in table]
        if len(actions) != 1:
            raise self.refuse(path, f"a fault needs exactly one of the keys {', '.join(ACTIONS)}")
        action, target = actions[0], table[actions[0]]
        at_ns = self.time(table, path, "at", draw)
        settings = tuple(
            (one.setting, self.quantity(table, path, one.key, one.kind, least=one.least))
            for one in IMPAIRMENTS
            if one.key in table
        )
        events = [Event(at_ns, action, str(target), settings)]
        if "for" not in table:
            return events
        if action not in ("cut", "degrade"):
            remedy = f"for: only cut and degrade have a duration; leave it out for {action}"
            raise self.refuse((*path, "for"), remedy)
        end_ns = at_ns + self.time(table, path, "for", draw)
        return [*events, Event(end_ns, "mend", str(target), ends=events[0])]

    def time(self, table: dict[str, Any], path: Path, key: str, draw: random.Random) -> float:
        value = self.needed(table, path, key, f'as in {key} = "1 s", or {key} = ["1 s", "2 s"]')
        path = (*path, key)
        if not isinstance(value, list):
            return self.checked_quantity(value, path, MOMENT, 0.0)
        ends = [self.checked_quantity(each, path, MOMENT, 0.0) for each in value]
        if len(ends) != 2 or ends[0] > ends[1]:
            raise self.refuse(path, f"{key}: give one time, or an earlier and a later one")
        return draw.uniform(*ends)


def with_what_is_left(events: Sequence[Event]) -> Iterator[Event]:
    """Yield events in their order, each mend with the faults of its target that go on."""
    active: dict[str, list[Event]] = {}
    for event in events:
        going_on = active.setdefault(event.target, [])
        if event.action != "mend":
            going_on.append(event)
            yield event
            continue
        going_on[:] = [one for one in going_on if event.ends and one is not event.ends]
        yield replace(event, left=tuple(going_on))


def is_up(event: Event) -> bool:
    """Tell whether a cable is in after an event."""
    return event.action != "cut" and not any(one.action == "cut" for one in event.left)


def bring_about(bed: Bed, plan: Plan, event: Event) -> None:
    """Do to the testbed what an event says; RunError where it refuses."""
    links = links_of(plan)
    if event.action == "kill":
        bed.kill(event.target)
    elif event.target not in links:
        host, _, interface = event.target.rpartition(".")
        bed.switch(host, interface, up=is_up(event))
    else:
        line, wire = links[event.target]
        settings = new_settings(event, wire)
        bed.ask(f"{line}.line", {"link": event.target, "settings": settings})


def new_settings(event: Event, wire: SlowWire) -> dict[str, float]:
    """Return what the delay line is told: a mended link is as it was described, or still faulty."""
    if event.action == "cut":
        return {"up": False}
    if event.action == "degrade":
        return for_delay_line(dict(event.settings))
    faulty = dict(setting for one in event.left for setting in one.settings)
    return for_delay_line({**dict(wire.settings), **faulty, "up": is_up(event)})


def play(
    bed: Bed, events: Sequence[Event], log: Callable[[str], None], stop: threading.Event
) -> None:
    """Bring events about at their times, and log each as a line of JSON, until `stop` is set.

    A fault that is to end by itself ends then, or where an interrupt does.
    """
    plan = bed.plan()
    begin_s = time.monotonic()

    def happen(event: Event) -> None:
        bring_about(bed, plan, event)
        log(line_of(event, time.monotonic() - begin_s))

    begun = 0
    try:
        for event in events:
            if stop.wait(max(0.0, begin_s + event.time_ns / 1e9 - time.monotonic())):
                return
            # Of what is interrupted, a fault may have happened, and an end may not have.
            begun += event.ends is None
            happen(event)
            begun += event.ends is not None
    finally:
        with deferred_interrupts(), contextlib.ExitStack() as all_of_them:
            # The last that is pushed comes first, and one that fails does not keep out the others.
            for event in reversed(early_ends(events, begun)):
                all_of_them.callback(happen, event)


def early_ends(events: Sequence[Event], begun: int) -> list[Event]:
    """Return what ends those of the first `begun` events that would end by themselves later."""
    done, to_come = events[:begun], events[begun:]
    ends = [event for event in to_come if any(event.ends is one for one in done)]
    return list(with_what_is_left([*done, *ends]))[begun:]


def line_of(event: Event, elapsed_s: float) -> str:
    """Return the line of the log about an event that has been brought about."""
    return json.dumps(
        {
            "event": "fault",
            "time": datetime.now(timezone.utc).isoformat(timespec="microseconds"),
            "monotonic_s": round(time.monotonic(), 6),
            "elapsed_s": round(elapsed_s, 6),
            "wanted_s": round(event.time_ns / 1e9, 6),
            "action": event.action,
            "target": event.target,
            **dict(event.settings),
            **({"left": [one.action for one in event.left]} if event.left else {}),
        }
    )
