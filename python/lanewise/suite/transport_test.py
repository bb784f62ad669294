# SPDX-License-Identifier: BSD-3-Clause
"""Transports: what a file says, what a wrong one is told, and the launch line that follows."""

import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lanewise.errors import RequestError
from lanewise.hca.device import CONNECTION_MANAGER, DEVICE_NODE, LIBRARY
from lanewise.launch.choose import Choice
from lanewise.launch.native import MANIFEST, NativeBuild
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.run_native import line_of
from lanewise.suite.start import Location, Ranks, conditions_of, job_of
from lanewise.suite.transport import FILES, find, find_all, parse, shipped_names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "schema" / "transport.schema.json").read_text(encoding="utf-8")
)
HEAD = 'schema = "lanewise-transport"\nversion = 1\n'
BUILD = NativeBuild(Path(), "openmpi", "", "Release", "", "0", Path("/bin"), Path("/lib"))


def shown(ranks: Ranks, choice: Choice, program: list[str]) -> list[str]:
    """Return the line that starts a program on the ranks of a transport."""
    return line_of(choice, job_of(ranks, choice, program), conditions_of(ranks))


def test_the_transports_of_the_issue_are_shipped() -> None:
    assert set(shipped_names()) >= {
        "openmpi-shm", "openmpi-tcp", "openmpi-ucx-shm", "openmpi-ucx-tcp", "openmpi-ofi-tcp",
        "openmpi-ucx-rc", "mpich-ofi", "mpich-ucx",
    }  # fmt: skip


@pytest.mark.parametrize("name", shipped_names())
def test_a_shipped_transport_follows_the_schema_and_is_read(name: str) -> None:
    Draft202012Validator(SCHEMA).validate(tomllib.loads((FILES / f"{name}.toml").read_text()))

    assert find(name).name == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mpi = ", "own.toml: Invalid value"),
        ('mpi = "openmpi"', "key 'schema' is missing"),
        (HEAD, "key 'mpi' is missing"),
        (
            HEAD.replace("1", "2") + 'mpi = "openmpi"',
            "own.toml:2: version 2 is newer than version 1",
        ),
        (HEAD + 'mpi = "openmpi"\ntitle = 2026-01-01', "'title' is \"2026-01-01\", not a string"),
        (HEAD + 'mpi = "lam"', "own.toml:3: key 'mpi' is \"lam\", none of openmpi, mpich, smpi"),
        (HEAD + 'mpi = "openmpi"\ncolour = "red"', "unknown key 'colour'"),
        (HEAD + 'mpi = "openmpi"\narguments = "-x"', "key 'arguments' is \"-x\", not a list"),
        (
            HEAD + 'mpi = "openmpi"\n[placement]\nbind = "socket"',
            "own.toml:5: key 'placement.bind' is",
        ),
        (HEAD + 'mpi = "openmpi"\n[placement]\ncpus = "0"', "placement: unknown key 'cpus'"),
        (
            HEAD + 'mpi = "openmpi"\n[hca]\nports = []',
            "key 'hca.ports' is [], not a list of 1 to 2",
        ),
        (HEAD + 'mpi = "openmpi"\n[hca]\nports = ["lo"]\nlmc = 1', "hca: unknown key 'lmc'"),
        (HEAD + 'mpi = "mpich"\nlauncher = "openmpi"', "launcher openmpi does not start mpich"),
        (
            HEAD + 'mpi = "openmpi"\nlauncher = "srun"\n[placement]\nbind = "core"',
            "own.toml:6: launcher srun has no option for bind",
        ),
        (HEAD + 'mpi = "openmpi"\n[environment]\nA = [1]', "key 'environment.A' is"),
        (HEAD + 'mpi = "openmpi"\n[environment]\nA = true', "key 'environment.A' is"),
    ],
)
def test_a_wrong_file_is_told_what_and_where(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=r"^own\.toml") as caught:
        parse(text, "own", "own.toml")

    assert said in str(caught.value)


def test_a_name_that_is_nearly_right_gets_a_suggestion() -> None:
    with pytest.raises(RequestError, match="did you mean openmpi-tcp"):
        find("openmpi-tpc")


def test_a_device_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanewise.toml.text.BYTES_MAX", 1 << 20)
    monkeypatch.setattr(Path, "read_text", lambda *_, **_named: pytest.fail("all was read"))

    said = r"^transport /dev/zero cannot be read \(it has more than 1 MiB\); shipped are "
    with pytest.raises(RequestError, match=said):
        find("/dev/zero")


def test_a_file_of_ones_own_is_called_by_its_stem(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + 'mpi = "openmpi"\n', encoding="utf-8")

    assert find(str(path)).name == "mine"


def test_the_environment_reaches_the_ranks_and_binding_is_the_same_everywhere() -> None:
    choice = Choice(LAUNCHERS["openmpi"], "/usr/bin/mpirun", BUILD)

    line = shown(Ranks(find("openmpi-ucx-tcp"), 1), choice, ["prog"])

    assert line[:5] == ["/usr/bin/mpirun", "-x", "UCX_TLS=self,tcp", "-n", "1"]
    assert line[line.index("--bind-to") + 1] == "core"


