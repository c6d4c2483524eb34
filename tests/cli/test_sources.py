"""Tables in a database, engines by name, and a release that goes back to a database."""

from __future__ import annotations

import json

import pytest

psycopg = pytest.importorskip("psycopg")

CONFIGURATION = """
[table]
source = "{source}"
table = "people"

[columns]
identifying = ["name"]
quasi = ["age", "zip"]
sensitive = "disease"

[method]
name = "mondrian"
k = 4
ell = 2

[attacks.homogeneity]
max_people = 40
"""


@pytest.fixture
def database(postgres_server, rows, request):
    """Give the address, with a password in it, of a database with the table `people`."""
    name = f"c{abs(hash(request.node.nodeid))}"

    def run(statement, to="postgres"):
        with psycopg.connect(postgres_server.address(to), autocommit=True) as connection:
            return connection.execute(statement)

    run(f"CREATE DATABASE {name}")
    run("CREATE TABLE people (name text, age int, zip text, disease text)", name)
    with psycopg.connect(postgres_server.address(name)) as connection:
        connection.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s, %s)", rows)
    yield postgres_server.address(name).replace("steward@", "steward:HUSHHUSH@")
    run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def ask(database):
    def run(statement):
        with psycopg.connect(database, autocommit=True) as connection:
            return connection.execute(statement).fetchall()

    return run


@pytest.fixture
def configured(database, tmp_path):
    path = tmp_path / "shoal.toml"
    path.write_text(CONFIGURATION.format(source=database))
    return path


@pytest.fixture
def nothing_shown(tmp_path, marker):
    """Look through all that was printed and written for the password and for values."""

    def look(result, *, but=()):
        assert "HUSHHUSH" not in result.output
        assert marker not in result.output
        for path in tmp_path.rglob("*"):
            if path.is_file() and path.name not in ("shoal.toml", *but):
                assert b"HUSHHUSH" not in path.read_bytes(), path

    return look


def test_profile_of_a_table_of_a_database(run, database, tmp_path, nothing_shown):
    result = run("profile", database, "--table", "people", "--draft", "draft.toml")
    assert result.exit_code == 0, result.output
    assert "40 rows, 4 columns" in result.stdout
    drafted = (tmp_path / "draft.toml").read_text()
    assert 'table = "public.people"' in drafted
    assert "postgresql://" in drafted
    nothing_shown(result)


def test_anonymize_a_table_of_a_database(run, database, roles, tmp_path, nothing_shown):
    options = ("-m", "mondrian", "-p", "k=4", "--out", "release", "--memory", "1GB")
    result = run("anonymize", database, "--table", "people", *roles, *options, "--log", "log.txt")
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert record["source"]["name"] == "postgresql:public.people"
    assert record["versions"]["engine"].startswith("postgres 1")
    stated = record["configuration"]["table"]["source"]
    assert stated.startswith("postgresql://")
    assert "steward" not in stated
    assert "?" not in stated
    nothing_shown(result)
    assert run("verify", "release").exit_code == 0


def test_publish_a_table_of_a_database_into_a_database(
    run, configured, database, ask, nothing_shown
):
    result = run("publish", configured, "--to-database", database)
    assert result.exit_code == 0, result.output
    assert "public.release_table" in result.stdout
    assert ask("SELECT count(*) FROM release_table") == [(40,)]
    nothing_shown(result)
    again = run("publish", configured, "--to-database", database, "--out", "new/release")
    assert again.exit_code == 3
    assert "already" in again.stderr
    nothing_shown(again)
    replaced = run("publish", configured, "--to-database", database, "--replace", "--json")
    assert json.loads(replaced.stdout)["database"] == {
        "schema": "public",
        "tables": {"release_table": 40},
        "views": [],
    }


def test_the_configuration_names_the_database_and_the_schema(run, configured, database, ask):
    more = f'\n[release]\ndatabase = "{database}"\nschema = "open"\n'
    configured.write_text(configured.read_text() + more)
    refused = run("publish", configured)
    assert refused.exit_code == 4
    assert "no schema 'open'" in refused.stderr
    with psycopg.connect(database) as connection:
        connection.execute("CREATE SCHEMA open")
    assert run("publish", configured).exit_code == 0
    assert ask("SELECT count(*) FROM open.release_table") == [(40,)]


def test_dry_run_on_a_database(run, configured, listing, nothing_shown):
    before = listing()
    result = run("publish", configured, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "postgresql:public.people: 40 rows" in " ".join(result.stdout.split())
    assert listing() == before
    nothing_shown(result)
    document = json.loads(run("publish", configured, "--dry-run", "--json").stdout)
    assert document["bytes"] is None
    assert "HUSHHUSH" not in json.dumps(document)


def test_a_release_that_cannot_be_loaded_is_still_sealed(run, configured, database, monkeypatch):
    from shoal.core.errors import EngineError
    from shoal.release import export

    def fail(*_, **__):
        fact = "The connection to the database was lost."
        raise EngineError(fact)

    monkeypatch.setattr(export, "export_release", fail)
    result = run("publish", configured, "--to-database", database)
    assert result.exit_code == 8
    assert "is sealed in" in result.stderr
    assert run("verify", "release").exit_code == 0


def test_options_take_the_place_of_the_configuration(run, configured, listing):
    before = listing()
    for options, code in ((("--table", "nobody"), 4), (("--engine", "duckdb"), 3),
                          (("--engine", "oracle"), 3), (("--memory", "much"), 3)):  # fmt: skip
        result = run("publish", configured, *options)
        assert result.exit_code == code, (options, result.output)
        assert "HUSHHUSH" not in result.output
    assert listing() == before


@pytest.mark.parametrize("command", ["profile", "anonymize"])
def test_addresses_that_nobody_reads_are_not_repeated(run, command, roles):
    options = (*roles, "-m", "anatomy", "-p", "ell=2") if command == "anonymize" else ()
    for address in ("mysql://me:HUSHHUSH@host/db", "postgresql://me:HUSH%zzHUSH@host/db"):
        result = run(command, address, *options)
        assert result.exit_code == 3, result.output
        assert "HUSH" not in result.output


def test_an_unreachable_database_is_an_error_of_the_engine(run, roles, tmp_path):
    address = "postgresql://me:HUSHHUSH@/db?host=/nowhere"
    options = (*roles, "-m", "anatomy", "-p", "ell=2", "--log", "log.txt")
    result = run("anonymize", address, "--table", "people", *options)
    assert result.exit_code == 8
    assert "cannot be reached" in result.stderr
    assert "HUSHHUSH" not in result.output + (tmp_path / "log.txt").read_text()


def test_a_csv_file_is_read_by_the_engine_that_is_named(run, write_csv):
    assert run("profile", write_csv(), "--engine", "duckdb", "--memory", "1GB").exit_code == 0
    result = run("profile", write_csv(), "--engine", "postgres")
    assert result.exit_code == 3
    assert "go together" in result.stderr


def test_what_the_tab_key_offers(tmp_path, monkeypatch):
    from shoal.cli.options import _ENGINES, _complete_engines, _complete_sources
    from shoal.engines.engine import ENGINES

    assert _ENGINES == ENGINES
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".hidden").touch()
    assert _complete_sources("") == ["folder/", "people.csv"]
    assert _complete_sources("pe") == ["people.csv"]
    assert _complete_sources("post") == ["postgresql://"]
    assert _complete_sources("folder/") == []
    assert _complete_sources("nowhere/x") == []
    assert _complete_engines("s") == ["spark"]
