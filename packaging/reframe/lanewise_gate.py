# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame check: communication is not slower than a baseline, by `lanewise gate`.

Copy this file beside your checks and set the variables on the command line or in a subclass:

    reframe -c lanewise_gate.py -r -S baseline=/site/baseline.jsonl -S ranks=64

`lanewise gate --folder kept` writes such a baseline.  The check fails where the gate alarms, and
ReFrame keeps the least slowdown that would have been seen as the performance variable
`least_visible`, in per cent.
"""

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
        """Make the command line; the path of the baseline is that of the caller."""
        self.executable_opts = [
            "gate", *self.operations.split(), "-n", str(self.ranks), "--sizes", self.sizes,
            "--gate", self.gate, "--launches", self.launches, "--baseline", self.baseline,
            "--junit", "gate.xml", "--folder", "launches",
        ]  # fmt: skip

    @sanity_function
    def passed(self):
        """Pass where the gate did."""
        return sn.assert_found(r"^passed: ", self.stdout, msg="the candidate is slower")

    @performance_function("%")
    def least_visible(self):
        """Return the slowdown that would have been seen in any operation."""
        pattern = r"^passed: .*could not have seen less than (\S+) %"
        return sn.extractsingle(pattern, self.stdout, 1, float)