def test_more_ranks_than_cores_are_bound_to_none() -> None:
    choice = Choice(LAUNCHERS["mpich"], "/usr/bin/mpiexec", BUILD)

    line = shown(Ranks(find("mpich-shm"), 10_000), choice, ["prog"])

    assert line[line.index("-bind-to") + 1] == "none"


def test_ranks_of_hosts_that_share_cores_are_bound_to_none() -> None:
    choice = Choice(LAUNCHERS["openmpi"], "/usr/bin/mpirun", BUILD)
    bed = Location(across_hosts=True, interfaces=("lan0",))
    own = parse(HEAD + 'mpi = "openmpi"\n[placement]\nbind = "core"', "own", "own.toml")

    line = shown(Ranks(find("openmpi-tcp"), 1, bed), choice, ["prog"])

    assert line[line.index("--bind-to") + 1] == "none"
    with pytest.raises(RequestError, match=r'hosts of a testbed share; leave out bind = "core"'):
        shown(Ranks(own, 1, bed), choice, ["prog"])


def test_ranks_of_a_suite_that_runs_in_a_testbed_are_bound_to_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placement = {"testbed": "two", "ranks": [{"rank": 0, "host": "a"}, {"rank": 1, "host": "b"}]}
    (tmp_path / "placement.json").write_text(json.dumps(placement), encoding="ascii")
    monkeypatch.setenv("LANEWISE_PLACEMENT", str(tmp_path / "placement.json"))
    monkeypatch.setenv("LANEWISE_TESTBED_RUN", str(tmp_path))
    choice = Choice(LAUNCHERS["openmpi"], "/usr/bin/mpirun", BUILD)

    line = shown(Ranks(find("openmpi-tcp"), 1), choice, ["prog"])

    assert line[line.index("--bind-to") + 1] == "none"


def test_transports_of_one_name_are_refused_and_none_is_taken_twice(tmp_path: Path) -> None:
    path = tmp_path / "openmpi-tcp.toml"
    path.write_text(HEAD + 'mpi = "openmpi"\n', encoding="utf-8")

    with pytest.raises(RequestError, match=f"openmpi-tcp and {path} have the same name"):
        find_all(["openmpi-shm", "openmpi-tcp", str(path)])
    with pytest.raises(RequestError, match="openmpi-shm is named twice"):
        find_all(["openmpi-shm", "openmpi-shm"])
    assert [one.name for one in find_all(["openmpi-shm", "openmpi-tcp"])] == [
        "openmpi-shm", "openmpi-tcp",
    ]  # fmt: skip


def test_files_that_say_the_same_have_the_same_digest() -> None:
    plain = HEAD + 'mpi = "openmpi"\n'

    digests = [parse(text, "own", "own.toml").digest for text in (
        plain, plain + '# a word\ntitle = "Own"\n', plain + "[environment]\nA = 1\n",
    )]  # fmt: skip

    assert digests[0] == digests[1] != digests[2]


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a build that has the libraries of the device."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in (LIBRARY, CONNECTION_MANAGER, DEVICE_NODE):
        (folder / name).touch()
    values = {"mpi": "openmpi", "mpi_version": "", "build_type": "Release", "version": "0"}
    (tmp_path / MANIFEST).write_text(json.dumps({**values, "bin": "bin", "lib": "lib"}))
    monkeypatch.setenv("LANEWISE_NATIVE", str(tmp_path))
    return folder


def test_a_transport_with_ports_has_the_software_device_on_every_rank(libraries: Path) -> None:
    choice = Choice(LAUNCHERS["openmpi"], "/usr/bin/mpirun", BUILD)

    line = shown(Ranks(find("openmpi-ucx-rc"), 2), choice, ["prog"])

    assert "LANEWISE_HCA_PORTS=lo" in line
    assert any(word.startswith(f"LD_PRELOAD={libraries / LIBRARY}") for word in line)
    assert "UCX_TLS=self,rc_verbs,ud_verbs" in line


def test_on_hosts_the_device_has_their_interface(libraries: Path) -> None:
    assert libraries.is_dir()
    choice = Choice(LAUNCHERS["openmpi"], "/usr/bin/mpirun", BUILD)
    location = Location(across_hosts=True, interfaces=("lan0", "lan1"))

    line = shown(Ranks(find("openmpi-ucx-rc"), 2, location), choice, ["prog"])

    assert "LANEWISE_HCA_PORTS=lan0" in line


def test_an_interface_that_is_not_there_is_named(libraries: Path) -> None:
    assert libraries.is_dir()
    choice = Choice(LAUNCHERS["openmpi"], "/usr/bin/mpirun", BUILD)
    own = parse(HEAD + 'mpi = "openmpi"\n[hca]\nports = ["eth77"]', "own", "own.toml")

    with pytest.raises(RequestError, match="eth77: no such interface"):
        shown(Ranks(own, 2), choice, ["prog"])
