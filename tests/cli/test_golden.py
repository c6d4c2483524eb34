"""The help of every command and a set of errors, on file, so that changes show up in review.

``SHOAL_GOLDEN=write pytest tests/cli/test_golden.py`` writes the files again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).with_name("golden")
HELP = {
    "shoal": (),
    **{
        name: (name,)
        for name in (
            *("anonymize", "attack", "baskets", "compare", "demo", "hierarchy", "mine"),
            *("profile", "publish", "replay", "schema", "verify"),
        )
    },
    **{f"hierarchy-{name}": ("hierarchy", name) for name in ("build", "check", "show")},
}
TABLE = ("anonymize", "people.csv", "--out", "release")
MONDRIAN = ("-m", "mondrian", "-p", "k=4")
ROLES = ("--identifying", "name", "--quasi", "age,zip", "--sensitive", "disease")
ERRORS = {
    "method misspelled": (*TABLE, *ROLES, "-m", "modrian", "-p", "k=4"),
    "parameter misspelled": (*TABLE, *ROLES, "-m", "mondrian", "-p", "el=2"),
    "parameter missing": (*TABLE, *ROLES, "-m", "anatomy"),
    "column misspelled": (*TABLE, "--quasi", "age,zpi", "--sensitive", "disease", *MONDRIAN),
    "wrong delimiter": (
        *("anonymize", "semicolons.csv", "--delimiter", ",", "--out", "release"),
        *ROLES,
        *MONDRIAN,
    ),
    "section misspelled": ("publish", "section.toml"),
    "key misspelled": ("publish", "key.toml"),
    "attack misspelled": ("publish", "attack.toml"),
    "attack of another shape": ("publish", "shape.toml"),
    "nested key misspelled": ("publish", "nested.toml"),
    "value out of a list": ("publish", "format.toml"),
    "hierarchy of an unknown column": ("publish", "hierarchy.toml"),
    "column of a hierarchy misspelled": (
        *("hierarchy", "build", "width:5", "--source", "people.csv", "--column", "agee"),
        *("--out", "age.csv"),
    ),
    "ell out of reach": (*TABLE, *ROLES, "-m", "anatomy", "-p", "ell=5"),
    "one value dominates": (
        *("anonymize", "dominated.csv", "--out", "r", *ROLES, "-m", "anatomy", "-p", "ell=2"),
    ),
    "one value dominates, generalized": (
        *("anonymize", "dominated.csv", "--out", "r", *ROLES, "-m", "mondrian", "-p", "k=2"),
        *("-p", "ell=2", "-p", "diversity=frequency"),
    ),
    "no generalization": (
        *("anonymize", "dominated.csv", "--out", "r", *ROLES, "-m", "full_domain", "-p", "k=2"),
        *("-p", "ell=3", "-p", "diversity=frequency"),
    ),
    "file missing": ("profile", "nowhere.csv"),
    "output exists": ("profile", "people.csv", "--draft", "people.csv"),
    "no configuration": ("publish", "nowhere.toml"),
}
CONFIGURATION = """
[table]
source = "people.csv"
[columns]
identifying = ["name"]
quasi = ["age", "zip"]
sensitive = ["disease"]
[method]
name = "mondrian"
k = 4
[release]
folder = "release"
"""


@pytest.fixture
def screen(run, monkeypatch):
    """Run a command on a terminal of 80 columns without colours."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
    return run


@pytest.fixture
def files(tmp_path, write_csv):
    """Write tables and configurations, one of them right and the others each with one fault."""
    people = [[f"n{row}", 20 + row % 7, f"z{row % 3}", "abcd"[row % 4]] for row in range(40)]
    write_csv(people)
    text = (tmp_path / "people.csv").read_text(encoding="utf-8")
    (tmp_path / "semicolons.csv").write_text(text.replace(",", ";"), encoding="utf-8")
    dominated = [[*row[:3], "a" if place % 10 else row[3]] for place, row in enumerate(people)]
    write_csv(dominated, name="dominated.csv")
    for name, content in {
        "section": CONFIGURATION.replace("[method]", "[methods]"),
        "key": CONFIGURATION.replace("folder =", "foldr ="),
        "attack": CONFIGURATION + "[attacks.homogenity]\nmax_people = 0\n",
        "nested": CONFIGURATION + "[repair.foreground]\nr = 3\npolcy = 1\n",
        "format": CONFIGURATION + 'format = "cvs"\n',
        "hierarchy": CONFIGURATION + "[hierarchies]\naeg = { width = 5 }\n",
        "shape": CONFIGURATION + "[attacks.sliced_linkage]\nmax_people = 0\n",
    }.items():
        (tmp_path / f"{name}.toml").write_text(content, encoding="utf-8")


def compare(name, text):
    """Compare a text with its golden file, or write the file."""
    path = GOLDEN / name
    lines = "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())
    if os.environ.get("SHOAL_GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(lines, encoding="utf-8")
    assert lines == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", HELP)
def test_the_help_is_the_one_on_file(name, screen):
    result = screen(*HELP[name], "--help")
    assert result.exit_code == 0
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    compare(f"help-{name}.txt", result.stdout)


def test_every_command_has_a_golden_file():
    assert set(HELP) == set(_commands())


def test_help_lists_commands_by_the_summary_of_their_own_help():
    from typer.main import get_command

    from shoal.cli.app import app

    top = get_command(app)
    listed = {name: top.get_command(None, name) for name in top.list_commands(None)}
    assert len(listed) > 10
    for name, command in listed.items():
        if not command.hidden:
            assert command.help == top.load(name).help.partition("\n\n")[0]


def test_every_option_states_its_default():
    for name, command in _commands().items():
        for option in command.params:
            is_stated = "Default:" in (option.help or "") or option.default not in (None, False)
            is_exempt = option.param_type_name == "argument" or option.required or name == "shoal"
            assert is_stated or is_exempt, f"{name} {option.name}"


def _commands():
    from typer.main import get_command

    from shoal.cli.app import app

    top = get_command(app)
    found = {"shoal": top}
    for name in top.list_commands(None):
        if top.get_command(None, name).hidden:
            continue
        command = top.load(name)
        found[name] = command
        for below, nested in getattr(command, "commands", {}).items():
            found[f"{name}-{below}"] = nested
    return found


@pytest.mark.usefixtures("files")
def test_errors_are_those_on_file(screen, tmp_path):
    told = []
    for name, arguments in ERRORS.items():
        result = screen(*arguments)
        assert result.exit_code in (2, 3, 4, 5, 6, 8), name
        text = result.stderr.replace(str(tmp_path), "FOLDER").strip()
        told.append(f"--- {name} (exit code {result.exit_code})\n{text}\n")
    compare("errors.txt", "\n".join(told))
