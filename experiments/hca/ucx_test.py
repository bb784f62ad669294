# SPDX-License-Identifier: BSD-3-Clause
"""The ratios of the transports, from what was measured on each."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.hca.ucx import MTUS_BYTES, SAME_HOST, ratios_of

TIMES = ("latency_us", "mpi_latency_us", "allreduce_64KiB_us")
BANDWIDTHS = ("bandwidth_64KiB_gbps", "bandwidth_1MiB_gbps")


def measured(device: Mapping[str, float]) -> dict[str, float]:
    """Return values of 10 everywhere, but for those of the device in some places."""
    places = [*(f"mtu_{mtu}" for mtu in MTUS_BYTES), SAME_HOST]
    transports = ("device", "tcp", "shm")
    values = {
        f"{what}/{transport}/{place}": 10.0
        for what in (*TIMES, *BANDWIDTHS) for transport in transports for place in places
    }  # fmt: skip
    for what in (*TIMES, *BANDWIDTHS):
        values |= {f"{what}/device/{place}": value for place, value in device.items()}
    return values


def test_the_mtu_at_which_the_device_is_worse_against_tcp_counts() -> None:
    ratios = ratios_of(measured({"mtu_1500": 20.0, "mtu_9000": 5.0}))

    assert ratios["latency_ratio_veth_mtu_1500"] == 2.0
    assert ratios["latency_ratio_veth_mtu_9000"] == 0.5
    assert ratios["latency_ratio_veth"] == 2.0
    assert ratios["mpi_latency_ratio"] == 2.0
    assert ratios["allreduce_64KiB_ratio"] == 2.0
    assert ratios["bandwidth_ratio_64KiB"] == 0.5
    assert ratios["bandwidth_ratio_1MiB"] == 0.5


def test_inside_one_host_the_device_is_compared_with_the_shared_memory_of_ucx() -> None:
    ratios = ratios_of(measured({SAME_HOST: 40.0}))

    assert ratios["latency_over_ucx_shm"] == 4.0
    assert ratios["bandwidth_1MiB_over_ucx_shm"] == 4.0
    assert ratios["latency_ratio_veth"] == 1.0
