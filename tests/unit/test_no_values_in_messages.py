"""Whatever goes wrong, no error, log line or line on the console shows a value of the table.

Every value of the tables here holds a mark. Each round makes a small random table and does to it
what a careless steward might: roles, types, hierarchies, parameters and files that do not fit.
Only `shoal.internal`, which goes nowhere unless a file is named for it, may say the mark.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import os
import random
import traceback

import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal.core.domain import ColumnType
from shoal.core.guarantees import AlphaK, FrequencyDiversity, KAnonymity, TCloseness
from shoal.core.schema import ColumnDeclaration
from shoal.release.verify import verify_file

TEXT_MARK = "Zqxv"
NUMBER_MARK = "86753"
DATE_MARK = f"{NUMBER_MARK[:4]}-"
N_ROUNDS = int(os.environ.get("SHOAL_FUZZ", "100"))


class Chance(random.Random):
    """Draws for one round, in which the steward makes no mistake, few, or many."""

    def __init__(self, seed):
        super().__init__(seed)
        self.carelessness = self.choice([0, 0.04, 0.04, 0.25])

    def slips(self):
        return self.random() < self.carelessness

    def mostly(self, right, *wrong):
        """Draw what is right, or what is wrong where the steward slips."""
        return self.choice(wrong) if self.slips() else right


class Listener(logging.Handler):
    """Hears what an application hears that listens to all loggers."""

    def __init__(self):
        super().__init__()
        self.heard = io.StringIO()

    def emit(self, record):
        self.heard.write(self.format(record))


@pytest.fixture
def listener():
    root = logging.getLogger()
    before, listener = root.level, Listener()
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    yield listener
    root.setLevel(before)
    root.removeHandler(listener)


class Said:
    """Collects the text of errors; any error that is not Shoal's own is a failure."""

    def __init__(self):
        self.texts = []

    def say(self, *things):
        self.texts += [repr(thing) for thing in things]
        self.texts += [thing._repr_html_() for thing in things if hasattr(thing, "_repr_html_")]

    @contextlib.contextmanager
    def erring(self):
        try:
            yield
        except shoal.errors.ShoalError as error:
            self.texts += traceback.format_exception(error)
            self.texts += [str(error), repr(error), str(vars(error))]


# --- tables --------------------------------------------------------------------------------------


def text(chance):
    odd = chance.choice(["", " ", ",", ";", '"', "'", "\n", "\u00e4", "%s", "{0}", "[1, 2[", "*"])
    return f"{TEXT_MARK}{chance.mostly('', odd)}{chance.randrange(6)}"


def number(chance):
    return int(f"{NUMBER_MARK}{chance.randrange(9)}")


def value_maker(chance):
    kind = chance.choice(["text", "text", "integer", "real", "date", "mixed"])
    makers = {
        "text": lambda: text(chance),
        "integer": lambda: number(chance),
        "real": lambda: number(chance) + chance.choice([0.25, 0.5]),
        "date": lambda: f"{DATE_MARK}0{chance.randrange(1, 9)}-1{chance.randrange(9)}",
        "mixed": lambda: str(number(chance)) if chance.random() < 0.7 else text(chance),
    }
    missing = chance.choice([0, 0, 0.2])
    return lambda: None if chance.random() < missing else makers[kind]()


def write_csv(rows, path):
    def field(value):
        return "" if value is None else '"' + str(value).replace('"', '""') + '"'

    path.write_text("\n".join(",".join(map(field, row)) for row in rows) + "\n", encoding="utf-8")
    return path


def make_columns(chance):
    n_rows = chance.mostly(chance.choice([12, 30]), 1, 3)
    names = ["q1", "q2", "s", "note", "name"]
    makers = {name: value_maker(chance) for name in names}
    columns = {name: [makers[name]() for _ in range(n_rows)] for name in names}
    columns["name"] = [f"{TEXT_MARK} {i}" for i in range(n_rows)]
    columns["note"] = [chance.mostly(TEXT_MARK, NUMBER_MARK, "*") for _ in range(n_rows)]
    return columns


def write_source(chance, columns, folder):
    """Give the columns as they are, or as a file that may be damaged."""
    form = chance.choice(["columns", "csv", "parquet"])
    if form == "columns":
        return columns
    if form == "parquet":
        texts = {
            name: [None if value is None else str(value) for value in values]
            for name, values in columns.items()
        }
        parquet.write_table(pa.table(texts), folder / "people.parquet")
        return folder / "people.parquet"
    path = write_csv([columns, *zip(*columns.values(), strict=True)], folder / "people.csv")
    if chance.slips():
        data = path.read_bytes()
        place = chance.choice([0, chance.randrange(len(data))])
        junk = chance.choice([b"\xff", b'"', b",", b"\n", b"\x00", b"\n\n"])
        path.write_bytes(data[:place] + junk + data[place:])
    return path


