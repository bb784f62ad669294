# SPDX-License-Identifier: BSD-3-Clause
"""Options come from the native program's description and reach it as they were given."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lanewise.cli import native_options
from lanewise.cli.example import ExampleTyper
from lanewise.cli.native_options import NativeOptions
from lanewise.launch.describe import OptionDescription, ProgramDescription

NATIVE = NativeOptions("lanewise-gauge", without=("output",))


def described(
    *names: str, kind: str = "text", repeatable: bool = False, default: str | None = None
) -> OptionDescription:
    return OptionDescription(
        names=names, type=kind, metavar="" if kind == "flag" else "X", default=default,
        help="Helps",
        group="What is gauged", required=False, repeatable=repeatable,
    )  # fmt: skip


GAUGE = ProgramDescription(
    "lanewise-gauge",
    "Gauges.",
    (
        described("operations", repeatable=True),
        described("--weights", kind="number", repeatable=True),
        described("-t", "--time-limit", kind="duration", default="1m"),
        described("--resume", kind="flag"),
        described("-o", "--output"),
        described("--events", kind="flag"),
    ),
)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_options, "find_program", lambda *_: Path("lanewise-gauge"))
    monkeypatch.setattr(native_options, "describe", lambda _: GAUGE)


def invoke(*words: str) -> tuple[str, list[str]]:
    """Return what `gauge WORDS` prints, and what it would pass on."""
    passed: list[str] = []

    def gauge(**values: object) -> None:
        """Gauge."""
        passed.extend(NATIVE.arguments(values))

    app = ExampleTyper(name="lanewise")
    app.callback()(lambda: None)
    NATIVE.add_to(app, "gauge", gauge)
    result = CliRunner().invoke(app, ["gauge", *words])
    return result.output + str(result.exception or ""), passed


@pytest.mark.usefixtures("built")
def test_nothing_given_passes_nothing() -> None:
    assert invoke() == ("", [])


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["scatter", "gather"], ["scatter", "gather"]),
        (["-t", "5s"], ["--time-limit=5s"]),
        (["--time-limit=-1", "scatter", "--resume"], ["scatter", "--time-limit=-1", "--resume"]),
        (["--weights", "1,2", "--weights", "3"], ["--weights=1,2", "--weights=3"]),
    ],
)
def test_what_is_given_is_passed_on_in_the_order_of_the_program(
    words: Sequence[str], passed: Sequence[str]
) -> None:
    assert invoke(*words) == ("", passed)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("option", ["--events", "--output"])
def test_internal_options_and_those_of_the_command_are_not_offered(option: str) -> None:
    output, _ = invoke(option)
    assert f"No such option: {option}" in output


@pytest.mark.usefixtures("built")
def test_a_command_that_wants_only_some_options_offers_no_others() -> None:
    some = NativeOptions("lanewise-gauge", only=("resume", "time-limit"))
    assert [one.name for one in some.parameters()] == ["time_limit", "resume"]


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("given", "value"), [({}, "1m"), ({"time_limit": None}, "1m"), ({"time_limit": "5s"}, "5s")]
)
def test_an_option_that_is_not_given_has_the_default_of_the_program(
    given: dict[str, str | None], value: str
) -> None:
    assert NATIVE.value("time-limit", given) == value


@pytest.mark.usefixtures("built")
def test_help_has_the_native_help_below_the_native_heading() -> None:
    output, _ = invoke("--help")
    assert "What is gauged:\n  --weights X" in output
    assert "Helps." in output


def test_a_command_whose_program_is_not_built_says_so_whatever_its_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LANEWISE_NATIVE", raising=False)
    output, _ = invoke("scatter", "--time-limit", "5s")
    assert output.endswith("lanewise-gauge is not built; build it with: make build")
    helped, _ = invoke("--help")
    assert "make build" in " ".join(helped.split())
