# SPDX-License-Identifier: BSD-3-Clause
"""Changes the sources a little, many times, and tells which changes no test notices.

    .venv/bin/python tests/mutants [--count N] [--seed N] [--jobs N] [--again] [--keep]
                                   [--parts PART...]

A change is drawn from the lines that tests execute: as many in each part of PARTS, of every kind of
changes.py in turn, at most one a line, in an order that the seed decides.  It is built and given to
the tests that execute its line, the nearest first, until one fails or runs too long.  A change that
does not compile, that makes the compiler produce the same code at -O2 (Papadakis et al., "Trivial
Compiler Equivalence", ICSE 2015), or that equivalent.toml lists, is replaced by the next.

Each result is a line of build/mutants/results.jsonl, so that a run that was interrupted goes on;
--again judges those once more that survived or ran too long, after tests were added, and --keep
appends the counts of a whole run to kept.jsonl.  The exit status is 1 where fewer than 85 % were
killed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from changes import Change, changes_of
from kept import Judged, append
from trees import (
    HOME,
    INCLUDED_MAX,
    PARTS,
    ROOT,
    Coverage,
    Test,
    Tree,
    execute,
    measure_coverage,
    output_of,
)

from lanewise.launch.machine import processor

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KILLED_MIN = 0.85
# Programs that judge a change at most, and for how long.
PROGRAMS_MAX = 16
JUDGED_S = 240.0
RESULTS = HOME / "results.jsonl"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")

KILLED, LATE, SURVIVED, STILLBORN, EQUAL = "killed", "late", "survived", "stillborn", "equal"


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=300, help="changes to judge")
    parser.add_argument("--seed", type=int, default=1, help="decides which changes are drawn")
    parser.add_argument("--jobs", type=int, default=1, help="changes to judge at the same time")
    parser.add_argument("--again", action="store_true", help="judge those again that survived")
    parser.add_argument("--keep", action="store_true", help="append the counts to kept.jsonl")
    parser.add_argument("--parts", nargs="*", default=[], choices=[*PARTS, []], help="only these")
    parser.add_argument("--files", nargs="*", default=[], help="only files with this in their name")
    parser.add_argument("--pause-while", type=Path, help="wait while this file exists")
    return parser.parse_args()


def drawn(
    coverage: Coverage, included: dict[str, int], chosen: argparse.Namespace
) -> dict[str, Iterator[Change]]:
    """Return, for each part, its changes in the order in which they are judged."""
    listed = equivalent()
    pools: dict[str, dict[str, list[Change]]] = {part: defaultdict(list) for part in PARTS}
    for name, lines in coverage.lines.items():
        too_wide = name.endswith(".hpp") and included.get(name, 0) > INCLUDED_MAX
        if too_wide or "_test." in name or "/testing/" in name or not (ROOT / name).is_file():
            continue
        if chosen.files and not any(word in name for word in chosen.files):
            continue
        part = next(part for part in PARTS if name.startswith(f"{part}/"))
        for change in changes_of(name, (ROOT / name).read_text(encoding="utf-8")):
            if change.line in lines and (name, change.text, change.mutated) not in listed:
                pools[part][change.kind].append(change)
    return {part: _in_turn(pools[part], chosen.seed) for part in PARTS}


def _in_turn(pools: dict[str, list[Change]], seed: int) -> Iterator[Change]:
    """Take a change of each kind in turn, at most one of a line."""
    waiting = [sorted(pools[kind], key=lambda each: each.draw(seed)) for kind in sorted(pools)]
    used: set[tuple[str, int]] = set()
    while any(waiting):
        for pool in waiting:
            while pool:
                change = pool.pop(0)
                if (change.path, change.line) not in used:
                    used.add((change.path, change.line))
                    yield change
                    break


def equivalent() -> set[tuple[str, str, str]]:
    """Return the changes that people found to change nothing: file, line, and changed line."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("change", [])
    return {(entry["file"], entry["line"], entry["becomes"]) for entry in entries}