# --- what a careless steward says ----------------------------------------------------------------


def some(chance, values):
    """Draw texts of a column, in a few cases with one that is not in it."""
    present = sorted({str(value) for value in values if value is not None})
    drawn = chance.sample(present, chance.randint(0, len(present)))
    return drawn + chance.mostly([], [text(chance)], [None])


def all_of(chance, values):
    """Give every text of a column, but for slips."""
    return [t for t in sorted({str(v) for v in values if v is not None}) if not chance.slips()]


def make_rows(chance, values):
    parents = [f"{TEXT_MARK} parent {i}" for i in range(2)]
    rows = [[t, chance.choice(parents), "*"] for t in all_of(chance, values)]
    leaf = rows[0][0] if rows else TEXT_MARK
    damage = [[leaf], [leaf, TEXT_MARK, "*"], [TEXT_MARK, leaf, "*"], ["*", leaf, "*"], [leaf] * 3]
    return rows + chance.mostly([], [chance.choice(damage)])


def make_hierarchy(chance, values, folder):
    rows = make_rows(chance, values)
    path = write_csv(rows, folder / "hierarchy.csv")
    fitting = [shoal.Hierarchy.flat, lambda: shoal.Hierarchy.from_rows(rows, column="q1")]
    other = [
        lambda: shoal.Hierarchy.from_config({"rows": rows}, column="q1"),
        lambda: shoal.Hierarchy.from_csv(path, delimiter=chance.mostly(",", ";", "Z")),
        lambda: shoal.Hierarchy.from_csv(
            path, delimiter=",", encoding=chance.mostly("utf-8", "utf-16")
        ),
        lambda: shoal.Hierarchy.dates(["month", "year"]),
        lambda: shoal.Hierarchy.prefixes([6, 2]),
        lambda: shoal.Hierarchy.intervals(width=2),
        lambda: shoal.Hierarchy.intervals(quantiles=3),
        lambda: shoal.Hierarchy.intervals([number(chance) for _ in range(2)]),
        lambda: shoal.Hierarchy.intervals(all_of(chance, values)),
        lambda: shoal.Hierarchy.from_config({"intervals": [[r[0] for r in rows]]}, column="q1"),
    ]
    return chance.mostly(chance.choice(fitting), *other)()


def make_schema(chance, columns, folder):
    right = {"q1": "quasi", "q2": "quasi", "s": "sensitive", "note": "insensitive"}
    right["name"] = "identifying"
    words = ("quasi", "sensitive", "insensitive", "identifying")
    roles = {name: chance.mostly(role, *words) for name, role in right.items()}
    roles.pop(chance.mostly(None, *roles), None)
    types, hierarchies = {}, {}
    for name in columns:
        order = all_of(chance, columns[name])
        wrong = [
            "integer",
            "real",
            "date",
            "boolean",
            "categorical",
            order * 2,
            some(chance, order),
        ]
        wrong.append(ColumnDeclaration(ColumnType.ORDERED, tuple(some(chance, order) * 2)))
        types[name] = chance.mostly(chance.choice([None, None, order]), *wrong)
        if chance.random() < 0.25:
            hierarchies[name] = make_hierarchy(chance, columns[name], folder)
    return shoal.Schema.from_roles(
        roles,
        types={name: declared for name, declared in types.items() if declared},
        hierarchies=hierarchies,
        key=chance.mostly(chance.choice([None, "name"]), "q1", "s", "nobody"),
        person=chance.mostly(None, "name", "s"),
        nearly_unique=chance.choice([(), "note"]),
        meant=chance.mostly("note", (), "q1"),
        variants=chance.mostly({"s": "distinct"}, {}, {"s": "merge"}, {"q1": "merge"}),
    )


def make_method(chance, columns):
    protect = chance.choice([None, None, some(chance, columns["s"]) or None])
    if chance.random() < 0.4:
        ell = chance.mostly(2, 3, 50)
        draw = chance.choice(["published", "ring"])
        return shoal.Anatomy(ell=ell, draw=draw, protect=protect)
    return shoal.Mondrian(
        k=chance.mostly(2, None, 50),
        ell=chance.mostly(None if protect is None else 1, 2, 9),
        t=chance.mostly(None, 0.05, 0.4, 1),
        diversity=chance.mostly(None, "entropy", "recursive"),
        c=chance.mostly(None, 2),
        distance=chance.mostly("equal", "ordered", "hierarchical"),
        cuts=chance.choice(["strict", "relaxed"]),
        protect=protect,
        publish=chance.mostly("generalized", "bucketized"),
    )


def make_guarantee(chance, columns):
    protect = some(chance, columns["s"])
    return chance.choice(
        [
            KAnonymity(k=3),
            FrequencyDiversity(ell=2, protect=protect),
            TCloseness(t=0.1, protect=protect),
            TCloseness(t=0.1, distance=chance.choice(["ordered", "hierarchical"])),
            AlphaK(alpha=0.5, k=2, protect=protect),
        ]
    )


