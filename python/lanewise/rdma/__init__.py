# SPDX-License-Identifier: BSD-3-Clause
"""RDMA: verbs programs on the software device, from Python, and what becomes of them in faults.

    with lanewise.rdma.start(["ib_send_lat"]) as server:
        server.wait_until_listening(18515)
        client = lanewise.rdma.run(["ib_send_lat", "127.0.0.1"], faults="faults.toml")
    client.status, client.stdout, client.faults

`lanewise.rdma.testbed` has hosts whose cables can be pulled.
"""

from lanewise.hca.protect import Protection
from lanewise.hca.status import ask as status
from lanewise.rdma.hosts import Hosts, testbed
from lanewise.rdma.lab import Lab
from lanewise.rdma.program import Outcome, Program, run, start

__all__ = ["Hosts", "Lab", "Outcome", "Program", "Protection", "run", "start", "status", "testbed"]
