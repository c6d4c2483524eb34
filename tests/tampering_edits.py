"""Edits of releases, by kind: what a forger could hide in one, or say with it that is not true.

Every edit leaves all that can be made to fit in order, so that only what it changed is left to be
found. Each is drawn anew from a random number generator.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
from tampering import Stated, reseal, restate, state, stated_in

Edit = Callable[[Path, random.Random], None]
SECRET = "Anna has flu"
LABEL_TABLE = "labels.parquet"


def _data_file(folder: Path, draw: random.Random) -> Path:
    names = [one for one in stated_in(folder)["files"] if one.endswith((".csv", ".parquet"))]
    return folder / draw.choice([one for one in names if "/" not in one and one != LABEL_TABLE])


def _replaced(path: Path, edit: Callable[[str], str]) -> None:
    text = path.read_bytes().decode()
    changed = edit(text)
    assert changed != text
    path.write_bytes(changed.encode())


def _document(name: str, edits: list[Callable[[str], str]]) -> Edit:
    def edit(folder: Path, draw: random.Random) -> None:
        _replaced(folder / name, draw.choice(edits))
        restate(folder)

    return edit


def _planted(markup: str) -> Callable[[str], str]:
    return lambda text: text.replace("</main>", f"{markup}</main>")


REPORT = [
    _planted("<!--><script>1</script>-->"),
    _planted("<script>1</script>"),
    _planted("<img src=x onerror=f()>"),
    _planted("<style>p{background:u\\72l(//a.b)}</style>"),
    _planted(f"<p>{SECRET}</p>"),
    lambda text: text.replace("default-src 'none'", "default-src 'none' *"),
    lambda text: text.replace("It guarantees", "It guarantees even more than"),
    lambda text: text.replace("<title>", "<!-- --><title>"),
]
CODEBOOK = [
    lambda text: text + SECRET + "\n",
    lambda text: text.replace("# Codebook", "# Codebook of everybody"),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text + "<script>1</script>\n",
    lambda text: text.replace("not published", "published", 1).replace("Lines", "All lines", 1),
]
DDI = [
    lambda text: text.replace("</titl>", f" {SECRET}</titl>"),
    lambda text: text.replace("<stdyInfo>", f"<!-- {SECRET} --><stdyInfo>"),
    lambda text: text.replace("discrete", "contin", 1),
    lambda text: text.replace("</codeBook>", "<!-- --></codeBook>"),
    lambda text: text.replace("\n", "\n\n", 1),
]


def views(folder: Path, draw: random.Random) -> None:
    name = draw.choice(["views.duckdb.sql", "views.postgres.sql"])
    more = draw.choice(["DROP TABLE quasi;\n", f"-- {SECRET}\n", "\\! ls\n", " ", "COPY x TO 'y';"])
    _replaced(folder / name, lambda text: text + more)
    restate(folder)


def order_of_lines(folder: Path, draw: random.Random) -> None:
    path = _data_file(folder, draw)
    if path.suffix == ".parquet":
        _as_parquet(path, "SELECT * FROM given ORDER BY hash(rowid)")
    else:
        header, *lines = path.read_bytes().decode().splitlines(keepends=True)
        before = list(lines)
        while lines == before:
            draw.shuffle(lines)
        path.write_bytes("".join([header, *lines]).encode())
    reseal(folder, sort=False)


def form_of_lines(folder: Path, draw: random.Random) -> None:
    edits = [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text + "\n",
        lambda text: text.replace("\n", "\n\n", 1),
        lambda text: text.rstrip("\n"),
        lambda text: '"' + text.replace(",", '",', 1),
        lambda text: text.replace("\n", " \n", 1),
    ]
    path = _data_file(folder, draw)
    assert path.suffix == ".csv"
    _replaced(path, draw.choice(edits))
    reseal(folder, sort=False)


def contents_of_lines(folder: Path, draw: random.Random) -> None:
    """Leave out a line, write one twice, or change a value."""
    path = _data_file(folder, draw)
    if path.suffix == ".parquet":
        chosen = ["WHERE rowid <> 0", "UNION ALL SELECT * FROM given LIMIT 5", "WHERE rowid > 3"]
        _as_parquet(path, f"SELECT * FROM given {draw.choice(chosen)}")
    else:
        header, *lines = path.read_bytes().decode().splitlines(keepends=True)
        place = draw.randrange(len(lines))
        if draw.random() < 0.5:
            del lines[place]
        else:
            lines.insert(place, lines[place])
        path.write_bytes("".join([header, *lines]).encode())
    reseal(folder)


def labels(folder: Path, draw: random.Random) -> None:
    path = folder / "labels.json"
    told = json.loads(path.read_text("utf-8"))
    column = draw.choice(sorted(told))
    label = draw.choice(sorted(told[column]))
    kind = draw.randrange(5)
    if kind == 0:
        told[column][SECRET] = {"members": [SECRET]}
    elif kind == 1:
        del told[column][label]
    elif kind == 2:
        for meaning in told[column].values():
            meaning["interval"] = ["1000", "1001"]
    elif kind == 3:
        told["town of birth"] = {label: told[column][label]}
    else:
        told[column][label]["remark"] = SECRET
    text = json.dumps(told, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8", newline="")
    if kind == 4:
        restate(folder)
    else:
        reseal(folder)


def label_table(folder: Path, draw: random.Random) -> None:
    """Change what a table of labels says, or only how it is written."""
    path = folder / LABEL_TABLE
    told = [
        f"SELECT * REPLACE ('{SECRET}' AS label) FROM given LIMIT 1",
        "SELECT * FROM given LIMIT (SELECT count(*) - 1 FROM given)",
        f"SELECT * FROM given UNION ALL SELECT '~', '~', NULL, NULL, '{SECRET}', false, false",
        f"SELECT *, '{SECRET}' AS remark FROM given",
        "SELECT * REPLACE (NOT other AS other) FROM given",
        "SELECT * REPLACE (NOT missing AS missing) FROM given",
        "SELECT * FROM given ORDER BY label DESC",
    ]
    _as_parquet(path, draw.choice(told))
    draw.choice([restate, reseal])(folder)


def hierarchies(folder: Path, draw: random.Random) -> None:
    paths = sorted((folder / "hierarchies").iterdir())
    path = draw.choice([path for path in paths if path.stat().st_size])
    edits = [
        lambda text: text + f"{SECRET};" + ";".join(["*"] * text.split("\n")[0].count(";")) + "\n",
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text + text.split("\n")[0] + "\n",
        lambda text: text.replace("*\n", "*;*\n", 1),
        lambda text: text.replace("*\n", f"{SECRET}\n", 1),
    ]
    _replaced(path, draw.choice(edits))
    restate(folder)


def keys_of_manifest(folder: Path, draw: random.Random) -> None:
    restate(folder)
    path, kind = folder / "manifest.json", draw.randrange(6)
    if kind < 3:
        stated = stated_in(folder)
        place = [stated, stated["columns"][0], stated["method"]][kind]
        place[draw.choice(["note", "remark", "x"])] = SECRET
        state(folder, stated)
        return
    edits = [
        lambda text: text.replace("{", '{\n  "shape": "sliced",', 1),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("  ", "\t"),
    ]
    _replaced(path, edits[kind - 3])


def parameters(folder: Path, draw: random.Random) -> None:
    """State parameters that the guarantee contradicts, or that the method does not have."""

    def change(stated: Stated) -> None:
        given, (guarantee, *_) = stated["method"]["parameters"], stated["guarantees"]
        own = [name for name in guarantee if given.get(name) is not None and name != "name"]
        if own and draw.random() < 0.7:
            given[draw.choice(own)] = draw.randrange(90, 99)
        else:
            given[draw.choice(["note", "told", "x"])] = SECRET

    reseal(folder, change)


def versions(folder: Path, draw: random.Random) -> None:
    """Claim that another version wrote a document that was edited, or the whole release."""
    if draw.random() < 0.5:
        _replaced(
            folder / "report.html", lambda text: text.replace("It guarantees", "It also guarantees")
        )
        restate(folder, lambda stated: stated.update(documents=draw.randrange(90, 99)))
        return
    text = draw.choice(["\ufeff", "\n"])
    path = _data_file(folder, draw)
    if path.suffix == ".csv":
        _replaced(path, lambda old: text + old)

    def older(stated: Stated) -> None:
        stated["format_version"] = 1
        for name in ("documents", "remarks", "about"):
            del stated[name]

    restate(folder, older)


def statements(folder: Path, draw: random.Random) -> None:
    restate(folder)
    stated = stated_in(folder)
    kind = draw.randrange(3)
    if kind == 0:
        stated["guarantees"][0]["statement"] += draw.choice(
            [", and nobody is at risk", "!", " at all"]
        )
    elif kind == 1:
        stated["versions"]["shoal"] = draw.choice([SECRET, "nothing", ""])
    else:
        stated["witnesses"][draw.choice([SECRET, "x y.toml"])] = "0" * 64
    state(folder, stated)


def stray_files(folder: Path, draw: random.Random) -> None:
    name = draw.choice(["note.txt", "labels2.json", ".hidden", "hierarchies/x.csv", "a/b.csv"])
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(SECRET)
    if draw.random() < 0.5:
        restate(folder, lambda stated: stated["files"].update({name: ""}))


# --- Parquet alone -------------------------------------------------------------------------------


def _as_parquet(path: Path, query: str) -> None:
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute(
            f"CREATE TABLE given AS SELECT * FROM read_parquet('{path}'); "
            f"COPY ({query}) TO '{path}.new' (FORMAT parquet)"
        )
    shutil.move(f"{path}.new", path)


def metadata(folder: Path, draw: random.Random) -> None:
    path = _data_file(folder, draw)
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute(
            f"CREATE TABLE given AS SELECT * FROM read_parquet('{path}'); "
            f"COPY given TO '{path}.new' "
            f"(FORMAT parquet, KV_METADATA {{note: '{SECRET} {draw.random()}'}})"
        )
    shutil.move(f"{path}.new", path)
    reseal(folder, sort=False)


def dictionaries(folder: Path, draw: random.Random) -> None:
    """Write dictionary entries that no line uses."""
    import pyarrow as pa
    from pyarrow import parquet

    path = _data_file(folder, draw)
    table = parquet.read_table(path)
    columns = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_string(column.type):
            encoded = column.dictionary_encode()
            words = pa.concat_arrays([encoded.dictionary, pa.array([f"{SECRET} {draw.random()}"])])
            column = pa.DictionaryArray.from_arrays(encoded.indices, words)
        columns[name] = column
    parquet.write_table(pa.table(columns), path, store_schema=False)
    reseal(folder, sort=False)


def bytes_between(folder: Path, draw: random.Random) -> None:
    """Put bytes between the last page and the footer, where no reader looks."""
    path = _data_file(folder, draw)
    content = path.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    planted = SECRET.encode() * draw.randrange(1, 5)
    path.write_bytes(content[:begin] + planted + content[begin:])
    reseal(folder, sort=False)


def compression(folder: Path, draw: random.Random) -> None:
    path, kind = _data_file(folder, draw), draw.choice(["zstd", "gzip", "uncompressed", "lz4_raw"])
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_parquet('{path}')) TO '{path}.new' "
            f"(FORMAT parquet, COMPRESSION {kind})"
        )
    shutil.move(f"{path}.new", path)
    reseal(folder, sort=False)


def types_of_columns(folder: Path, draw: random.Random) -> None:
    """Write a column in another type, or add one."""
    path = _data_file(folder, draw)
    changed = ["SELECT *, 1 AS extra FROM given", "SELECT COLUMNS(*)::VARCHAR FROM given"]
    _as_parquet(path, draw.choice(changed))
    reseal(folder, sort=False)


ANY: dict[str, Edit] = {
    "report": _document("report.html", REPORT),
    "codebook": _document("codebook.md", CODEBOOK),
    "DDI": _document("codebook.xml", DDI),
    "order of lines": order_of_lines,
    "contents of lines": contents_of_lines,
    "keys of the manifest": keys_of_manifest,
    "parameters": parameters,
    "versions": versions,
    "statements": statements,
    "stray files": stray_files,
}
CSV: dict[str, Edit] = {"form of lines": form_of_lines}
LABELLED: dict[str, Edit] = {"labels": labels}
LABELLED_IN_PARQUET: dict[str, Edit] = {"table of labels": label_table}
WITH_HIERARCHIES: dict[str, Edit] = {"hierarchies": hierarchies}
WITH_VIEWS: dict[str, Edit] = {"views": views}
PARQUET: dict[str, Edit] = {
    "metadata": metadata,
    "unused dictionary entries": dictionaries,
    "bytes between pages": bytes_between,
    "compression": compression,
    "types of columns": types_of_columns,
}


def edits_of(folder: Path) -> dict[str, Edit]:
    """Return the kinds of edits that a release can take."""
    files = stated_in(folder)["files"]
    data = set(files) - {LABEL_TABLE}
    found = ANY | (PARQUET if any(name.endswith(".parquet") for name in data) else CSV)
    found |= LABELLED if "labels.json" in files else {}
    found |= LABELLED_IN_PARQUET if LABEL_TABLE in files else {}
    found |= WITH_HIERARCHIES if any(name.startswith("hierarchies/") for name in files) else {}
    return found | (WITH_VIEWS if "views.duckdb.sql" in files else {})