# --- what is done with it ------------------------------------------------------------------------


def damage(chance, folder):
    """Change a file of a release, and perhaps the manifest with it."""
    path = chance.choice(
        [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    )
    data = path.read_bytes()
    place = chance.randrange(len(data))
    path.write_bytes(
        data[:place] + chance.choice([b"0", b"z", b'"', b"\n", b""]) + data[place + 1 :]
    )
    if chance.random() < 0.5 and path.name != "manifest.json":
        manifest = folder / "manifest.json"
        stated = json.loads(manifest.read_text(encoding="utf-8"))
        with path.open("rb") as file:
            stated["files"][path.relative_to(folder).as_posix()] = hashlib.file_digest(
                file, "sha256"
            ).hexdigest()
        manifest.write_text(json.dumps(stated), encoding="utf-8")


def attack_some(chance, said, release):
    people = make_columns(chance)
    people.pop(chance.mostly(None, *people), None)
    known = [shoal.attacks.Homogeneity(), shoal.attacks.Linkage()]
    with said.erring():
        said.say(shoal.attack(release, *chance.sample(known, chance.randrange(3))))
    with said.erring():
        said.say(shoal.attack(release, people=people))


def work(chance, said, folder):
    """Read, anonymize, write, damage, verify, attack; go on as far as it goes."""
    columns = make_columns(chance)
    with said.erring():
        said.say(
            verify_file(
                write_source(chance, columns, folder),
                quasi=["q1", "q2"],
                sensitive=chance.mostly("s", None, "nobody"),
                guarantees=[make_guarantee(chance, columns)],
                hierarchy=make_hierarchy(chance, columns["s"], folder),
                order=chance.choice([None, some(chance, columns["s"])]),
            ).problems
        )
    with said.erring():
        table = shoal.read(
            write_source(chance, columns, folder), make_schema(chance, columns, folder)
        )
        said.say(table, table.domains)
        release = shoal.anonymize(table, make_method(chance, columns), chance.choice([None, 5]))
        said.say(release, release.making.plan)
        attack_some(chance, said, release)
        written = release.write(folder / "release", format=chance.choice(["csv", "parquet"]))
        damage(chance, written)
        with said.erring():
            said.say(shoal.verify(written).problems, shoal.verify(written).verdicts)
        attack_some(chance, said, written)


@pytest.mark.parametrize("seed", range(N_ROUNDS))
def test_nothing_that_goes_wrong_shows_a_value(seed, tmp_path, capfd, listener):
    said = Said()
    work(Chance(seed), said, tmp_path)
    heard = "\n".join([*said.texts, listener.heard.getvalue(), *capfd.readouterr()])
    assert TEXT_MARK not in heard
    assert NUMBER_MARK not in heard
    assert DATE_MARK not in heard


# --- a file without a header ---------------------------------------------------------------------

SCHEMA = shoal.Schema(quasi=["q1", "q2"], sensitive="s")


def read_it(path):
    shoal.read(path, SCHEMA)


def verify_it(path):
    verify_file(path, quasi=["q1", "q2"], sensitive="s", guarantees=[KAnonymity(k=2)])


@pytest.mark.parametrize(
    ("ask", "first"),
    [
        pytest.param(read_it, "abc", id="read"),
        pytest.param(read_it, "aac", id="read, two equal values"),
        pytest.param(verify_it, "abc", id="verify"),
    ],
)
def test_a_file_without_a_header_does_not_show_its_first_row(ask, first, tmp_path):
    """Its first row, a person, is taken for the names of the columns."""
    rows = [[TEXT_MARK + value for value in row] for row in (first, "abd", "bbe")]
    with pytest.raises(shoal.errors.ShoalError) as caught:
        ask(write_csv(rows, tmp_path / "people.csv"))
    assert TEXT_MARK not in str(caught.value)


@pytest.mark.parametrize("verb", ["anonymize", "compare", "attack", "measure"])
def test_a_table_where_something_else_belongs_is_not_shown(verb):
    """A frame that is given as a method or an attack would show its rows by its `repr`."""
    rows = {"home": ["q1"] * 4, "disease": [f"{TEXT_MARK} 1", f"{TEXT_MARK} 2"] * 2}
    table = shoal.read(rows, shoal.Schema(quasi=["home"], sensitive="disease"))
    release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    wrong = {
        "anonymize": lambda: shoal.anonymize(table, rows),
        "compare": lambda: shoal.compare(table, [rows]),
        "attack": lambda: shoal.attack(release, rows),
        "measure": lambda: shoal.measure(release, rows),
    }[verb]
    with pytest.raises(shoal.errors.ParameterError, match="not a dict") as caught:
        wrong()
    assert TEXT_MARK not in str(caught.value)
