# SPDX-License-Identifier: BSD-3-Clause
"""What Python copies by hand from the public headers is what they have."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any

import pytest
import structures
import tree

from lanewise.measurement import library as measurement
from lanewise.wavefront import kernel
from lanewise.wavefront import library as wavefront

Plant = Callable[[dict[str, str]], Path]
Fields = Sequence[tuple[str, Any]]

HEADER = """
typedef enum lw_kind { LW_KIND_NEW, LW_KIND_OLD = 4, /* , */ LW_KIND_LAST } lw_kind;
typedef struct lw_inner { int a; } lw_inner;
typedef void (*lw_report_fn)(void *context, lw_kind kind, const lw_inner *inner,
                             const char *sentence);
typedef struct lw_case {
    uint32_t struct_size; /* of this; */
    lw_kind kind;
    const char *name;
    uint64_t low;
    uint64_t high;
    lw_report_fn report;
    void *context;
    lw_inner inner;
} lw_case;
"""


class Inner(Structure):
    """lw_inner."""

    _fields_ = (("a", c_int),)


ARGUMENTS = (c_void_p, c_int, POINTER(Inner), c_char_p)


def callback(result: Any, *arguments: Any) -> tuple[str, Any]:
    """Return the member `report` with this result and these arguments."""
    return "report", CFUNCTYPE(result, *arguments)


FIELDS = (
    ("struct_size", c_uint32),
    ("kind", c_int),
    ("name", c_char_p),
    ("low", c_uint64),
    ("high", c_uint64),
    callback(None, *ARGUMENTS),
    ("context", c_void_p),
    ("inner", Inner),
)


def copy_of(fields: Fields) -> type[Structure]:
    """Return a copy of `lw_case` with these members."""
    return type("Case", (Structure,), {"__doc__": "lw_case.", "_fields_": fields})


def copies() -> list[type[Structure]]:
    """Return the classes of ctypes that the product declares."""
    return [
        getattr(importlib.import_module(module), name)
        for module, name in structures.declared_copies(tree.ROOT)
    ]


@pytest.mark.parametrize("copy", copies(), ids=lambda copy: copy.__name__)
def test_a_copy_has_the_members_of_the_header(copy: type[Structure]) -> None:
    offences = structures.copy_offences(tree.ROOT, copy)

    assert not offences, "\n".join(offences)


def test_all_copies_are_found() -> None:
    assert {measurement.Options, wavefront.RunPlan} < set(copies())


def named(prefix: str, values: dict[str, int]) -> dict[str, int]:
    """Return the values by their names without the prefix, as Python has them."""
    return {name.removeprefix(prefix).lower(): value for name, value in values.items()}


def test_the_values_of_a_measurement_are_those_of_the_header() -> None:
    enumerations = structures.enumerations(tree.ROOT)

    clocks = named("LW_CLOCK_", enumerations["lw_clock"])
    stops = named("LW_STOP_", enumerations["lw_stop"])
    assert clocks.items() > measurement.CLOCKS.items()
    assert named("LW_RULE_", enumerations["lw_rule"]) == measurement.RULES
    assert stops == {name: value for value, name in enumerate(measurement.STOPPED)}
    assert named("LW_PAGES_", enumerations["lw_pages"])["huge"] == 1
    assert named("LW_CACHES_", enumerations["lw_caches"])["cold"] == 1


def test_the_elements_of_a_store_are_those_of_the_header() -> None:
    values = named("LW_ELEMENT_", structures.enumerations(tree.ROOT)["lw_element"])
    kinds = {"f": "float", "c": "complex", "i": "int"}

    assert {kinds[name[0]] + name[1:]: value for name, value in values.items()} == {
        name: value for value, name in enumerate(wavefront.ELEMENTS)
    }


def test_a_kernel_that_reads_what_was_before_says_so_as_the_header_does() -> None:
    reads = structures.enumerations(tree.ROOT)["lw_reads"]

    assert reads == {"LW_READS_UPDATED": 0, "LW_READS_PREVIOUS": 1}


def test_the_plane_that_numba_reads_has_the_members_of_the_header() -> None:
    pytest.importorskip("numba", reason="install numba for kernels in Python")
    plane = kernel.plane_signature().args[3].dtype

    assert [(name, f"{field.type}_t") for name, field in plane.fields.items()] == (
        structures.structures(tree.ROOT)["lw_wavefront_plane"]
    )


def test_a_true_copy_is_no_offence(plant: Plant) -> None:
    assert structures.copy_offences(plant({"include/lanewise/a.h": HEADER}), copy_of(FIELDS)) == []


def test_a_callback_may_be_copied_as_an_address(plant: Plant) -> None:
    root = plant({"include/lanewise/a.h": HEADER})
    fields = (*FIELDS[:5], ("report", c_void_p), *FIELDS[6:])

    assert structures.copy_offences(root, copy_of(fields)) == []


@pytest.mark.parametrize("member", ["int lanes[4];", "int low, high;", "int wide : 3;"])
def test_a_member_that_is_no_type_and_name_is_not_passed_over(plant: Plant, member: str) -> None:
    header = f"typedef struct lw_case {{ int a; {member} }} lw_case;"

    with pytest.raises(ValueError, match="reads only members"):
        structures.structures(plant({"include/lanewise/a.h": header}))


@pytest.mark.parametrize("base", ["Structure", "ctypes.Structure"])
def test_a_copy_is_found_however_its_base_is_named(plant: Plant, base: str) -> None:
    text = f"import ctypes\nfrom ctypes import Structure\nclass Case({base}):\n    pass\n"

    found = structures.declared_copies(plant({"python/lanewise/tune/library.py": text}))

    assert found == [("lanewise.tune.library", "Case")]


def test_the_values_of_an_enumeration_are_counted_as_c_counts_them(plant: Plant) -> None:
    root = plant({"include/lanewise/a.h": HEADER})

    assert structures.enumerations(root)["lw_kind"] == {
        "LW_KIND_NEW": 0, "LW_KIND_OLD": 4, "LW_KIND_LAST": 5
    }  # fmt: skip


WRONG = {
    "two members of one type swapped": (*FIELDS[:3], FIELDS[4], FIELDS[3], *FIELDS[5:]),
    "a member left out": FIELDS[:-1],
    "another integer": (*FIELDS[:3], ("low", c_uint32), *FIELDS[4:]),
    "a number for an enumeration": (FIELDS[0], ("kind", c_double), *FIELDS[2:]),
    "a result of a callback": (*FIELDS[:5], callback(c_int, *ARGUMENTS), *FIELDS[6:]),
    "an argument of a callback left out": (
        *FIELDS[:5],
        callback(None, *ARGUMENTS[:3]),
        *FIELDS[6:],
    ),
    "another argument of a callback": (
        *FIELDS[:5],
        callback(None, c_void_p, c_uint64, *ARGUMENTS[2:]),
        *FIELDS[6:],
    ),
    "a pointer to something else": (
        *FIELDS[:5],
        callback(None, *ARGUMENTS[:2], POINTER(c_int), c_char_p),
        *FIELDS[6:],
    ),
    "another structure inside": (*FIELDS[:-1], ("inner", measurement.Buffers)),
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_copy_is_reported(plant: Plant, fields: Fields) -> None:
    root = plant({"include/lanewise/a.h": HEADER})

    (offence,) = structures.copy_offences(root, copy_of(fields))

    assert offence.startswith("Case")
    assert "lw_case" in offence


def test_a_copy_of_no_structure_is_reported(plant: Plant) -> None:
    (offence,) = structures.copy_offences(plant({}), copy_of(FIELDS))

    assert offence == "Case: its docstring, 'lw_case', is no structure in include/lanewise/"
