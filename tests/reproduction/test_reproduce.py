"""Running papers again: what is written, what is left out, and what is never overwritten."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
import types
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from reproduction import PAPERS
from reproduction import reproduce as job
from reproduction.reproduced import Curve, Figure, Planned, Statement, compared

from shoal.core.errors import DataError, EngineError, InternalError, ParameterError
from shoal.engines.private_directory import FileLock

PROJECT = Path(__file__).parents[2]

HOSTILE = (
    "<script>document.title='run'</script>",
    "\"'><svg onload=document.title='run'>",
    "]](javascript:alert(1)) | `x` \n# heading\n\u202eback\x00",
    "long " * 300,
)


def made(name="figure-1", text="Rules", **more):
    statements = (
        compared("rules", 45, 44),
        compared("rows", 700, 500, why=f"other hierarchies {text}"),
        compared("seconds", None, 0.5),
        Statement(text, text, text, "differs", text),
    )
    given = {
        "setting": text,
        "x": (0.1, 0.2, 0.4),
        "curves": (Curve("found", (3, 2, 1)), Curve(text, (math.nan, 5.5, 1e-9))),
        "statements": statements,
    }
    return Figure(name, f"Figure {text}", x_name=text, y_name=text, **{**given, **more})


@pytest.fixture
def paper(monkeypatch):
    """Give what puts experiments in the place of a paper's."""

    def put(name, *planned):
        module = types.ModuleType(name)
        module.PLANNED = planned
        monkeypatch.setitem(sys.modules, f"reproduction.{name}", module)

    return put


@pytest.fixture
def injector(paper):
    paper("injector", Planned("Figure 1", False, lambda _: [made()]))


@pytest.fixture
def target(tmp_path):
    return tmp_path / "results"


