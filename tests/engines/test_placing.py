"""Every part of a plan, against a slow twin that goes row by row."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.domain import Role
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.plan import Blank, Drop, Label, Plan, Recode, Redraw, Segments
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.engines.sql.apply import apply_plan
from shoal.engines.sql.domains import texts_of
from shoal.engines.sql.layout import published_queries
from shoal.engines.sql.published_files import PublishedFiles
from shoal.engines.sql.staged_files import StagedFiles
from shoal.engines.sql.table import EngineTable

QUASI = ("age", "pläce")
SENSITIVE = "disease"
INSENSITIVE = "note"
COLUMNS = (*QUASI, SENSITIVE)
SCHEMA = Schema(quasi=QUASI, sensitive=SENSITIVE, insensitive=INSENSITIVE, key="no",
                nearly_unique=INSENSITIVE)  # fmt: skip


def staged(engine, rows):
    """Stage rows of (key, age, place, disease, note)."""
    names = ("no", *COLUMNS, INSENSITIVE)
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return EngineTable(engine, engine.scan(columns), SCHEMA)


# --- the slow twin ---------------------------------------------------------------------------


@dataclass
class Line:
    """What becomes of one row."""

    key: str
    bucket: int
    codes: dict[str, int]
    note: str | None


def keyed_hash(secret, label, key):
    digest = hashlib.sha256(f"{secret.derive(label).hex()[:32]}:{key}".encode()).hexdigest()
    return int(digest[:15], 16)


def by_hash(secret, label, keys):
    return sorted(keys, key=lambda key: (keyed_hash(secret, label, key), key))


def coded_rows(table, rows):
    """Give the codes of every row by its key."""
    texts = {column: domain.labels() for column, domain in table.domains.items()}
    return {
        str(row[0]): {
            column: texts[column].index(None if value is None else str(value))
            for column, value in zip(COLUMNS, row[1:4], strict=True)
        }
        for row in rows
    }


def placed_slowly(table, rows, plan, secret):
    """Give the bucket, as the plan numbers it, of every row that is not dropped."""
    codes = coded_rows(table, rows)
    members = defaultdict(list)
    for key, row in codes.items():
        members[tuple(row[column] for column in plan.classes.columns)].append(key)
    by_class = defaultdict(list)
    for number, cell in zip(plan.class_of_cell.tolist(), plan.classes.codes.tolist(), strict=True):
        by_class[number] += members[tuple(cell)]
    bucket = {}
    for number, keys in by_class.items():
        for rank, key in enumerate(by_hash(secret, "rank", keys)):
            segments = plan.assign
            for s in range(len(segments.group)):
                if segments.group[s] == number and segments.first[s] <= rank < segments.last[s]:
                    place = segments.base[s] + segments.step[s] * (rank - segments.first[s])
                    bucket[key] = int(place % segments.modulus[s] if segments.modulus[s] else place)
    return bucket


def redrawn_slowly(bucket, codes, redraw, secret):
    """Give the sensitive code of every row after values were redrawn."""
    drawn = {key: codes[key][SENSITIVE] for key in bucket}
    order = sorted(range(len(redraw.bucket)), key=lambda i: (redraw.bucket[i], redraw.old[i]))
    queues = {}
    for i in order:
        group = (int(redraw.bucket[i]), int(redraw.old[i]))
        if group not in queues:
            held = [k for k, b in bucket.items() if (b, codes[k][SENSITIVE]) == group]
            queues[group] = iter(by_hash(secret, "redraw", held))
        for _ in range(redraw.count[i]):
            drawn[next(queues[group])] = int(redraw.new[i])
    return drawn


def shown_slowly(table, rows, plan, secret):
    """Give what is published of every row, by its key: bucket, texts by column, note."""
    codes = coded_rows(table, rows)
    notes = {str(row[0]): row[4] for row in rows}
    bucket = placed_slowly(table, rows, plan, secret)
    drawn = redrawn_slowly(bucket, codes, plan.redraw, secret)
    published_id = secret.permutation("bucket numbers", plan.n_buckets) + 1
    blanked = {(key, column) for column, keys in plan.blank.keys.items() for key in keys}
    recodes = {recode.column: recode for recode in plan.recode}
    shown = {}
    for key, place in bucket.items():
        row = codes[key] | {SENSITIVE: drawn[key]}
        texts = {}
        for column in COLUMNS:
            text = table.domains[column].text(row[column])
            if column in recodes:
                index = place if recodes[column].by == "bucket" else row[column]
                text = recodes[column].labels[recodes[column].index[index]].text
            texts[column] = "*" if (key, column) in blanked else text
        shown[key] = (int(published_id[place]), texts, notes[key])
    return shown


# --- random tables and plans -----------------------------------------------------------------

_TEXTS = st.none() | st.sampled_from(["Köln", "", "🐟", 'q"', "b", "01"])
_ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(8, 11), _TEXTS, st.none() | st.sampled_from(["flu", "Fieber", "x"]),
        st.none() | st.sampled_from(["n", "", "=1"]),
    ),
    min_size=1, max_size=25,
)  # fmt: skip


@st.composite
def keyed_rows(draw):
    rows = draw(_ROWS)
    keys = draw(st.lists(st.text("ab1ü", min_size=1, max_size=4), min_size=len(rows),
                         max_size=len(rows), unique=True))  # fmt: skip
    return [(key, *row) for key, row in zip(keys, rows, strict=True)]


@st.composite
def segments_of(draw, size, n_buckets):
    """Cut the ranks of a class into segments; the bucket is None where they are dropped."""
    found = []
    first = 0
    while first < size:
        last = draw(st.integers(first + 1, size))
        kind = draw(st.sampled_from(["one", "next", "ring", "drop"]))
        if kind == "ring":
            modulus = draw(st.integers(1, n_buckets))
            step = draw(st.integers(1, 3))
            found.append((first, last, draw(st.integers(0, 2 * n_buckets)), step, modulus))
        elif kind == "next" and last - first <= n_buckets:
            base = draw(st.integers(0, n_buckets - (last - first)))
            found.append((first, last, base, 1, 0))
        elif kind == "drop":
            found.append((first, last, None, 0, 0))
        else:
            found.append((first, last, draw(st.integers(0, n_buckets - 1)), 0, 0))
        first = last
    return found


@st.composite
def plans(draw, table, keys):
    columns = draw(st.sampled_from([COLUMNS, (SENSITIVE,), QUASI, ("pläce", SENSITIVE), ()]))
    classes = table.counts(columns)
    n_buckets = draw(st.integers(1, 5))
    merged = None
    counts = classes.counts
    if draw(st.booleans()):
        drawn = draw(st.lists(st.integers(0, 3), min_size=len(counts), max_size=len(counts)))
        merged = np.unique(drawn, return_inverse=True)[1]
        counts = np.bincount(merged, counts).astype(np.int64)
    parts = [
        (group, *segment)
        for group, size in enumerate(counts.tolist())
        for segment in draw(segments_of(size, n_buckets))
    ]
    placed = [part for part in parts if part[3] is not None]
    dropped = [part[:3] for part in parts if part[3] is None]
    assign = Segments(*np.array(placed, dtype=np.int64).reshape(-1, 6).T)
    drop = Drop(*np.array(dropped, dtype=np.int64).reshape(-1, 3).T, reason="drawn")
    recode = tuple(
        draw(recodes(table.domains[column], n_buckets)) for column in COLUMNS if draw(st.booleans())
    )
    blanks = draw(st.sets(st.tuples(st.sampled_from(sorted(keys)), st.sampled_from(COLUMNS)),
                          max_size=5))  # fmt: skip
    columns = sorted({column for _, column in blanks})
    blank = Blank(
        {c: np.array([key for key, column in blanks if column == c], dtype=object) for c in columns}
    )
    return Plan(classes, n_buckets, assign, recode, drop, blank, merged=merged)


@st.composite
def recodes(draw, domain, n_buckets):
    by = draw(st.sampled_from(["bucket", "value"]))
    texts = draw(
        st.lists(st.sampled_from(["A", "b…", "[1, 2[", None, "Ü"]), min_size=1, max_size=4)
    )
    labels = tuple(Label(text, interval=("1", "2") if text == "[1, 2[" else None) for text in texts)
    size = n_buckets if by == "bucket" else domain.size
    index = draw(st.lists(st.integers(0, len(labels) - 1), min_size=size, max_size=size))
    return Recode(domain.column, by, np.array(index, dtype=np.int64), labels)


@st.composite
def redraws(draw, held, domain):
    """Redraw no more values than a bucket holds; `held` counts (bucket, code)."""
    entries = []
    for (bucket, old), count in sorted(held.items()):
        rest = count
        while rest and draw(st.booleans()):
            n_drawn = draw(st.integers(1, rest))
            entries.append((bucket, old, draw(st.integers(0, domain.size - 1)), n_drawn))
            rest -= n_drawn
    draw(st.randoms()).shuffle(entries)
    return Redraw(*np.array(entries, dtype=np.int64).reshape(-1, 4).T)


@st.composite
def cases(draw, engine):
    rows = draw(keyed_rows())
    table = staged(engine, rows)
    plan = draw(plans(table, {row[0] for row in rows}))
    secret = Secret.from_seed(draw(st.integers(0, 99)))
    codes = coded_rows(table, rows)
    bucket = placed_slowly(table, rows, plan, secret)
    held = Counter((place, codes[key][SENSITIVE]) for key, place in bucket.items())
    redraw = draw(redraws(held, table.domains[SENSITIVE]))
    parts = {"recode": plan.recode, "drop": plan.drop, "blank": plan.blank, "redraw": redraw}
    parts |= {"merged": plan.merged}
    return table, rows, Plan(plan.classes, plan.n_buckets, plan.assign, **parts), secret


# --- the tests -------------------------------------------------------------------------------


def published(engine, table, plan, shape, number):
    """Give the lines of every file as lists of values."""
    lines = {}
    for name, query in published_queries(table, plan, shape, number).items():
        fetched = engine.publisher.rows(query)
        lines[name] = list(zip(*(texts_of(array) for array in fetched.values()), strict=True))
    return lines


def keys_by_line(engine, number):
    fetched = engine.publisher.rows(f"SELECT row_key, line FROM published_{number} ORDER BY line")
    assert fetched["line"].tolist() == list(range(1, len(fetched["line"]) + 1))
    return texts_of(fetched["row_key"])


@given(st.data())
@settings(max_examples=60)
def test_a_generalized_release_shows_every_row_as_the_slow_twin_does(engine, data):
    table, rows, plan, secret = data.draw(cases(engine))
    plan.check()
    expected = shown_slowly(table, rows, plan, secret)
    number = apply_plan(table, plan, secret, Shape.GENERALIZED)
    lines = published(engine, table, plan, Shape.GENERALIZED, number)["table"]
    keys = keys_by_line(engine, number)
    assert sorted(keys) == sorted(expected)
    for key, line in zip(keys, lines, strict=True):
        _, texts, note = expected[key]
        assert line == (*(texts[column] for column in QUASI), note, texts[SENSITIVE])


@given(st.data())
@settings(max_examples=60)
def test_a_bucketized_release_shows_every_row_as_the_slow_twin_does(engine, data):
    table, rows, plan, secret = data.draw(cases(engine))
    expected = shown_slowly(table, rows, plan, secret)
    number = apply_plan(table, plan, secret, Shape.BUCKETIZED)
    files = published(engine, table, plan, Shape.BUCKETIZED, number)
    keys = keys_by_line(engine, number)
    assert sorted(keys) == sorted(expected)
    for key, line in zip(keys, files["quasi"], strict=True):
        bucket, texts, note = expected[key]
        assert line == (str(bucket), *(texts[column] for column in QUASI), note)
    counted = Counter((str(bucket), texts[SENSITIVE]) for bucket, texts, _ in expected.values())
    assert {line[:2]: int(line[2]) for line in files["sensitive"]} == counted
    assert len(files["sensitive"]) == len(counted)
    assert [int(line[0]) for line in files["sensitive"]] == sorted(
        int(line[0]) for line in files["sensitive"]
    )


@given(st.data(), st.sampled_from([Shape.GENERALIZED, Shape.BUCKETIZED]))
@settings(max_examples=60)
def test_what_is_laid_out_is_counted_as_its_lines_are(engine, data, shape):
    table, _, plan, secret = data.draw(cases(engine))
    number = apply_plan(table, plan, secret, shape)
    laid_out = StagedFiles(table, plan, shape, number)
    recoded = {recode.column for recode in plan.recode} | set(plan.blank.counts)
    roles = {**dict.fromkeys(QUASI, Role.QUASI), INSENSITIVE: Role.INSENSITIVE,
             SENSITIVE: Role.SENSITIVE}  # fmt: skip
    columns = tuple(
        PublishedColumn(column, role, table.type_of(column), is_recoded=column in recoded)
        for column, role in roles.items()
    )
    stated = Manifest(shape=shape, method="none", parameters={}, guarantees=(), columns=columns,
                      n_rows=table.n_rows, n_buckets=plan.n_buckets)  # fmt: skip
    found = laid_out.published(stated, {})
    read = PublishedFiles(engine.publisher, laid_out.queries).published(stated, {})
    for one, other in ((found.lines, read.lines), (found.buckets, read.buckets)):
        for name in ("codes", "counts") if one is found.lines else ("bucket", "value", "count"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert [domain.labels() for domain in found.lines.domains] == [
        domain.labels() for domain in read.lines.domains
    ]
    assert found.buckets.domain.labels() == read.buckets.domain.labels()


@given(st.data())
@settings(max_examples=40)
def test_lines_are_sorted_by_what_they_publish(engine, data):
    table, _, plan, secret = data.draw(cases(engine))
    recoded = {recode.column: recode for recode in plan.recode}

    def rank(column, text):
        if text == "*":
            return (-1,)
        if column not in recoded:
            return (0, table.domains[column].labels().index(text))
        low = 1.0 if text == "[1, 2[" else float("inf")
        return (0, text is None, low, text or "")

    def content(line):
        return tuple(rank(column, text) for column, text in zip(COLUMNS, line, strict=False))

    number = apply_plan(table, plan, secret, Shape.GENERALIZED)
    lines = published(engine, table, plan, Shape.GENERALIZED, number)["table"]
    shown = [(*content((*line[:2], line[3])), line[2] is None, line[2] or "") for line in lines]
    assert shown == sorted(shown)
    number = apply_plan(table, plan, secret, Shape.BUCKETIZED)
    lines = published(engine, table, plan, Shape.BUCKETIZED, number)["quasi"]
    shown = [(int(line[0]), *content(line[1:3]), line[3] is None, line[3] or "") for line in lines]
    assert shown == sorted(shown)


@pytest.mark.parametrize("rows_a_slot", [1, 40, 2**20], ids=["many slots", "some", "one"])
def test_rows_of_a_class_are_ranked_by_a_keyed_hash_of_their_key(engine, monkeypatch, rows_a_slot):
    monkeypatch.setattr("shoal.engines.sql.apply._ROWS_PER_SLOT", rows_a_slot)
    rows = [(f"k{i}", 30, "b", "flu", None) for i in range(500)]
    table = staged(engine, rows)
    secret = Secret.from_seed(3)
    classes = table.counts([SENSITIVE])
    one = np.zeros(1, dtype=np.int64)
    assign = Segments(one, one, one + 500, one, one + 1, one)
    plan = Plan(classes, 500, assign)
    number = apply_plan(table, plan, secret, Shape.BUCKETIZED)
    fetched = engine.publisher.rows(f"SELECT row_key, bucket FROM {table.published_name(number)}")
    place = {int(b): p for p, b in enumerate(secret.permutation("bucket numbers", 500) + 1)}
    ranked = sorted(range(500), key=lambda i: place[int(fetched["bucket"][i])])
    keys = texts_of(fetched["row_key"])
    assert [keys[i] for i in ranked] == by_hash(secret, "rank", [row[0] for row in rows])


def test_bucket_numbers_are_a_permutation(engine):
    rows = [(str(i), i, "b", "flu", None) for i in range(50)]
    table = staged(engine, rows)
    classes = table.counts(["age"])
    assign = Segments.whole_classes(np.arange(50), classes.counts)
    orders = []
    for seed in (1, 2):
        plan = Plan(classes, 50, assign)
        number = apply_plan(table, plan, Secret.from_seed(seed), Shape.BUCKETIZED)
        fetched = engine.publisher.rows(
            f"SELECT bucket FROM {table.published_name(number)} ORDER BY row_key"
        )
        assert sorted(fetched["bucket"].tolist()) == list(range(1, 51))
        orders.append(fetched["bucket"].tolist())
    assert orders[0] != orders[1] != list(range(1, 51))


def test_many_segments_of_one_large_class_place_every_row(engine):
    n_rows, n_segments = 20_000, 3_000
    rng = np.random.default_rng(1)
    rows = [(str(i), 1, "b", "flu", None) for i in range(n_rows)]
    table = staged(engine, rows)
    classes = table.counts(COLUMNS)
    cuts = np.sort(rng.choice(np.arange(1, n_rows), n_segments - 1, replace=False))
    first, last = np.r_[0, cuts], np.r_[cuts, n_rows]
    zero = np.zeros(n_segments, dtype=np.int64)
    bucket = rng.permutation(n_segments)
    plan = Plan(classes, n_segments, Segments(zero, first, last, bucket, zero, zero))
    plan.check()
    secret = Secret.from_seed(0)
    number = apply_plan(table, plan, secret, Shape.BUCKETIZED)
    fetched = engine.publisher.rows(
        f"SELECT bucket, count(*) AS n FROM published_{number} GROUP BY bucket ORDER BY bucket"
    )
    sizes = np.zeros(n_segments, dtype=np.int64)
    sizes[secret.permutation("bucket numbers", n_segments)[bucket]] = last - first
    assert fetched["n"].tolist() == sizes.tolist()


def test_releases_of_one_table_do_not_disturb_each_other(engine):
    rows = [(str(i), i % 3, "b", "flu", None) for i in range(9)]
    table = staged(engine, rows)
    classes = table.counts(["age"])
    plans_made = []
    for text in ("first", "second"):
        recode = Recode("age", "value", np.zeros(3, dtype=np.int64), (Label(text),))
        assign = Segments.whole_classes(np.arange(3), classes.counts)
        plan = Plan(classes, 3, assign, recode=(recode,))
        number = apply_plan(table, plan, Secret.from_seed(1), Shape.GENERALIZED)
        plans_made.append((text, plan, number))
    for text, plan, number in plans_made:
        lines = published(engine, table, plan, Shape.GENERALIZED, number)["table"]
        assert {line[0] for line in lines} == {text}


def test_everything_may_be_dropped(engine):
    table = staged(engine, [("1", 1, "b", "flu", None), ("2", 2, "b", "flu", None)])
    classes = table.counts(COLUMNS)
    empty = np.empty(0, dtype=np.int64)
    drop = Drop(np.arange(2), np.zeros(2, dtype=np.int64), classes.counts, "all of them")
    plan = Plan(classes, 0, Segments(*[empty] * 6), drop=drop)
    plan.check()
    number = apply_plan(table, plan, Secret.from_seed(1), Shape.GENERALIZED)
    assert published(engine, table, plan, Shape.GENERALIZED, number) == {"table": []}
