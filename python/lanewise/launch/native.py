# SPDX-License-Identifier: BSD-3-Clause
"""Find the native programs: one build for each MPI, each with its lanewise-build.json.

The programs of a build are one file, lanewise-native, with a subcommand for each; a link such as
lanewise-measure stands for `lanewise-native measure`.  Only this module knows of that.

Looked for in the folder that LANEWISE_NATIVE names (and nowhere else where it is set), then in the
build folders of the source tree where this package is part of one, then below libexec of the prefix
that it is installed into, and of Python's own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import lanewise
from lanewise.errors import RequestError
from lanewise.launch.job import Launcher

PACKAGE = Path(lanewise.__file__).resolve().parent
MANIFEST = "lanewise-build.json"
MANIFEST_KEYS = ("mpi", "mpi_version", "build_type", "sanitize", "version", "bin", "lib")
NATIVE = "lanewise-native"
MEASURE = "lanewise-measure"
TUNE = "lanewise-tune"
CHECK = "lanewise-check"
PROVE = "lanewise-prove"
PRESETS = {"openmpi": "release", "mpich": "mpich", "smpi": "smpi"}
BUILD_TYPES = ("Release", "RelWithDebInfo", "MinSizeRel", "Debug")
# Others, such as the None of Debian, come with flags of their own.
UNOPTIMISED = ("", "debug")


@dataclass(frozen=True)
class NativeBuild:
    """One build of the native programs, with the MPI family and version it was built for."""

    folder: Path
    mpi: str
    mpi_version: str
    build_type: str
    sanitize: str
    version: str
    programs: Path
    libraries: Path

    def library(self, name: str) -> Path:
        """Return the path of a native library; RequestError where it is not there."""
        path = self.libraries / name
        if not path.is_file():
            raise RequestError(f"{path} is missing; build it with: {build_command()}")
        return path

    def program(self, name: str) -> Path:
        """Return the path of a native program; RequestError where it is not there."""
        path = self.programs / name
        if not path.is_file():
            raise RequestError(f"{path} is missing; build it with: {build_command()}")
        return path

    def command(self, name: str) -> tuple[str, ...]:
        """Return the words that start a native program, without the help of its link."""
        self.program(name)
        return str(self.program(NATIVE)), name.removeprefix("lanewise-")


def read_build(manifest: Path) -> NativeBuild:
    """Read one lanewise-build.json; RequestError where it is damaged."""
    try:
        values = {"sanitize": "", **json.loads(manifest.read_text(encoding="utf-8"))}
        if not all(isinstance(values[key], str) for key in MANIFEST_KEYS):
            raise TypeError("a value is not text")
        return NativeBuild(
            folder=manifest.parent,
            mpi=values["mpi"],
            mpi_version=values["mpi_version"],
            build_type=values["build_type"],
            sanitize=values["sanitize"],
            version=values["version"],
            programs=manifest.parent / values["bin"],
            libraries=manifest.parent / values["lib"],
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RequestError(
            f"{manifest} cannot be used ({error!r}); build it again: {build_command()}"
        ) from None


def manifests(environment: Mapping[str, str]) -> list[Path]:
    """Return the manifests that exist, those that win first."""
    chosen = environment.get("LANEWISE_NATIVE")
    if chosen:
        path = Path(chosen) / MANIFEST
        if not path.is_file():
            raise RequestError(f"LANEWISE_NATIVE={chosen} has no {MANIFEST}; name a build folder")
        # Ranks may start in another folder than this process.
        return [path.absolute()]
    tree = source_tree()
    built = sorted(tree.glob(f"build/*/{MANIFEST}")) if tree else []
    # Prefix, user scheme, --target, Debian's /usr/local: pip puts libexec above the package.
    prefixes = dict.fromkeys([*PACKAGE.parents, Path(sys.prefix).resolve()])
    installed = [
        path
        for prefix in prefixes
        for path in sorted(prefix.glob(f"libexec/lanewise/*/{MANIFEST}"))
    ]
    return built + installed


def find_builds(environment: Mapping[str, str]) -> list[NativeBuild]:
    """Return every native build: those of the preset made for their MPI, then optimised, first.

    A folder that is configured and not built yet has a manifest and no program: it is left out.
    """
    builds = [read_build(manifest) for manifest in manifests(environment)]
    built = [build for build in builds if (build.programs / MEASURE).is_file()]
    return sorted(built, key=preference)


def find_program(name: str, environment: Mapping[str, str]) -> Path:
    """Return a native program that needs no MPI, from the build that wins; or RequestError."""
    for build in find_builds(environment):
        path = build.programs / name
        if path.is_file():
            return path
    raise RequestError(f"{name} is not built; {how_to_get(environment)}")


def find_library(name: str, environment: Mapping[str, str], mpi: str = "") -> Path:
    """Return a shared library that programs link, from the build that wins; or RequestError.

    With `mpi` it is of a build for that MPI family.
    """
    for build in find_builds(environment):
        if mpi and build.mpi != mpi:
            continue
        folder = build.folder.resolve()
        above = (folder, *folder.parents[1:3])
        for path in [lib / name for prefix in above for lib in library_folders(prefix)]:
            if path.is_file():
                return path
    raise RequestError(f"{name} is not built; {how_to_get(environment, mpi)}")


def library_folders(prefix: Path) -> list[Path]:
    """Return where libraries are below a prefix; packages of Debian have them by architecture."""
    return [prefix / "lib", prefix / "lib64", *sorted(prefix.glob("lib/*-linux-gnu*"))]


def preference(build: NativeBuild) -> tuple[int, int, int]:
    """Return the place of a build among those of its MPI; the lowest is used.

    A build with a sanitizer measures the sanitizer, so it comes last.
    """
    kinds = BUILD_TYPES
    kind = kinds.index(build.build_type) if build.build_type in kinds else len(kinds)
    own_preset = build.folder.name == PRESETS.get(build.mpi)
    return (1 if build.sanitize else 0, 0 if own_preset else 1, kind)


def cautions(build: NativeBuild) -> list[str]:
    """Return one sentence for each thing about a build that makes its use or its times worse."""
    programs = f"the native programs in {build.folder}"
    found = []
    if build.build_type.lower() in UNOPTIMISED:
        kind = (
            f"with the build type {build.build_type}"
            if build.build_type
            else "without a build type"
        )
        found.append(
            f"{programs} are built {kind}, so they are not optimised and times are longer; "
            "build them with CMAKE_BUILD_TYPE=Release"
        )
    if build.version != lanewise.__version__:
        found.append(
            f"{programs} are of Lanewise {build.version}, and the command is of "
            f"{lanewise.__version__}; install both from one version"
        )
    return found


def build_for(launcher: Launcher, builds: Iterable[NativeBuild]) -> NativeBuild | None:
    """Return the build that `launcher` would launch, None where there is none."""
    builds = list(builds)
    for mpi in launcher.mpis:
        for build in builds:
            if build.mpi == mpi:
                return build
    return None


def source_tree() -> Path | None:
    """Return the root of the source tree that this package is part of, None where it is not."""
    root = PACKAGE.parents[1]
    return root if (root / "Makefile").is_file() and PACKAGE.parent.name == "python" else None


def how_to_get(environment: Mapping[str, str], mpi: str = "") -> str:
    """Return how to get what no build has, for the MPI family if one is named."""
    return name_another(environment, mpi) or f"build it with: {build_command(mpi)}"


def name_another(environment: Mapping[str, str], mpi: str = "") -> str:
    """Return what to do about LANEWISE_NATIVE, which hides all other builds; empty without it."""
    chosen = environment.get("LANEWISE_NATIVE")
    if not chosen:
        return ""
    other = f"a build for {mpi}" if mpi else "another build"
    return f"unset LANEWISE_NATIVE, which is {chosen}, or set it to {other}"


def build_command(mpi: str = "") -> str:
    """Return the line that builds the native programs, for the MPI family if one is named."""
    if source_tree():
        return f"make build MPI={mpi}" if mpi else "make build"
    if mpi == "smpi":
        return "make build MPI=smpi, in the source tree of Lanewise"
    chosen = f" --config-settings=cmake.define.LANEWISE_MPI={mpi}" if mpi else ""
    return f"pip install .{chosen}, in the source tree of Lanewise"
