"""A release is whole or not there, whatever happens to the process, the disk or the source."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import killed_releases
import pytest
from killed_releases import CONFIGURATION, FILES, WRITTEN

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")

DATA, ENGINE = 5, 8


@pytest.fixture
def configured(tmp_path: Path, write_csv) -> Path:
    """Write a table of 300 people, and a configuration."""
    write_csv(killed_releases.people())
    path = tmp_path / "shoal.toml"
    path.write_text(CONFIGURATION)
    return path


@pytest.fixture
def left(tmp_path: Path, private_temporary: Path) -> Callable[[], set[str]]:
    """Name what is there, temporary files included."""

    return lambda: killed_releases.left(tmp_path, private_temporary)


@pytest.fixture
def whole(tmp_path: Path) -> Callable[[], str | None]:
    """Assert that the release, where there is one, is whole; give what tells it from others."""
    return lambda: killed_releases.whole(tmp_path)


# Killed


@pytest.mark.slow
def test_killed_at_any_instant(finish, configured, whole, left, tmp_path, private_temporary):
    """Some kills; `benchmarks/killing.py` does it 200 times."""
    begun = time.perf_counter()
    assert finish("publish", "shoal.toml")[0] == 0
    duration = time.perf_counter() - begun
    draw = random.Random(0)
    standing = whole()
    for _ in range(8):
        killed_releases.kill_publishing(tmp_path, private_temporary, draw.uniform(0, duration))
        found = whole()
        # The folder is away for the moment between two moves, and whoever starts next puts it back.
        if found is not None:
            standing = found
    code, _, stderr = finish("publish", "shoal.toml", "--replace")
    assert code == 0, stderr
    assert whole() not in (None, standing)
    assert left() == WRITTEN


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("is_first", [True, False])
def test_asked_to_stop_at_any_instant(
    process, finish, configured, whole, left, tmp_path, name, is_first
):
    begun = time.perf_counter()
    assert finish("publish", "shoal.toml")[0] == 0
    duration = time.perf_counter() - begun
    number = getattr(signal, name)
    draw = random.Random(name)
    for _ in range(3):
        if is_first:
            for folder in ("release", "release.internal"):
                for path in sorted((tmp_path / folder).rglob("*"), reverse=True):
                    path.unlink()
                if (tmp_path / folder).exists():
                    (tmp_path / folder).rmdir()
        before = whole()
        started = process("publish", "shoal.toml", "--replace")
        # Not from the beginning: until Python itself is up, it has codes of its own.
        time.sleep(draw.uniform(0.15 * duration, duration))
        started.send_signal(number)
        _, stderr = started.communicate(timeout=60)
        # Python dies of the signal before Shoal takes it over, and again at its very end.
        assert started.returncode in (0, 128 + number, -number), stderr
        after = whole()
        lying = left() - (FILES if after is None else WRITTEN)
        # What Python itself leaves when it dies at its very end is removed by the next start.
        assert not lying or (started.returncode == -number and "shoal-" in min(lying)), lying
        if lying:
            assert finish("publish", "shoal.toml", "--replace")[0] == 0
            assert left() == WRITTEN
        assert started.returncode != 0 or after not in (None, before)


STEPS = '''
import os, signal, sys
from pathlib import Path
import shoal
from shoal.workflow import config, publish
from shoal.release.placing import claimed

CHANGES = {"os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "fcntl.flock"}

def killed_at(n_left):
    """Die right before the change of the file system that comes after so many."""
    def watch(event, arguments):
        nonlocal n_left
        writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event in CHANGES or writes:
            n_left -= 1
            if n_left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(watch)

def run(command, number):
    if command == "publish":
        killed_at(number)
        publish.publish(config.load("shoal.toml"), replace=True)
    else:
        with claimed(Path("release").resolve(), replace=True):
            shoal.read({"a": [1]}, shoal.Schema(quasi=["a"])).engine.close()

for line in sys.stdin:
    command, number = line.split()
    child = os.fork()
    if not child:
        run(command, int(number))
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
'''


@pytest.fixture
def stepper(tmp_path: Path, private_temporary: Path):
    """Start a process whose children do one thing each, and die at a given step of it."""
    started = subprocess.Popen(
        [sys.executable, "-c", STEPS],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(private_temporary), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    def do(command: str, number: int = 0) -> int:
        started.stdin.write(f"{command} {number}\n")
        started.stdin.flush()
        return int(started.stdout.readline())

    yield do
    started.communicate("")


@pytest.mark.slow
@pytest.mark.parametrize("is_first", [True, False])
def test_killed_between_any_two_changes(stepper, configured, whole, left, tmp_path, is_first):
    if not is_first:
        assert stepper("publish", 10**6) == 0
    old, outcomes = whole(), set()
    for step in range(300):
        code = stepper("publish", step)
        found = whole()
        assert stepper("recover") == 0
        recovered = whole()
        assert left() == (FILES if recovered is None else WRITTEN)
        assert found in (None, recovered)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        outcomes.add((found == old, recovered == old))
        if recovered != old:
            assert found == recovered
            # All that follows happens with the new release in place.
            old = recovered
    else:
        pytest.fail("it never came to its end")
    assert recovered not in (None, old)
    # Before the move the old one stands, amid it none, after it the new one.
    assert outcomes >= ({(True, True), (False, False)} | (set() if is_first else {(False, True)}))


# No space, no folder, no permission


def limited(n_bytes: int) -> Callable[[], None]:
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


@pytest.mark.parametrize("n_bytes", [0, 300, 1000, 2500])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_files_that_cannot_grow_leave_the_old_release(
    process, finish, configured, whole, left, n_bytes, format
):
    assert finish("publish", "shoal.toml")[0] == 0
    before = whole()
    started = process(
        "publish", "shoal.toml", "--replace", "--format", format, preexec_fn=limited(n_bytes)
    )
    _, stderr = started.communicate(timeout=60)
    assert started.returncode == ENGINE, stderr
    assert stderr.startswith("Error: ")
    assert "Traceback" not in stderr
    assert whole() == before
    assert left() == WRITTEN


def test_files_that_cannot_grow_leave_no_first_release(process, configured, left):
    for n_bytes in (0, 200, 900, 2000):
        started = process("publish", "shoal.toml", preexec_fn=limited(n_bytes))
        assert started.communicate(timeout=60) is not None
        assert started.returncode == ENGINE
        assert left() == FILES


@pytest.mark.parametrize("folder", ["/proc/shoal/release", "/sys/release", "people.csv/release"])
def test_folder_that_nobody_may_write_to(run, configured, left, folder):
    if folder.startswith("/") and not Path(*Path(folder).parts[:2]).is_dir():
        pytest.skip("there is no such folder here")
    result = run("publish", "shoal.toml", "--out", folder)
    assert result.exit_code == ENGINE, result.output
    assert "cannot be written" in result.stderr
    assert left() == FILES


def test_folder_that_vanishes_while_it_is_written(run, configured, left, tmp_path, monkeypatch):
    import shutil

    from shoal.release import seal

    def vanish(*_: object) -> dict[str, str]:
        shutil.rmtree(tmp_path / "parent")
        return {"codebook.md": ""}

    monkeypatch.setattr(seal, "public_documents", vanish)
    result = run("publish", "shoal.toml", "--out", "parent/release")
    assert result.exit_code == ENGINE, result.output
    assert "removed meanwhile" in result.stderr
    assert left() == FILES


def test_second_writer_is_refused_until_the_first_is_gone(finish, configured, whole, left):
    script = (
        "import sys; from pathlib import Path; from shoal.release.placing import claimed\n"
        "with claimed(Path(sys.argv[1]), replace=True):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, configured.with_name("release")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "held\n"
    for command in (("publish", "shoal.toml"), ("anonymize", "--config", "shoal.toml")):
        code, stdout, stderr = finish(*command, "--replace")
        assert (code, stdout) == (ENGINE, "")
        assert "Another process is writing" in stderr
    holder.kill()
    holder.communicate()
    assert finish("publish", "shoal.toml")[0] == 0
    assert whole() is not None
    assert left() == WRITTEN


def test_spilled_rows_of_a_killed_process_are_removed(finish, configured, private_temporary, left):
    stale = private_temporary / "shoal-abcdefgh"
    stale.mkdir(mode=0o700)
    (stale / ".shoal-lock").touch()
    (stale / "spill").mkdir()
    (stale / "spill" / "rows").write_text("rows")
    assert finish("publish", "shoal.toml")[0] == 0
    assert left() == WRITTEN


# Sources that cost too much


@pytest.fixture
def refused(run, roles, left, marker):
    """Run a command on a source, and assert that it is refused soon and leaves nothing."""

    def refuse(source: Path, *words: str) -> None:
        before = left()
        options = ("-m", "mondrian", "-p", "k=2", "--out", "release")
        for arguments in (("anonymize", source, *roles, *options), ("profile", source)):
            begun = time.perf_counter()
            result = run(*arguments)
            assert result.exit_code == DATA, result.output
            assert time.perf_counter() - begun < 20
            assert marker not in result.output
            for word in (*words, "Hint", "[engine]"):
                assert word in result.stderr
            assert left() == before

    return refuse


def test_million_columns(refused, tmp_path, marker):
    path = tmp_path / "people.csv"
    path.write_text(",".join(f"{marker}{n}" for n in range(1_000_000)) + "\n")
    refused(path, "10000 columns", "max_columns")


def test_header_without_end(refused, tmp_path, marker):
    path = tmp_path / "people.csv"
    path.write_text(marker * 200_000)
    refused(path, "header", "max_columns")


@pytest.mark.parametrize("end", ["\n", ""])
def test_line_that_is_longer_than_any(refused, write_csv, marker, end):
    path = write_csv()
    with path.open("a") as file:
        file.write(f"{marker},1,")
        file.write(marker * 3_000_000)
        file.write(f",x{end}")
    refused(path, "16MB", "max_line")


def test_line_that_is_too_long_in_quotes(run, roles, write_csv, marker):
    path = write_csv(
        [*([f"n{n}", n % 5, 1, "x"] for n in range(40)), [marker * 2_000_000, 1, 2, 3]]
    )
    result = run("anonymize", path, *roles, "-m", "mondrian", "-p", "k=2", "--out", "release")
    assert result.exit_code == DATA
    assert marker not in result.output


def test_archive_that_bursts(refused, tmp_path):
    part = gzip.compress(b"n,1,1,x\n" * 250_000)
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"name,age,zip,disease\n") + part * 500)
    refused(path, "200 times", "max_ratio")


def test_parquet_file_that_bursts(refused, tmp_path):
    path = tmp_path / "people.parquet"
    duckdb.sql(
        "SELECT 'n' AS name, 1 AS age, 1 AS zip, 'x' AS disease FROM range(17000000)"
    ).write_parquet(str(path), row_group_size=5_000_000)
    refused(path, "200 times", "max_ratio")


@pytest.mark.parametrize(
    ("setting", "word"),
    [("max_columns = 3", "3 columns"), ('max_line = "12B"', "12B")],
)
def test_limits_are_set_in_the_configuration(run, configured, left, setting, word):
    configured.write_text(f"{CONFIGURATION}[engine]\n{setting}\n")
    for options in ((), ("--dry-run",)):
        result = run("publish", "shoal.toml", *options)
        assert result.exit_code == DATA, result.output
        assert word in result.stderr
        assert left() == FILES


def test_limits_can_be_raised_in_the_configuration(run, configured, tmp_path, left):
    path = tmp_path / "people.csv"
    long = "x" * 20_000_000
    path.write_text(path.read_text().replace("n7,", f"{long},"))
    result = run("publish", "shoal.toml")
    assert result.exit_code == DATA
    configured.write_text(f'{CONFIGURATION}[engine]\nmax_line = "32MB"\n')
    result = run("publish", "shoal.toml")
    assert result.exit_code == 0, result.output
    assert left() == WRITTEN


def test_source_that_changes_while_it_is_read(run, configured, tmp_path, left, monkeypatch):
    from shoal.engines.duckdb.engine import DuckDB

    stage = DuckDB.stage

    def change(self, name, query):
        stage(self, name, query)
        with (tmp_path / "people.csv").open("a") as file:
            file.write("n301,20,1,a\n")

    monkeypatch.setattr(DuckDB, "stage", change)
    result = run("publish", "shoal.toml")
    assert result.exit_code == DATA, result.output
    assert "changed while it was read" in result.stderr
    assert left() == FILES
