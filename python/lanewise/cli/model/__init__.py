# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model`: fitted communication models, predictions, and the algorithms they price."""

from __future__ import annotations

import typer

from lanewise.cli.example import ExampleTyper
from lanewise.cli.model import algorithms, fit, guidelines, predict


def register(app: typer.Typer) -> None:
    """Add the group `model` to `app`."""
    group = ExampleTyper(name="model")

    @group.callback()
    def model() -> None:
        """$ lanewise model fit --measure -n 4 -o platform.json

        Fit communication models and predict collectives.
        """

    for part in (fit, predict, algorithms, guidelines):
        part.register(group)
    app.add_typer(group, name="model")
