# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of containers as what they do: a base, steps, and the command that a container runs.

Read are those instructions that the recipes use; another one is an error.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

DOCKERFILE = Path("packaging/containers/Dockerfile")
DEFINITION = Path("packaging/containers/lanewise.def")


@dataclass
class Recipe:
    """What a recipe says: `steps` are copies, (source, target), and scripts for a shell.

    `folder` is where the scripts begin, `command` what runs with the words of the caller, `example`
    the words that the head of the file gives to it.
    """

    base: str
    folder: str
    command: list[str]
    example: list[str]
    steps: list[tuple[str, str] | str] = field(default_factory=list)

    @property
    def copies(self) -> list[tuple[str, str]]:
        """What is copied from the tree into the image."""
        return [step for step in self.steps if isinstance(step, tuple)]

    @property
    def scripts(self) -> list[str]:
        """What a shell of the image runs."""
        return [step for step in self.steps if isinstance(step, str)]


def example_in(text: str) -> list[str]:
    """Return the words after the image in the command that the head of a recipe shows."""
    (words,) = re.findall(r"^# +(?:docker|apptainer) run .*?lanewise(?:\.sif)? (.*)$", text, re.M)
    return words.split()


def read_dockerfile(text: str) -> Recipe:
    """Read a Dockerfile; paths of copies are relative to the root of the tree."""
    recipe = Recipe("", "/", [], example_in(text))
    plain = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", "")
    for line in filter(None, plain.splitlines()):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            recipe.base = rest
        elif name == "WORKDIR":
            recipe.folder = rest
        elif name == "COPY":
            source, target = rest.split()
            recipe.steps.append((source, str(Path(recipe.folder, target))))
        elif name == "RUN":
            recipe.steps.append(f"mkdir -p {recipe.folder} && cd {recipe.folder}\n{rest}")
        elif name == "ENTRYPOINT":
            recipe.command = json.loads(rest)
        elif name != "LABEL":
            raise ValueError(f"{name} is not read")
    return recipe


def read_definition(text: str) -> Recipe:
    """Read a definition file of Apptainer."""
    plain = re.sub(r"^#.*\n", "", text, flags=re.M)
    head, *rest = re.split(r"^%(\w+)\n", plain, flags=re.M)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    if unknown := set(sections) - {"help", "files", "post", "runscript"}:
        raise ValueError(f"{', '.join(unknown)} is not read")
    keys = dict(re.findall(r"^(\w+): (\S+)$", head, re.M))
    recipe = Recipe(keys["From"], "/", ["sh", "-c", sections["runscript"], "sh"], example_in(text))
    recipe.steps += [
        (source, target) for source, target in map(str.split, _lines(sections["files"]))
    ]
    recipe.steps.append(sections["post"])
    return recipe


def _lines(section: str) -> list[str]:
    return [line.strip() for line in section.splitlines() if line.strip()]
