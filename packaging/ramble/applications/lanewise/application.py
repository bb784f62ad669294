# SPDX-License-Identifier: BSD-3-Clause
"""Ramble application: measurements of Lanewise, and its gate against a baseline.

    ramble repo add packaging/ramble
    ramble workspace create -d measured -c packaging/ramble/example-workspace.yaml
    ramble -D measured workspace setup
    ramble -D measured on
    ramble -D measured workspace analyze

An experiment measures one operation, on `n_ranks` ranks that Lanewise starts itself.  Ramble keeps
the median and its interval of each size, and of a gate the least slowdown that would have been
seen.  An experiment succeeds where the command ends with status 0.
"""

from ramble.appkit import *


class Lanewise(ExecutableApplication):
    """Measure, tune and fault-test the communication of parallel programs, on a laptop or a
    cluster."""

    name = "lanewise"

    tags("synthetic-benchmarks", "mpi")

    executable(
        "measure",
        "lanewise measure {operation} -n {n_ranks} --sizes {sizes} --launches {launches}"
        " -o {experiment_run_dir}/samples.jsonl {options}",
        use_mpi=False,
    )
    executable(
        "gate",
        "lanewise gate {operation} -n {n_ranks} --sizes {sizes} --launches {gate_launches}"
        " --gate {gate} --baseline {baseline} --junit {experiment_run_dir}/gate.xml"
        " --folder {experiment_run_dir}/launches {options} -- {candidate}",
        use_mpi=False,
    )
    executable("status", 'echo "lanewise ended with status $?"', use_mpi=False)

    workload("measure", executables=["measure", "status"])
    workload("gate", executables=["gate", "status"])

    workload_variable(
        "operation",
        default="bcast",
        description="What to measure; lanewise measure --list names what there is",
        workloads=["measure", "gate"],
    )
    workload_variable(
        "sizes",
        default="8,1K,64K",
        description="Message sizes, such as 1:1M:x4",
        workloads=["measure", "gate"],
    )
    workload_variable(
        "options",
        default="",
        description="Further options, such as --launcher srun",
        workloads=["measure", "gate"],
    )
    workload_variable(
        "launches",
        default="5",
        description="How often the ranks are started",
        workloads=["measure"],
    )
    workload_variable(
        "baseline",
        default="{workspace_root}/baseline.jsonl",
        description="The base.jsonl that lanewise gate --folder has kept",
        workloads=["gate"],
    )
    workload_variable(
        "candidate",
        default="",
        description="What differs: assignments, options of measure or a command",
        workloads=["gate"],
    )
    workload_variable(
        "gate", default="5%", description="Largest slowdown that passes", workloads=["gate"]
    )
    workload_variable(
        "gate_launches",
        default="10:40",
        description="Launches of the candidate, MIN:MAX",
        workloads=["gate"],
    )

    point = (
        r"^(?P<message_bytes>\d+) +(?P<median>[\d.]+) +(?P<low>[\d.]+) +(?P<high>[\d.]+)"
        r" +(?P<repetitions>\d+)$"
    )
    figure_of_merit_context("message_bytes", regex=point, output_format="{message_bytes} B")
    figure_of_merit("median", fom_regex=point, group_name="median", units="us",
                    contexts=["message_bytes"])  # fmt: skip
    figure_of_merit("low", fom_regex=point, group_name="low", units="us",
                    contexts=["message_bytes"])  # fmt: skip
    figure_of_merit("high", fom_regex=point, group_name="high", units="us",
                    contexts=["message_bytes"])  # fmt: skip
    figure_of_merit(
        "least_visible",
        fom_regex=r"^passed: .*could not have seen less than (?P<slowdown>\S+) %",
        group_name="slowdown",
        units="%",
    )

    success_criteria("status", mode="string", match=r"^lanewise ended with status 0$")
