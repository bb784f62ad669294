# SPDX-License-Identifier: BSD-3-Clause
"""The registry finds the folders by itself, and each experiment says what it is."""

import re
import sys
from pathlib import Path

import pytest

from experiments.experiment import Experiment
from experiments.registry import EXPERIMENTS, discover, find_experiment
from lanewise.errors import RequestError


def test_names_are_words_joined_by_hyphens_and_no_two_alike() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", name) for name in names)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_experiment_says_which_paper_and_what(experiment: Experiment) -> None:
    assert re.match(r"00[0-4] (Table|Fig\.|§)", experiment.paper)
    assert re.match(r".+ 200[678], ", experiment.citation)
    assert 20 < len(experiment.summary) < 100


def test_the_experiments_of_the_issue_are_there() -> None:
    names = {experiment.name for experiment in EXPERIMENTS}

    assert names >= {
        "timing-methods", "pipeline-effect", "parallel-pairs", "interval-coverage", "global-clock",
        "peers-agree",
    }  # fmt: skip


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(RequestError, match="did you mean timing-methods"):
        find_experiment("timing-method")


FOLDER = """
from experiments.experiment import Experiment, Outcome

def run(_workspace):
    return Outcome({}, [], {}, [])

FIGURES = ()
"""


def test_a_new_folder_is_found_without_another_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "one": "EXPERIMENT = Experiment('one', '003 Fig. 1', '', run, FIGURES)",
        "two": "EXPERIMENTS = tuple(Experiment(n, '000 §1', '', run, ()) for n in ('a', 'b'))",
        "none": None,
    }.items():
        folder = tmp_path / "throwaway" / name
        folder.mkdir(parents=True)
        if text:
            (folder / "experiment.py").write_text(f"{FOLDER}\n{text}\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    found = discover(tmp_path / "throwaway", "throwaway")

    assert [experiment.name for experiment in found] == ["a", "b", "one"]
    for name in [name for name in sys.modules if name.split(".")[0] == "throwaway"]:
        del sys.modules[name]


def test_an_old_name_is_accepted() -> None:
    assert find_experiment("fabrics").name == "transports"
