# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe for the libraries and native programs; docs/install.md has the steps."""

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Lanewise(CMakePackage):
    """Measure, tune and fault-test the communication of parallel programs, on a laptop or a
    cluster."""

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3.1:")
    depends_on("nlohmann-json@3.9:")
    depends_on("cli11@2:")
    depends_on("fmt@9:")
    depends_on("boost@1.71:+math")
    depends_on("liburing@2:")
    depends_on("rdma-core")
    depends_on("xxhash@0.8:")
    depends_on("googletest@1.12:+gmock", type="test")

    conflicts("%gcc@:11", msg="Lanewise is written in C++20")
    conflicts("%clang@:13", msg="Lanewise is written in C++20")

    generator("ninja")

    def cmake_args(self):
        """Return the options; the MPI is the one that Spack chose, whichever it is."""
        return [
            self.define("LANEWISE_MPI", "auto"),
            self.define("LANEWISE_TESTS", self.run_tests),
            self.define("LANEWISE_BENCHMARKS", False),
            self.define("LANEWISE_EXPERIMENTS", False),
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
        ]
