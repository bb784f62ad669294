# SPDX-License-Identifier: BSD-3-Clause
"""The project as a whole keeps to its rules, and a fault is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import project
import pytest
import tree

Plant = Callable[[dict[str, str]], Path]
Rule = Callable[[Path], list[str]]

RULES = {
    "root folder is small": project.root_offences,
    "version stands once": project.version_offences,
    "description is one sentence": project.description_offences,
    "changelog has a place for what comes next": project.changelog_offences,
    "links resolve": project.link_offences,
}

SOUND = {
    "VERSION": "1.2.3\n",
    "CITATION.cff": "version: 1.2.3\nabstract: >-\n  Does a thing,\n  well.\n",
    "pyproject.toml": 'description = "Does a thing, well"\n',
    "packaging/containers/Dockerfile": 'LABEL description="Does a \\\nthing, well"\n',
    "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n",
    "CMakeLists.txt": "project(x VERSION ${LANEWISE_VERSION} LANGUAGES C)\n",
    "README.md": "[guide](docs/a.md#how-it-works) ![](docs/a.svg) [w](https://a.b) `[x](y)`\n",
    "docs/a.md": "# How `it` works?\n\n[up](../README.md) [us](mailto:a@b)\n\n```\n[no](no)\n```\n",
    "docs/a.svg": "<svg/>\n",
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_this_repository_keeps_the_rule(rule: Rule) -> None:
    offences = rule(tree.ROOT)

    assert not offences, "\n".join(offences)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_nothing_is_said_of_a_sound_project(plant: Plant, rule: Rule) -> None:
    assert rule(plant(SOUND)) == []


OFFENCES = {
    "a crowded root": (
        project.root_offences,
        {f"file{number}": "" for number in range(project.ROOT_ENTRIES_MAX)},
    ),
    "a version that is none": (project.version_offences, {"VERSION": "1.2\n"}),
    "another version cited": (project.version_offences, {"CITATION.cff": "version: 1.2.2\n"}),
    "another description cited": (
        project.description_offences,
        {"CITATION.cff": "version: 1.2.3\nabstract: Does another thing.\n"},
    ),
    "no description": (project.description_offences, {"pyproject.toml": "[project]\n"}),
    "a version in CMake": (
        project.version_offences,
        {"CMakeLists.txt": "project(x VERSION 1.2.3)\n"},
    ),
    "a version in Python": (
        project.version_offences,
        {"python/lanewise/__init__.py": '__version__ = "1.2.3"\n'},
    ),
    "a version in a header": (
        project.version_offences,
        {"include/lanewise/a.h": '#define LW_VERSION "1.2.3"\n'},
    ),
    "no Unreleased": (project.changelog_offences, {"CHANGELOG.md": "# C\n\n## [1.2.3]\n"}),
    "a release that VERSION does not have": (
        project.changelog_offences,
        {"CHANGELOG.md": "# C\n\n## [Unreleased]\n\n## [1.3.0] - 2026-02-03\n"},
    ),
    "a gap between entries": (
        project.changelog_offences,
        {"CHANGELOG.md": "# C\n\n## [Unreleased]\n\n- one\n  thing\n\n- another\n"},
    ),
    "an entry without a part": (
        project.changelog_offences,
        {"CHANGELOG.md": "# C\n\n## [Unreleased]\n\n### Fixed\n\n- one\n"},
    ),
    "a dead link": (project.link_offences, {"docs/b.md": "[gone](gone.md)\n"}),
    "a dead anchor": (project.link_offences, {"docs/b.md": "[gone](a.md#gone)\n"}),
    "a link without https": (project.link_offences, {"docs/b.md": "[old](http://a.b)\n"}),
    "a link that does not parse": (project.link_offences, {"docs/b.md": "[x](https://a.b:no/)\n"}),
    "a link without a scheme": (project.link_offences, {"docs/b.md": "[x](//a.b/c)\n"}),
    "a link to no host": (project.link_offences, {"docs/b.md": "[x](https://a_b)\n"}),
    "a link to a retired host": (
        project.link_offences,
        {"docs/b.md": "[x](https://docs.mellanox.com/a)\n"},
    ),
    "a dead picture": (project.link_offences, {"docs/b.md": '<img src="gone.svg">\n'}),
}


@pytest.mark.parametrize(("rule", "change"), OFFENCES.values(), ids=OFFENCES.keys())
def test_an_offence_is_caught(plant: Plant, rule: Rule, change: dict[str, str]) -> None:
    offences = rule(plant({**SOUND, **change}))

    assert offences