def known(*, again: bool) -> dict[str, tuple[str, float]]:
    """Return the verdicts of former runs, and how long it took to find each."""
    if not RESULTS.exists():
        return {}
    lines = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    verdicts = {entry["key"]: (entry["verdict"], entry.get("took_s", 0.0)) for entry in lines}
    judged_again = (SURVIVED, LATE) if again else ()
    return {key: found for key, found in verdicts.items() if found[0] not in judged_again}


class Run:
    """What the threads of a run share."""

    def __init__(
        self, chosen: argparse.Namespace, coverage: Coverage, tests: list[Test], first: Tree
    ) -> None:
        self.coverage = coverage
        self.tests = tests
        self.first = first
        self.known = known(again=chosen.again)
        self.pause: Path | None = chosen.pause_while
        self.lock = threading.Lock()
        self.verdicts: dict[str, list[tuple[Change, str]]] = defaultdict(list)
        self.open: Counter[str] = Counter()
        self.took_s: Counter[str] = Counter()

    def judge(self, tree: Tree, change: Change) -> tuple[str, str]:
        """Make a change, build, and return the verdict with the test that decided."""
        source = (ROOT / change.path).read_text(encoding="utf-8")
        tree.write(change.path, change.apply(source).encode())
        try:
            verdict = self._put_to_test(tree, change)
            if verdict[0] == SURVIVED and change.path.endswith(".cpp"):
                after = tree.optimised(change.path)
                tree.write(change.path, source.encode())
                if after is not None and after == tree.optimised(change.path):
                    return EQUAL, ""
            return verdict
        finally:
            tree.write(change.path, source.encode())

    def _put_to_test(self, tree: Tree, change: Change) -> tuple[str, str]:
        until_s = time.monotonic() + JUDGED_S
        for target in self._programs(change):
            self._wait()
            if not tree.ninja([target], 1):
                return STILLBORN, ""
            for test in self.tests:
                if test.target != target or test.name not in self.coverage.took_s:
                    continue
                moved = test.moved(self.first.build, tree.build)
                status, _ = execute(moved, self.coverage.limit_s(test))
                if status is None:
                    return LATE, test.name
                if status not in (0, 77):
                    return KILLED, test.name
            if time.monotonic() > until_s:
                break
        return SURVIVED, ""

    def _programs(self, change: Change) -> list[str]:
        """Return the programs that execute the line, the nearest first and of these the quickest.

        Of those equally near, programs of one rank come first: they never wait for a message.
        """
        folder = Path(change.path).parent.parts

        def distance(target: str) -> tuple[int, bool, float]:
            runs = [test for test in self.tests if test.target == target]
            there = Path(runs[0].source).parts
            shared = sum(1 for a, b in zip(folder, there, strict=False) if a == b)
            took_s = sum(self.coverage.took_s.get(test.name, 0.0) for test in runs)
            return -shared, any(test.ranks > 1 for test in runs), took_s

        return sorted(self.coverage.lines[change.path][change.line], key=distance)[:PROGRAMS_MAX]

    def _wait(self) -> None:
        while self.pause is not None and self.pause.exists():
            time.sleep(2)

    def tell(self, change: Change, verdict: str, by: str, took_s: float) -> None:
        """Keep and print a result."""
        found = {"verdict": verdict, "by": by, "took_s": round(took_s, 1)}
        with self.lock:
            entry = {"key": change.key(), **found, **asdict(change)}
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
            where = f"{change.path}:{change.line}"
            print(f"{verdict:9} {where}: {change.text}  →  {change.mutated}  {by}", flush=True)

    def take(self, part: str, changes: Iterator[Change], count: int) -> Change | None:
        """Return the next change of a part, or None where those taken will be `count`."""
        with self.lock:
            if len(self.verdicts[part]) + self.open[part] >= count:
                return None
            change = next(changes, None)
            self.open[part] += change is not None
            return change

    def part(self, tree: Tree, part: str, changes: Iterator[Change], count: int) -> None:
        """Judge changes of one part until there are `count`; others may do so at the same time."""
        while (change := self.take(part, changes, count)) is not None:
            if change.key() not in self.known:
                began_s = time.monotonic()
                verdict, by = self.judge(tree, change)
                self.known[change.key()] = (verdict, time.monotonic() - began_s)
                self.tell(change, verdict, by, self.known[change.key()][1])
            verdict, took_s = self.known[change.key()]
            with self.lock:
                self.took_s[part] += round(took_s)
                self.open[part] -= 1
                if verdict not in (STILLBORN, EQUAL):
                    self.verdicts[part].append((change, verdict))


