"""`python -m reproduction`, and what is left of `shoal reproduce`."""

from __future__ import annotations

import json
import sys
import types

import pytest
from reproduction import ALL, PAPERS
from reproduction import __main__ as reproduce_command
from reproduction.reproduced import Curve, Figure, Planned, compared
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command in this process, from the test's own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def invoke(*arguments):
        result = CliRunner().invoke(reproduce_command.app, [*arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def test_the_old_names_say_where_it_has_gone():
    result = CliRunner().invoke(app, ["reproduce", "all", "--adult", "adult.csv"])
    assert result.exit_code == 2
    assert "python -m reproduction all --adult adult.csv" in result.stderr
    assert "reproduce" not in CliRunner().invoke(app, ["--help"]).stdout
    with pytest.raises(AttributeError, match="python -m reproduction all"):
        _ = shoal.reproduce


def planned(*titles):
    def run(setting):
        statements = (compared("rules", 45, 44), compared("rows", 700, 500, why="\x1b[2Jother"))
        curves = (Curve("rules", (1.0, float(setting.seed))),)
        return [Figure("figure-1", "Figure 1", "", "x", (1.0, 2.0), "rules", curves, statements)]

    first, *others = titles
    return (Planned(first, False, run), *(Planned(title, True, run) for title in others))


def test_all_papers_can_be_named():
    assert (*PAPERS, ALL) == reproduce_command._NAMES


@pytest.fixture
def injector(monkeypatch):
    module = types.ModuleType("injector")
    module.PLANNED = planned("Figure 1", "Figure 2 on Adult \x1b[2J")
    monkeypatch.setitem(sys.modules, "reproduction.injector", module)


def test_it_writes_the_page_and_shows_a_table(run, injector, tmp_path):
    result = run("injector")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["injector", "1", "1", "1", "0", "0", "0"] in lines
    assert "Figure 2 on Adult" in result.stdout
    assert "which was not given" in result.stdout
    assert "\x1b" not in result.stdout
    assert "reproduced/reproduction.html" in result.stdout
    assert (tmp_path / "reproduced" / "reproduction.html").is_file()


def test_options_choose_the_folder_the_seed_and_a_quick_run(run, injector, tmp_path):
    result = run("injector", "--quick", "--to", "elsewhere", "--seed", "3")
    assert result.exit_code == 0
    assert "nothing is judged" in result.stdout
    numbers = (tmp_path / "elsewhere" / "data" / "injector-figure-1.csv").read_text()
    assert numbers == "x,rules\n1.0,1.0\n2.0,3.0\n"


def test_with_json_there_is_one_document(run, injector):
    result = run("injector", "--json")
    assert result.exit_code == 0
    stated = json.loads(result.stdout)
    assert stated["quick"] is False
    assert stated["papers"]["injector"]["verdicts"]["reproduced"] == 1
    assert [one["paper"] for one in stated["left_out"]] == ["injector"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("poker",), 3, "There is no paper 'poker'"),
        (("injector", "--seed", "-1"), 3, "seed must be"),
        (("injector", "--adult", "none.csv"), 5, "There is no file"),
        (("injector", "--to", "mine"), 3, "holds something else"),
        (("injector", "--seed", "x"), 2, "Invalid value"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(run, injector, tmp_path, arguments, code, said):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    result = run(*arguments)
    assert result.exit_code == code
    assert said in result.stderr
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "mine"
    assert not (tmp_path / "reproduced").exists()


def test_help_names_the_papers(run):
    result = run("--help")
    assert result.exit_code == 0
    said = " ".join(result.stdout.replace("│", " ").split())
    assert "injector, slicing, foreground, adversarial, all" in said
