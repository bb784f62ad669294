# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame check: communication is not slower than a baseline, by `lanewise gate`.

Copy this file beside your checks and set the variables on the command line or in a subclass:

    reframe -c lanewise_gate.py -r -S baseline=/site/baseline.jsonl -S ranks=64

`lanewise gate --folder kept` writes such a baseline; a relative path counts from where reframe is
called.  The check fails where the gate alarms or comes to no verdict, and ReFrame keeps the least
slowdown that would have been seen as the performance variable `least_visible`, in per cent.
"""

import shlex
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, variable


@rfm.simple_test
class LanewiseGate(rfm.RunOnlyRegressionTest):
    """Launch the candidate and compare it with the launches of a baseline."""

    descr = "communication is not slower than the baseline"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "lanewise"
    local = True

    baseline = variable(str, value="baseline.jsonl")
    operations = variable(str, value="pingpong bcast allreduce")
    sizes = variable(str, value="8,1K,64K")
    ranks = variable(int, value=2)
    gate = variable(str, value="5%")
    launches = variable(str, value="10:40")

    @run_before("run")
    def set_options(self):
        """Make the command line; the check itself runs in a folder of its own."""
        baseline = Path(self.baseline).absolute()
        self.executable_opts = [
            "gate", *self.operations.split(), "-n", str(self.ranks), "--sizes", self.sizes,
            "--gate", self.gate, "--launches", self.launches,
            "--baseline", shlex.quote(str(baseline)),
            "--junit", "gate.xml", "--folder", "launches",
        ]  # fmt: skip

    @sanity_function
    def passed(self):
        """Pass where the gate did; say whether it alarmed or came to no verdict."""
        told = "lanewise gate came to no verdict; its standard error says why"
        return sn.all([
            sn.assert_found(r"^(passed: |slower by more than )", self.stdout, msg=told),
            sn.assert_found(r"^passed: ", self.stdout, msg="the candidate is slower"),
        ])  # fmt: skip

    @performance_function("%")
    def least_visible(self):
        """Return the slowdown that would have been seen in any operation."""
        pattern = r"^passed: .*could not have seen less than (\S+) %"
        return sn.extractsingle(pattern, self.stdout, 1, float)