def report(run: Run) -> bool:
    """Print how many changes were killed, and those that survived; tell whether it is enough."""
    everyone: Counter[str] = Counter()
    print()
    for part, judged in sorted(run.verdicts.items()):
        number = Counter(verdict for _, verdict in judged)
        everyone += number
        names = [name for name in run.coverage.executable if name.startswith(f"{part}/")]
        executed = sum(len(run.coverage.lines[name]) for name in names)
        lines = sum(run.coverage.executable[name] for name in names)
        killed = number[KILLED] + number[LATE]
        print(f"{part}: {killed} of {len(judged)} killed, {number[LATE]} of them by their time, "
              f"in {run.took_s[part]} s; tests execute {executed} of {lines} lines")  # fmt: skip
    print("\nSurvived:")
    for judged in run.verdicts.values():
        for change, verdict in judged:
            if verdict == SURVIVED:
                print(f"  {change.path}:{change.line}\n    {change.text}\n    {change.mutated}")
    total = sum(everyone.values())
    share = (total - everyone[SURVIVED]) / total if total else 0.0
    print(f"\n{total - everyone[SURVIVED]} of {total} changes killed, {100 * share:.1f} %; "
          f"{100 * KILLED_MIN:.0f} % are asked for")  # fmt: skip
    return share >= KILLED_MIN


def counts_of(run: Run, seed: int) -> list[Judged]:
    """Return what a run gave, by part."""
    commit = output_of(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]).strip()
    return [
        Judged(
            date=datetime.now(timezone.utc).date().isoformat(),
            commit=commit,
            processor=processor(),
            load_average=round(os.getloadavg()[2], 1),
            seed=seed,
            part=part,
            judged=len(judged),
            killed=sum(verdict != SURVIVED for _, verdict in judged),
            by_time=sum(verdict == LATE for _, verdict in judged),
            took_s=run.took_s[part],
            survived=tuple(
                f"{change.path}:{change.line}: {change.text}  →  {change.mutated}"
                for change, verdict in judged
                if verdict == SURVIVED
            ),
        )
        for part, judged in sorted(run.verdicts.items())
    ]


def main() -> int:
    """Prepare the trees, judge the changes, and report."""
    chosen = options()
    parts = [part for part in PARTS if not chosen.parts or part in chosen.parts]
    trees = [Tree(number) for number in range(chosen.jobs)]
    for tree in trees:
        tree.prepare()
    print("Building and running the tests, to find out which lines they execute", flush=True)
    if not trees[0].ninja(trees[0].programs(parts), chosen.jobs):
        raise SystemExit(f"the tests could not be built; see {trees[0].build}/last.log")
    tests = trees[0].tests(parts)
    coverage = measure_coverage(trees[0], tests)
    for name in coverage.failing:
        print(f"{name} fails without a change, and judges nothing", flush=True)
    run = Run(chosen, coverage, tests, trees[0])
    order = drawn(coverage, trees[0].included(), chosen)

    def work(tree: Tree) -> None:
        for part in parts:
            run.part(tree, part, order[part], -(-chosen.count // len(PARTS)))

    threads = [threading.Thread(target=work, args=(tree,)) for tree in trees]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if chosen.keep:
        append(counts_of(run, chosen.seed))
    return 0 if report(run) else 1


if __name__ == "__main__":
    sys.exit(main())
