# SPDX-License-Identifier: BSD-3-Clause
"""A measurement has what its file has, as arrays, tables and figures."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lanewise
from lanewise.errors import RequestError
from lanewise.results import specimen

SIZES_BYTES = (8, 64, 512)


def measured(
    folder: Path, name: str = "samples.jsonl", launches: int = 3, **changes: Any
) -> lanewise.Measurement:
    named: dict[str, Any] = {
        "operations": ("scatter", "bcast"),
        "sizes_bytes": SIZES_BYTES,
        **changes,
    }
    records = specimen.launched_records(launches=launches, spread=0.02, **named)
    return lanewise.Measurement.load(specimen.write(folder / name, records))


def test_arrays_have_one_element_for_each_point_in_seconds_and_bytes(tmp_path: Path) -> None:
    found = measured(tmp_path)

    assert found.operations == ("scatter", "bcast")
    assert found.message_bytes.tolist() == [*SIZES_BYTES, *SIZES_BYTES]
    assert found.median_s.shape == found.low_s.shape == found.high_s.shape == (6,)
    assert found.launch_medians_s.shape == (6, 3)
    assert [one.shape for one in found.samples_s] == [(120,)] * 6
    assert np.all((found.low_s < found.median_s) & (found.median_s < found.high_s))
    centre_s = np.exp(np.log(found.launch_medians_s).mean(axis=1))
    assert np.allclose(found.median_s, centre_s)
    assert (found.ranks, found.launches) == (4, 3)


def test_an_operation_is_chosen_by_its_name(tmp_path: Path) -> None:
    found = measured(tmp_path)

    assert found["bcast"].operations == ("bcast",)
    assert found["bcast"].median_s.tolist() == found.median_s[3:].tolist()
    with pytest.raises(KeyError, match="gather; measured were scatter, bcast"):
        found["gather"]


def test_a_measurement_contains_its_operations(tmp_path: Path) -> None:
    found = measured(tmp_path)

    assert "bcast" in found
    assert "gather" not in found
    assert 0 not in found
    assert list(found) == ["scatter", "bcast"]
    assert len(found) == 2
    assert [len(found[name].median_s) for name in found] == [3, 3]


@pytest.mark.parametrize("launches", [1, 3])
def test_launches_have_means_where_intervals_are_of_means(tmp_path: Path, launches: int) -> None:
    context, *points, end = specimen.launched_records(launches=launches, sizes_bytes=[8])
    context["stopping"] = {**context["stopping"], "rule": "student"}
    for point in points:
        point["mean_s"] = 2 * point["median_s"]
    path = specimen.write(tmp_path / "student.jsonl", [context, *points, end])

    found = lanewise.Measurement.load(path)

    means_s = [point["mean_s"] for point in points]
    assert found.launch_medians_s.tolist() == [means_s]
    assert found.frame.launch_medians_s[0].tolist() == means_s


def test_what_is_saved_is_read_again_and_never_overwritten(tmp_path: Path) -> None:
    found = measured(tmp_path)

    found.save(tmp_path / "again.jsonl")

    again = lanewise.Measurement.load(tmp_path / "again.jsonl")
    assert again.median_s.tolist() == found.median_s.tolist()
    assert lanewise.read(tmp_path / "again.jsonl").median_s.tolist() == found.median_s.tolist()
    with pytest.raises(RequestError, match="exists"):
        found.save(tmp_path / "again.jsonl")
    with pytest.raises(RequestError, match="cannot be written: File name too long"):
        found.save(tmp_path / ("x" * 300))


def test_one_operation_is_saved_without_the_others(tmp_path: Path) -> None:
    found = measured(tmp_path)["bcast"]

    found.save(tmp_path / "bcast.jsonl")

    again = lanewise.Measurement.load(tmp_path / "bcast.jsonl")
    assert again.operations == ("bcast",)
    assert again.median_s.tolist() == found.median_s.tolist()
    assert again.cautions == found.cautions
    end = again.samples.end
    assert end is not None and end.points == len(again.samples.launch_points) == 9
    assert {point.operation for point in found.samples.launch_points} == {"bcast"}


def test_one_operation_of_a_file_with_a_byte_order_mark_is_saved_without_it(tmp_path: Path) -> None:
    measured(tmp_path)
    path = tmp_path / "samples.jsonl"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")

    lanewise.Measurement.load(path)["bcast"].save(tmp_path / "bcast.jsonl")

    assert (tmp_path / "bcast.jsonl").read_bytes().startswith(b"{")
    assert lanewise.Measurement.load(tmp_path / "bcast.jsonl").operations == ("bcast",)


def test_a_point_that_a_launch_lacks_has_no_median_there(tmp_path: Path) -> None:
    *records, last, _ = specimen.launched_records(launches=2, sizes_bytes=SIZES_BYTES)
    assert (last["launch"], last["message_bytes"]) == (2, 512)
    path = specimen.write(tmp_path / "cut.jsonl", records)

    found = lanewise.Measurement.load(path)

    assert np.isnan(found.launch_medians_s).tolist() == [[False] * 2, [False] * 2, [False, True]]
    assert any("interrupted" in sentence for sentence in found.cautions)


def test_each_launch_has_its_own_column_where_one_has_no_time(tmp_path: Path) -> None:
    context, *points, end = specimen.launched_records(launches=3, sizes_bytes=[8, 16])
    points[0] |= {"median_s": None, "mean_s": None, "low_s": None, "high_s": None}
    path = specimen.write(tmp_path / "late.jsonl", [context, *points, end])

    medians_s = lanewise.Measurement.load(path).launch_medians_s

    assert np.isnan(medians_s).tolist() == [[True, False, False], [False] * 3]
    assert medians_s[0, 1:].tolist() == [points[2]["median_s"], points[4]["median_s"]]


def test_the_data_frame_is_that_of_read(tmp_path: Path) -> None:
    found = measured(tmp_path)

    assert found.frame.median_s.tolist() == found.median_s.tolist()
    assert found.frame.launches.tolist() == [3] * 6


def test_a_notebook_shows_a_table_for_each_operation_and_what_to_know(tmp_path: Path) -> None:
    found = measured(tmp_path, context={"governor": "powersave<"})

    shown = found._repr_html_()

    assert shown.count("<table>") == 2
    assert shown.count("<tr>") == 2 * (1 + len(SIZES_BYTES))
    assert "bcast, 4 ranks, Open MPI v4.1.4, 3 launches" in shown
    assert "95 % interval" in shown
    assert "powersave&lt;" in shown


def test_a_notebook_shows_points_of_a_single_launch_in_a_table_of_their_own(
    tmp_path: Path,
) -> None:
    lines = specimen.launched_records(2, sizes_bytes=[8, 16])
    stopped = lanewise.Measurement.load(specimen.write(tmp_path / "stopped.jsonl", lines[:4]))

    shown = stopped._repr_html_()

    assert shown.count("<table>") == 2
    assert "Open MPI v4.1.4, 2 launches" in shown
    assert "Open MPI v4.1.4, 1 launch<" in shown


def test_values_are_named_in_one_line(tmp_path: Path) -> None:
    found = measured(tmp_path)

    assert repr(found) == "<Measurement: scatter, bcast, 6 points, 4 ranks, 3 launches>"
    assert repr(found.compare(found)) == (
        "<MeasurementComparison: 6 points, "
        "scatter: geometric mean 1.000; bcast: geometric mean 1.000>"
    )


def test_text_is_what_the_command_prints(tmp_path: Path) -> None:
    found = measured(tmp_path)

    lines = str(found).splitlines()

    assert lines[0].startswith("# lanewise 0.1.0: scatter, 4 ranks")
    assert [line.split()[0] for line in lines if line[:1].isdigit()] == ["8", "64", "512"] * 2


def test_a_figure_has_a_panel_for_each_operation_and_a_curve_for_each_run(tmp_path: Path) -> None:
    first, second = measured(tmp_path), measured(tmp_path, "second.jsonl", seed=2)

    figure = first.plot(second, labels=("before", "after"))

    assert [panel.get_title(loc="left") for panel in figure.axes] == ["scatter", "bcast"]
    lines = figure.axes[0].lines
    assert [line.get_label() for line in lines] == ["before", "after"]
    assert np.asarray(lines[1].get_ydata()).tolist() == second["scatter"].median_s.tolist()
    with pytest.raises(RequestError, match="1 labels for 2 measurements"):
        first.plot(second, labels=("before",))


def test_a_figure_says_which_panels_are_of_a_single_launch(tmp_path: Path) -> None:
    several = measured(tmp_path)
    single = measured(tmp_path, "single.jsonl", launches=1)

    def titles(figure: Any) -> list[str]:
        return [panel.get_title(loc="left") for panel in figure.axes]

    assert titles(single.plot()) == ["scatter (1 launch)", "bcast (1 launch)"]
    assert titles(several.plot(single, labels=("a", "b")))[0] == "scatter (partly 1 launch)"
    assert titles(several.compare(single).plot())[0] == "scatter (1 launch)"


def test_a_notebook_shows_a_figure_without_pyplot(tmp_path: Path) -> None:
    data, size = measured(tmp_path).plot()._repr_png_()  # type: ignore[attr-defined]

    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert abs(width - 2 * size["width"]) <= 1
    assert abs(height - 2 * size["height"]) <= 1


def test_a_comparison_has_the_ratios_of_the_second_to_the_first(tmp_path: Path) -> None:
    first = measured(tmp_path)
    second = measured(tmp_path, "second.jsonl", seed=7, slowdown=1.5)

    found = first.compare(second)

    assert found.operation == ("scatter",) * 3 + ("bcast",) * 3
    assert found.message_bytes.tolist() == [*SIZES_BYTES] * 2
    assert np.allclose(found.ratio, second.median_s / first.median_s)
    assert np.all((found.low < found.ratio) & (found.ratio < found.high))
    assert np.all(found.p_value < 0.01)
    assert set(found.overall) == {"scatter", "bcast"}
    assert math.isclose(found.overall["scatter"], np.exp(np.log(found.ratio[:3]).mean()))
    assert found.frame.ratio.tolist() == found.ratio.tolist()
    assert first.compare(tmp_path / "second.jsonl").ratio.tolist() == found.ratio.tolist()


def test_a_comparison_is_shown_as_text_as_a_table_and_as_a_figure(tmp_path: Path) -> None:
    found = measured(tmp_path).compare(measured(tmp_path, "second.jsonl", slowdown=2), 0.9)

    assert re.search(r"^scatter 8 B +1\.\d+ µs +[23]\.\d+ µs +2\.\d+", str(found), re.MULTILINE)
    assert "90 % interval" in found._repr_html_()
    assert "scatter: geometric mean 2.0" in found._repr_html_()
    curve = found.plot().axes[0].lines[1]
    assert np.asarray(curve.get_ydata()).tolist() == found.ratio[:3].tolist()


def test_measurements_without_a_common_point_are_not_compared(tmp_path: Path) -> None:
    first = measured(tmp_path, operations=("scatter",))
    second = measured(tmp_path, "second.jsonl", operations=("gather",))

    with pytest.raises(RequestError, match="no point in common"):
        first.compare(second)


def test_errors_and_modules_are_there_once_lanewise_is_imported() -> None:
    code = "import lanewise; print(lanewise.errors.RequestError.exit_status, *dir(lanewise))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    status, *names = done.stdout.split()
    assert status == "2"
    assert {"errors", "rdma", "wavefront", "measure"} <= set(names)


def test_importing_lanewise_loads_no_library_that_is_slow_to_load() -> None:
    code = "import sys, lanewise; lanewise.PARTS; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    slow = {"numpy", "pandas", "scipy", "matplotlib", "typer", "mpi4py"}
    assert slow & set(done.stdout.split()) == set()