def everything(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# --- what is run ---------------------------------------------------------------------------------


def test_it_runs_what_is_planned_in_order_and_says_so(paper, target):
    seen = []

    def run(setting):
        seen.append((setting.adult, setting.is_quick, setting.seed))
        return [made("a"), made("b")]

    paper("slicing", Planned("Figure 2", False, run), Planned("Figure 3", False, lambda _: []))
    paper("injector", Planned("Figure 1", False, run))
    steps = []
    run_again = job.reproduce(["slicing", "injector"], folder=target, seed=7, progress=steps.append)
    assert steps == [
        *("injector: Figure 1", "slicing: Figure 2", "slicing: Figure 3", "write the page"),
    ]
    assert seen == [(None, False, 7)] * 2
    assert [figure.name for figure in run_again.figures["slicing"]] == ["a", "b"]
    assert repr(run_again) == "Reproduction(4 figures of injector, slicing)"
    assert set(run_again.seconds) == {"injector", "slicing"}


def test_all_stands_for_every_paper(paper, target):
    for name in PAPERS:
        paper(name, Planned("Figure 1", False, lambda _: [made()]))
    assert list(job.reproduce("all", folder=target).figures) == list(PAPERS)


@pytest.mark.parametrize("name", list(PAPERS))
def test_every_paper_is_planned_in_a_module_of_its_name(name):
    pytest.importorskip(f"reproduction.{name}")
    planned = job._planned(name)
    assert planned
    assert all(isinstance(one, Planned) for one in planned)
    assert len({one.title for one in planned}) == len(planned)


def test_without_adult_it_says_what_it_left_out(paper, target, tmp_path):
    def run(setting):
        assert setting.adult is not None
        return [made("adult")]

    paper(
        "injector",
        Planned("Figure 1", False, lambda _: [made()]),
        Planned("Figure 2 (Adult)", True, run),
    )
    without = job.reproduce("injector", folder=target)
    assert [(one.paper, one.title) for one in without.left_out] == [
        ("injector", "Figure 2 (Adult)")
    ]
    assert [figure.name for figure in without.figures["injector"]] == ["figure-1"]
    for name in ("reproduction.html", "reproduction.md"):
        text = (target / name).read_text()
        assert "Figure 2 (Adult)" in text
        assert "it needs the Adult table, which was not given" in text
    table = tmp_path / "adult.csv"
    table.touch()
    given = job.reproduce("injector", adult=table, folder=target)
    assert given.left_out == ()
    assert len(given.figures["injector"]) == 2
    assert "Left out" not in (target / "reproduction.md").read_text()


def test_a_quick_run_judges_nothing_and_says_so(injector, target):
    quick = job.reproduce("injector", folder=target, quick=True)
    (figure,) = quick.figures["injector"]
    assert [one.verdict for one in figure.statements] == [
        *("not judged", "not judged", "not stated in the paper", "not judged"),
    ]
    assert not any(one.why for one in figure.statements)
    assert [one.ours for one in figure.statements] == [one.ours for one in made().statements]
    for name in ("reproduction.html", "reproduction.md"):
        assert "no statement is judged" in (target / name).read_text()
    job.reproduce("injector", folder=target)
    assert "no statement is judged" not in (target / "reproduction.html").read_text()


def test_verdicts_are_counted(injector, target):
    run = job.reproduce("injector", folder=target)
    assert run.verdicts["injector"] == {
        "reproduced": 1,
        "differs": 2,
        "not stated in the paper": 1,
        "not judged": 0,
    }
    assert "| injector | 1 | 2 | 1 | 0 | 0 |" in (target / "reproduction.md").read_text()
    stated = run.to_dict()
    assert stated["papers"]["injector"]["figures"]["figure-1"][1]["why"].startswith("28.6 % less")


# --- what is written -----------------------------------------------------------------------------


def test_the_folder_holds_a_page_a_text_drawings_and_numbers(injector, target):
    run = job.reproduce("injector", folder=target)
    assert everything(target) == {
        *("reproduction.html", "reproduction.md"),
        *("figures/injector-figure-1.svg", "data/injector-figure-1.csv"),
    }
    assert run.page.is_file()
    with (target / "data" / "injector-figure-1.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["Rules", "found", "Rules"],
            ["0.1", "3", ""],
            ["0.2", "2", "5.5"],
            ["0.4", "1", "1e-09"],
        ]
    drawing = (target / "figures" / "injector-figure-1.svg").read_text()
    assert fromstring(drawing) is not None
    assert drawing.strip() in (target / "reproduction.html").read_text()
    text = (target / "reproduction.md").read_text()
    assert "![Figure Rules](figures/injector-figure-1.svg)" in text
    assert "[data/injector-figure-1.csv](data/injector-figure-1.csv)" in text
    assert "| rules | 45 | 44 | reproduced |  |" in text
    assert "| seconds | not stated | 0.5 | not stated in the paper |  |" in text


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_texts_say_nothing_of_them_is_markup(paper, target, text):
    title = f"Figure 2 {text}"
    paper(
        "injector",
        Planned("Figure 1", False, lambda _: [made(text=text), made("bars", text, x=(text,) * 3)]),
        Planned(title, True, lambda _: []),
    )
    job.reproduce("injector", folder=target)
    page = (target / "reproduction.html").read_text()
    assert "<script" not in page
    assert "<svg onload" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
    for drawing in (target / "figures").iterdir():
        fromstring(drawing.read_text())
    lines = (target / "reproduction.md").read_text().splitlines()
    assert not any("<" in line for line in lines)
    # Every row of a table has as many cells as its head.
    unescaped = [line.replace("\\|", "") for line in lines]
    counts = {line.count("|") for line in unescaped if line.startswith("|")}
    assert counts == {4, 6, 7}
    assert [line for line in lines if line.startswith("# ")] == ["# Papers run again"]
    assert "](javascript" not in "".join(lines).replace("\\]", "")


def test_numbers_of_figures_that_are_no_numbers_are_left_empty(paper, target):
    curves = (Curve("a", (math.nan, 0.1 + 0.2)),)
    paper("injector", Planned("1", False, lambda _: [made(x=("p", "q"), curves=curves)]))
    job.reproduce("injector", folder=target)
    rows = (target / "data" / "injector-figure-1.csv").read_text().splitlines()
    assert rows == ["Rules,a", "p,", "q,0.30000000000000004"]


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("papers", ["poker", ["injector", "poker"], [], ()])
def test_papers_that_are_not_known_are_refused(papers, target):
    with pytest.raises(ParameterError, match=r"paper"):
        job.reproduce(papers, folder=target)
    assert not target.exists()


@pytest.mark.parametrize("seed", [-1, 0.5, True])
def test_seeds_are_whole_numbers(seed, target, injector):
    with pytest.raises(ParameterError, match="seed"):
        job.reproduce("injector", folder=target, seed=seed)


def test_an_adult_table_that_is_not_there_is_refused_before_anything_runs(paper, tmp_path):
    paper("injector", Planned("Figure 1", False, lambda _: pytest.fail("it ran")))
    with pytest.raises(DataError, match="There is no file"):
        job.reproduce("injector", adult=tmp_path / "none.csv", folder=tmp_path / "results")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "figures",
    [
        [made("../escape")],
        [made("a b")],
        [made("")],
        [made("same"), made("same")],
        [made(curves=(Curve("short", (1.0,)),))],
    ],
)
def test_figures_that_cannot_be_written_are_a_bug_of_ours(paper, target, figures):
    paper("injector", Planned("Figure 1", False, lambda _: figures))
    with pytest.raises(InternalError):
        job.reproduce("injector", folder=target)
    assert not target.exists()


