# SPDX-License-Identifier: BSD-3-Clause
"""Requests to the supervisor of a testbed and to its delay lines: one packet of JSON each way."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from lanewise.errors import RunError

_ANSWER_S = 5.0
_ANSWER_MAX = 2**20


def ask(path: Path, who: str, request: dict[str, Any]) -> dict[str, Any]:
    """Send a request to the socket of `who`; RunError with its refusal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.settimeout(_ANSWER_S)
        try:
            link.connect(str(path))
            link.send(json.dumps(request).encode())
            answer = json.loads(link.recv(_ANSWER_MAX))
        except (OSError, ValueError) as error:
            raise RunError(f"{who} does not answer: {error}") from None
    if "error" in answer:
        raise RunError(str(answer["error"]))
    return dict(answer)
