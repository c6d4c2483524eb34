"""The program as a process: exit codes, streams, signals, and what help costs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

OPTIONS = ("--identifying", "name", "--quasi", "age,zip", "--sensitive", "disease")
METHOD = ("-m", "mondrian", "-p", "k=4", "-p", "ell=2", "--out", "release")


def test_results_go_to_stdout_and_nothing_to_stderr(finish, write_csv):
    code, stdout, stderr = finish("anonymize", write_csv(), *OPTIONS, *METHOD)
    assert (code, stderr) == (0, "")
    assert "40 rows" in stdout


def test_errors_go_to_stderr_and_nothing_to_stdout(finish, write_csv, marker, listing):
    source = write_csv()
    before = listing()
    infeasible = ("-m", "mondrian", "-p", "ell=9", "--out", "release")
    code, stdout, stderr = finish("anonymize", source, *OPTIONS, *infeasible)
    assert (code, stdout) == (6, "")
    assert stderr.startswith("Error: ")
    assert "\nHint: ell = 4" in stderr
    assert marker not in stderr
    assert listing() == before


def test_json_is_all_that_is_on_stdout(finish, write_csv):
    source = write_csv()
    code, stdout, stderr = finish("anonymize", source, *OPTIONS, *METHOD, "--json")
    assert (code, stderr) == (0, "")
    assert json.loads(stdout)["rows"] == 40
    code, stdout, stderr = finish("anonymize", source, *OPTIONS, *METHOD, "--json")
    assert (code, stderr) == (3, "")
    assert json.loads(stdout)["error"]["class"] == "ParameterError"


def test_usage_errors_exit_with_2(finish):
    code, stdout, stderr = finish("publish", "--swim")
    assert (code, stdout) == (2, "")
    assert "--swim" in stderr


def test_output_survives_a_terminal_without_the_characters(process, write_csv, tmp_path):
    rows = [[f"n{i}", 20 + i % 5, "😀é"[i % 2], "äß中"[i % 3]] for i in range(30)]
    write_csv(rows)
    for arguments in (("anonymize", "people.csv", *OPTIONS, *METHOD), ("attack", "release")):
        done = subprocess.run(
            [sys.executable, "-m", "shoal", *arguments],
            cwd=tmp_path,
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_closed_pipe_is_no_error(process, write_csv, finish):
    finish("anonymize", write_csv(), *OPTIONS, *METHOD)
    started = process("attack", "release")
    started.stdout.close()
    stderr = started.stderr.read()
    started.stderr.close()
    started.wait(timeout=60)
    assert "Traceback" not in stderr
    assert "Exception ignored" not in stderr


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupted_run_leaves_nothing(process, private_temporary, listing, name):
    before = listing()
    started = process("demo", "sample", "--rows", "100000")
    deadline = time.monotonic() + 60
    while not any(private_temporary.glob("shoal-*")):
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.3)
    number = getattr(signal, name)
    started.send_signal(number)
    _, stderr = started.communicate(timeout=60)
    assert started.returncode == 128 + number
    assert "Traceback" not in stderr
    assert listing() == before


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
def test_a_search_that_takes_hours_can_be_stopped(process, tmp_path):
    """Compiled code must look up now and then: this search goes through all sets of 40 columns."""
    columns = [f"c{place}" for place in range(40)]
    digits = random.Random(7)
    rows = [",".join(str(digits.randrange(2)) for _ in columns) for _ in range(2000)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(columns), *rows]))
    private = ("--private", "c0 where c1 = 1", "--gamma", "10")
    running = process("mine", "wide.csv", "--quasi", ",".join(columns), *private)
    time.sleep(4)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130


def test_help_imports_neither_numpy_nor_an_engine():
    script = (
        "import sys; from typer.testing import CliRunner; from shoal.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "heavy = {'numpy', 'duckdb', 'pydantic', 'scipy', 'shoal.workflow'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        *(["profile"], ["anonymize"], ["verify"], ["attack"], ["publish"], ["demo"]),
        *(["hierarchy", "build"], ["hierarchy", "check"], ["hierarchy", "show"]),
    ],
    ids=" ".join,
)
def test_every_command_has_the_common_options(run, command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    for option in ("--quiet", "--json", "--debug", "--log"):
        assert option in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("shoal anonymize --method ", {"anatomy", "mondrian"}),
        ("shoal anonymize --method ana", {"anatomy"}),
        ("shoal attack release --attack ", {"homogeneity", "linkage"}),
        ("shoal ver", {"verify"}),
    ],
)
def test_completion_offers_names(words, expected):
    done = subprocess.run(
        [sys.executable, "-m", "shoal"],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "_SHOAL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
        check=False,
    )
    assert expected <= set(done.stdout.split())
