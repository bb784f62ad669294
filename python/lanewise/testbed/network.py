# SPDX-License-Identifier: BSD-3-Clause
"""The network of a testbed, built with pyroute2: namespaces, bridges, wires, rates and routes.

A netlink socket belongs to the network namespace in which it was opened, so one socket for each
namespace is opened while this process is there, and stays of use after it has gone on.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from lanewise.errors import RunError
from lanewise.testbed import buckets, namespaces, neighbours, requests
from lanewise.testbed.impairments import for_delay_line
from lanewise.testbed.plan import DelayLine, End, Namespace, Plan, SlowWire

_TUN_QUEUE_PACKETS = 5000


def refused(step: str, error: OSError) -> RunError:
    """Return the error about a step that the kernel did not take."""
    return RunError(f"the kernel refuses {step}: {os.strerror(error.errno or 0)}")


class Network:
    """The namespaces of a testbed, and a netlink socket into each."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.sockets: dict[str, IPRoute] = {}
        self._plain: dict[str, socket.socket] = {}  # for what pyroute2 cannot do
        self.lines: dict[str, subprocess.Popen[str]] = {}
        self._indices: dict[End, int] = {}
        self._ports: dict[End, End] = {}
        self._slow: dict[End, tuple[str, str]] = {}  # the delay line of an interface, and its wire

    def make(self, plan: Plan, delay_line: Path) -> None:
        """Make all that is in `plan`; raises RunError with what the kernel refused."""
        for namespace in plan.namespaces:
            self.enter_new(namespace)
        self.make_devices(plan, delay_line)
        for address in plan.addresses:
            where, _, length = address.address.partition("/")
            self.do(address.end, "addr", "add", address=where, prefixlen=int(length))
        self.shape(plan)
        self.route(plan)

    def enter_new(self, namespace: Namespace) -> None:
        """Make a network namespace with a host name, and keep it by a file."""
        namespaces.unshare(namespaces.CLONE_NEWNET | namespaces.CLONE_NEWUTS, "a network namespace")
        socket.sethostname(namespace.name)
        for kind in ("net", "uts"):
            file = self.state / kind / namespace.name
            file.touch()
            namespaces.bind(Path(f"/proc/self/ns/{kind}"), file)
        for key, value in namespace.settings:
            path = Path("/proc/sys") / key.replace(".", "/")
            try:
                path.write_text(value, encoding="ascii")
            except FileNotFoundError:
                continue  # a kernel without IPv6 has nothing to switch off
            except OSError as error:
                raise RunError(f"{key} = {value} is refused: {error.strerror}") from None
        netlink = IPRoute()
        self.sockets[namespace.name] = netlink
        self._plain[namespace.name] = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE
        )
        netlink.link("set", index=1, state="up")

    def make_devices(self, plan: Plan, delay_line: Path) -> None:
        """Make bridges, wires and the ends of links, then set them up."""
        for switch in plan.bridges:
            self.call(switch.namespace, "link", "add", ifname=switch.device, kind="bridge")
        for wire in plan.wires:
            self.add_wire(wire.host, wire.port)
        for line in plan.delay_lines:
            self.start_line(line, delay_line)
        for switch in plan.bridges:
            self.set_up(switch, "")
        for wire in plan.wires:
            self.set_up(wire.host, "")
            self.set_up(wire.port, wire.bridge)
            self._ports[wire.host] = wire.port
            self.ask_soon_again(wire.host)
        for line in plan.delay_lines:
            for slow in line.wires:
                self.set_up_slow(line, slow)

    def set_up_slow(self, line: DelayLine, slow: SlowWire) -> None:
        """Switch the ends of a slow wire on, and note who can plug it out."""
        for end, bridge in zip(slow.ends, ("", slow.bridge), strict=True):
            self.do(end, "link", "set", txqlen=_TUN_QUEUE_PACKETS)
            self.set_up(end, bridge)
        if slow.bridge:
            self._slow[slow.ends[0]] = (line.name, slow.name)
            self.ask_soon_again(slow.ends[0])

    def ask_soon_again(self, end: End) -> None:
        """Let a host ask soon again for an address that a switch has lost the question for."""
        try:
            neighbours.ask_soon_again(self._plain[end.namespace], self.index(end))
        except OSError as error:
            step = f"to change {error.strerror} of {end.device} in {end.namespace}"
            raise refused(step, error) from None

    def add_wire(self, host: End, port: End) -> None:
        """Make a veth pair with one end in each namespace."""
        with self.netns(host.namespace).open() as there:
            peer = {"ifname": host.device, "net_ns_fd": there.fileno()}
            self.call(port.namespace, "link", "add", ifname=port.device, kind="veth", peer=peer)

    def set_up(self, end: End, bridge: str) -> None:
        """Switch a device on, on a bridge where one is named."""
        named: dict[str, Any] = {"state": "up"}
        if bridge:
            named["master"] = self.index(End(end.namespace, bridge))
        self.do(end, "link", "set", **named)

    def start_line(self, line: DelayLine, program: Path) -> None:
        """Start the process that carries slow wires, and wait until it has made its devices."""
        file = self.state / f"{line.name}.json"
        file.write_text(json.dumps(self.configuration(line)), encoding="utf-8")
        process = subprocess.Popen(
            [str(program), str(file)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        self.lines[line.name] = process
        if process.stdout.readline() != "ready\n":
            said = process.stderr.read().strip().removeprefix(f"{program.name}: ")
            raise RunError(f"the delay line of {line.name} did not start: {said}")

    def configuration(self, line: DelayLine) -> dict[str, object]:
        """Return what the delay line reads."""
        links = [
            {
                "name": wire.name,
                "kind": wire.kind,
                "seed": wire.seed,
                "ends": [
                    {"namespace": str(self.netns(end.namespace)), "device": end.device}
                    for end in wire.ends
                ],
                "settings": for_delay_line(dict(wire.settings)),
            }
            for wire in line.wires
        ]
        return {"control": str(self.state / f"{line.name}.line"), "links": links}

    def shape(self, plan: Plan) -> None:
        """Limit the rates of devices."""
        for shape in plan.shapes:
            end, bytes_per_s = shape.end, int(shape.rate_bits_per_s / 8)
            try:
                buckets.limit_rate(
                    self._plain[end.namespace], self.index(end), bytes_per_s,
                    shape.burst_bytes, shape.queue_bytes,
                )  # fmt: skip
            except OSError as error:
                step = f"to limit {end.device} in {end.namespace} to {bytes_per_s} bytes/s"
                raise refused(step, error) from None

    def route(self, plan: Plan) -> None:
        """Lead packets to their subnets."""
        for route in plan.routes:
            named: dict[str, Any] = {"dst": route.subnet, "oif": self.index(route.end)}
            if route.source:
                named["prefsrc"] = route.source
            if route.gateway:
                # The gateway's subnet is that of another device, so the kernel is told.
                named.update(gateway=route.gateway, flags="onlink")
            else:
                named["scope"] = "link"
            if route.congestion:
                named["metrics"] = {"cc_algo": route.congestion}
            self.call(route.end.namespace, "route", "replace", **named)

    def plug(self, interface: End, *, up: bool) -> None:
        """Plug the cable of a host's interface in or out; RunError where there is no such one.

        The far end is what a cable or a switch is: without it a host sees its carrier go.
        """
        if interface in self._slow:
            line, wire = self._slow[interface]
            change = {"link": wire, "settings": {"up": up}}
            requests.ask(self.state / f"{line}.line", line, change)
        elif interface in self._ports:
            self.do(self._ports[interface], "link", "set", state="up" if up else "down")
        else:
            raise RunError(f"there is no interface {interface.device} on {interface.namespace}")

    def do(self, end: End, what: str, verb: str, *words: str, **named: Any) -> None:
        """Call pyroute2's `what` for a device."""
        self.call(end.namespace, what, verb, *words, index=self.index(end), **named)

    def call(self, namespace: str, what: str, verb: str, *words: str, **named: Any) -> None:
        """Call pyroute2's `what` in a namespace; RunError names the step that is refused."""
        try:
            getattr(self.sockets[namespace], what)(verb, *words, **named)
        except NetlinkError as error:
            values = ", ".join(f"{key} {value}" for key, value in named.items())
            step = f"{what} {verb} {values} in {namespace}"
            raise RunError(f"the kernel refuses {step}: {error.args[-1]}") from None

    def index(self, end: End) -> int:
        """Return the number of a device; RunError where there is none."""
        if end not in self._indices:
            for link in self.sockets[end.namespace].get_links():
                named = End(end.namespace, link.get_attr("IFLA_IFNAME"))
                self._indices[named] = link["index"]
        if end not in self._indices:
            raise RunError(f"{end.namespace} has no interface {end.device}")
        return self._indices[end]

    def netns(self, name: str) -> Path:
        """Return the file of a network namespace."""
        return self.state / "net" / name