def occupied(target, kind):
    if kind == "file":
        target.write_text("mine")
        return
    target.mkdir()
    if kind != "other":
        (target / "reproduction.html").write_text("old")
        (target / "reproduction.md").write_text("old")
    if kind == "nested":
        (target / "data").mkdir()
        (target / "data" / "notes.txt").write_text("mine")
    else:
        (target / "thesis.tex").write_text("mine")


@pytest.mark.parametrize("kind", ["file", "other", "beside", "nested"])
def test_what_is_not_its_own_is_never_overwritten(paper, target, kind):
    paper("injector", Planned("Figure 1", False, lambda _: pytest.fail("it ran")))
    occupied(target, kind)
    with pytest.raises(ParameterError, match="holds something else"):
        job.reproduce("injector", folder=target)
    left = [path for path in (target, *target.rglob("*")) if path.is_file()]
    assert any(path.read_text() == "mine" for path in left)


def test_its_own_folder_and_an_empty_one_are_replaced(injector, target, paper):
    target.mkdir()
    job.reproduce("injector", folder=target)
    paper("slicing", Planned("Figure 9", False, lambda _: [made("other")]))
    job.reproduce("slicing", folder=target)
    assert everything(target) == {
        *("reproduction.html", "reproduction.md"),
        *("figures/slicing-other.svg", "data/slicing-other.csv"),
    }
    assert [path.name for path in target.parent.iterdir()] == ["results"]


# --- whole or not at all -------------------------------------------------------------------------


def test_an_experiment_that_fails_leaves_the_earlier_results(paper, injector, target):
    job.reproduce("injector", folder=target)
    before = (target / "reproduction.md").read_text()

    def fail(_):
        raise RuntimeError

    paper("injector", Planned("Figure 1", False, lambda _: [made()]), Planned("2", False, fail))
    with pytest.raises(RuntimeError):
        job.reproduce("injector", folder=target)
    assert (target / "reproduction.md").read_text() == before
    assert [path.name for path in target.parent.iterdir()] == ["results"]


@pytest.mark.parametrize("at", ["write_text", "rename"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_disk_that_fails_leaves_the_earlier_results_or_none(
    injector, target, monkeypatch, at, is_there
):
    if is_there:
        job.reproduce("injector", folder=target)
    before = everything(target) if is_there else None
    right, calls = getattr(Path, at), []

    def fail(self, *given, **named):
        calls.append(self)
        # The new folder is renamed last, after the old one stepped aside.
        if at == "write_text" or ".new-" in self.name:
            raise OSError(28, "No space left on device")
        return right(self, *given, **named)

    monkeypatch.setattr(Path, at, fail)
    with pytest.raises(EngineError, match="No space left"):
        job.reproduce("injector", folder=target)
    monkeypatch.undo()
    assert calls
    assert (everything(target) if target.exists() else None) == before
    assert [path.name for path in target.parent.iterdir()] == (["results"] if is_there else [])


def test_what_a_killed_process_left_is_undone(injector, target):
    job.reproduce("injector", folder=target)
    before = (target / "reproduction.html").read_bytes()
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from reproduction import reproduce as job\n"
        "right = Path.rename\n"
        "def rename(self, other):\n"
        "    if '.new-' in self.name:\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return right(self, other)\n"
        "Path.rename = rename\n"
        "with job.whole_folder(Path(sys.argv[1]), lambda _: True) as new:\n"
        "    (new / 'half').write_text('x')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(target)], cwd=PROJECT, check=False)
    assert ran.returncode == -9
    assert not target.exists()
    with job.whole_folder(target, job._is_own) as new:
        assert (target / "reproduction.html").read_bytes() == before
        (new / "whole").write_text("x")
    assert everything(target) == {"whole"}
    assert [path.name for path in target.parent.iterdir()] == ["results"]


def test_two_at_once_do_not_write_the_same_folder(injector, target):
    lock = FileLock.take(target.with_name(f".{target.name}.lock"))
    try:
        with pytest.raises(EngineError, match="Another process"):
            job.reproduce("injector", folder=target)
    finally:
        lock.release()
    assert not target.exists()


def test_the_root_of_a_disk_is_refused(injector):
    with pytest.raises(ParameterError, match="root"):
        job.reproduce("injector", folder="/")


def test_a_place_that_nobody_may_write_is_refused_before_anything_runs(paper, tmp_path):
    paper("injector", Planned("Figure 1", False, lambda _: pytest.fail("it ran")))
    (tmp_path / "file").write_text("x")
    with pytest.raises(EngineError, match="could not be written"):
        job.reproduce("injector", folder=tmp_path / "file" / "results")
