"""The reports of a hostile table, opened in a real browser: nothing runs and nothing is fetched."""

from __future__ import annotations

import html
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from reproduction.page import Paper, Summary, html_page
from reproduction.reproduced import Curve, Figure, Statement

import shoal
from shoal.report.risk_picture import Point, risk_picture

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is at hand")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--disable-extensions", "--mute-audio", "--enable-logging=stderr"),
)
HOSTILE = (
    "<script>document.title='run'</script>",
    "<img src=http://127.0.0.1:9/x onerror=\"document.title='run'\">",
    "\"'><svg onload=document.title='run'>",
    "</style></title></textarea><script>document.title='run'</script>",
    "\u202eدمشق\u202c שלום",
    "long" * 400,
)
TOWN, ILL = HOSTILE[1], "</title>\u202e<script>alert(1)</script>"
METHODS = {
    "generalized": shoal.Mondrian(k=5, ell=2),
    "bucketized": shoal.Anatomy(ell=2),
    "sliced": shoal.Slicing(ell=2, columns="bucketized"),
    "distorted": shoal.Mask(k=5, m=2, protect=["flu"]),
    "suppressed": shoal.RuleHiding(private=f"{ILL} where age < 22", gamma=4),
}


class Silent(http.server.BaseHTTPRequestHandler):
    """Answers that there is nothing."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def opened(page: Path, folder: Path, *flags: str) -> tuple[str, str, list[str]]:
    """Open a page; give what was written, what was logged, and what was asked for."""
    log = folder / "net.json"
    given = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", *flags)
    ran = subprocess.run(
        [BROWSER, *FLAGS, *given, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    events = json.loads(log.read_text(encoding="utf-8", errors="replace"))["events"]
    urls = [event.get("params", {}).get("url", "") for event in events]
    return ran.stdout, ran.stderr, [url for url in urls if url.startswith(("http", "ws"))]


def of_page(urls: list[str]) -> list[str]:
    """Leave out what the browser asks its maker for by itself."""
    own = ("google", "gvt1.com", "gstatic")
    return [url for url in urls if not any(name in url.split("/")[2] for name in own)]


def made(method: shoal.Method, folder: Path) -> list[Path]:
    """Seal a release of a hostile table; give its two reports."""
    n = 60
    table = shoal.read(
        {
            TOWN: [HOSTILE[i % 6] for i in range(n)],
            "age": [20 + i % 10 for i in range(n)],
            ILL: [(*HOSTILE[:3], "flu", "cold")[i % 5] for i in range(n)],
            "name": [f"person {i}" for i in range(n)],
        },
        shoal.Schema(quasi=[TOWN, "age"], sensitive=ILL, identifying="name"),
    )
    release = shoal.anonymize(table, method)
    shape = release.manifest.shape
    linkage = (
        shoal.attacks.SlicedLinkage() if shape.name == "sliced" else shoal.attacks.Linkage(limit=1)
    )
    public = release.write(
        folder,
        findings=shoal.attack(release, linkage),
        measured=shoal.measure(release, shoal.measures.Loss()),
    )
    return [public / "report.html", folder.with_name(f"{folder.name}.internal") / "report.html"]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Open every report of every shape at once, each in a frame of one page: one start does."""
    folder = tmp_path_factory.mktemp("hostile")
    reports = [page for name, method in METHODS.items() for page in made(method, folder / name)]
    points = [Point(HOSTILE[0], risk=0.3, loss=0.1), Point("anatomy", risk=0.1, loss=0.4)]
    picture = risk_picture(points, "anatomy")
    drawn = folder / "drawn.html"
    drawn.write_text(f"<!DOCTYPE html><meta charset=utf-8><figure>{picture}</figure>", "utf-8")
    frames = "".join(
        f'<iframe src="{one.relative_to(folder)}" width=1000 height=700></iframe>'
        for one in (*reports, drawn)
    )
    sheet = folder / "all.html"
    # The script of the sheet, not of any report, tells what became of each.
    sheet.write_text(
        f"<!DOCTYPE html><meta charset=utf-8>{frames}<pre></pre><script>{_TELL}</script>", "utf-8"
    )
    flags = ("--dump-dom", "--allow-file-access-from-files", "--virtual-time-budget=4000")
    shown, logged, urls = opened(sheet, folder, *flags)
    told = json.loads(html.unescape(shown.partition("<pre>")[2].partition("</pre>")[0]))
    return reports, dict(zip((*reports, drawn), told, strict=True)), logged, of_page(urls)


_TELL = """
onload = () => {
  const told = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument;
    const drawn = [...page.querySelectorAll("svg")].map((svg) => svg.getBoundingClientRect());
    const texts = [...page.querySelectorAll("svg text")].map((one) => one.getBoundingClientRect());
    const wide = [...page.querySelectorAll("main > p, main > h2, td > bdi")];
    return {
      title: page.title,
      scripts: page.querySelectorAll("script, img, iframe, link, object").length,
      drawn: drawn.filter((box) => box.width > 100 && box.height > 40).length,
      pictures: drawn.length,
      texts: texts.length,
      overflow: wide.filter((one) => one.getBoundingClientRect().width > 1000).length,
      sideways: page.documentElement.scrollWidth - page.documentElement.clientWidth,
      targets: [...page.querySelectorAll("a")].map((a) => a.getAttribute("href"))
        .filter((href) => !page.querySelector("h2[id='" + href.slice(1) + "']")),
      links: page.querySelectorAll("nav a").length,
    };
  });
  document.querySelector("pre").textContent = JSON.stringify(told);
};
"""


def test_nothing_runs_and_nothing_is_fetched(seen):
    reports, told, logged, urls = seen
    assert "CONSOLE" not in logged
    assert urls == []
    for page in reports:
        assert page.stat().st_size < 3_000_000
        assert "eport on a release" in told[page]["title"]
        assert told[page]["scripts"] == 0


def test_plots_are_drawn_and_nothing_stands_out_of_the_page(seen):
    reports, told, _, _ = seen
    for page in told:
        assert told[page]["pictures"] == told[page]["drawn"] >= 1, page
        assert told[page]["texts"] > 2
    for page in reports:
        assert told[page]["overflow"] == 0
        assert told[page]["sideways"] <= 0
        assert told[page]["links"] >= 4
        assert told[page]["targets"] == []


def test_a_report_can_be_printed(seen, tmp_path):
    reports, *_ = seen
    printed = tmp_path / "report.pdf"
    _, logged, urls = opened(reports[1], tmp_path, f"--print-to-pdf={printed}")
    assert "CONSOLE" not in logged
    assert of_page(urls) == []
    assert printed.read_bytes().startswith(b"%PDF")
    assert printed.stat().st_size > 20_000


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    """Give a page about papers run again, all of whose texts are hostile."""
    first, *others = HOSTILE
    statements = tuple(Statement(text, text, text, "differs", text) for text in HOSTILE)
    figures = tuple(
        Figure(
            f"figure-{place}",
            f"Figure {text}",
            text,
            *(text, x, text),
            tuple(Curve(name, (1.0, 20.0, 3.0)) for name in HOSTILE),
            statements,
            is_log=bool(place % 2),
        )
        for place, text in enumerate(HOSTILE)
        for x in [(1.0, 2.0, 3.0) if place < 3 else (first, *others[:2])]
    )
    papers = [Paper(name, first, figures, ((first, first),)) for name in ("injector", "slicing")]
    page = tmp_path_factory.mktemp("reproduction") / "reproduction.html"
    page.write_text(html_page(papers, Summary(first, is_quick=True)), "utf-8")
    return page


def test_papers_run_again_run_nothing_else(reproduction, tmp_path):
    shown, logged, urls = opened(reproduction, tmp_path, "--dump-dom")
    assert "CONSOLE" not in logged
    assert of_page(urls) == []
    assert "<title>Papers run again</title>" in shown
    assert "<script" not in shown
    assert "<img" not in shown
    assert shown.count("<svg") == 2 * len(HOSTILE)


@pytest.mark.parametrize("width", [500, 1000, 1600])
def test_papers_run_again_stay_within_their_page(reproduction, tmp_path, width):
    page = tmp_path / "measured.html"
    # The page itself has no script; one that measures it is put in here.
    script = "<script>document.title = document.documentElement.scrollWidth</script></body>"
    text = reproduction.read_text("utf-8").replace("default-src 'none'; ", "")
    text = text.replace("default-src &#x27;none&#x27;; ", "")
    page.write_text(text.replace("</body>", script), "utf-8")
    shown, _, _ = opened(page, tmp_path, "--dump-dom", f"--window-size={width},900")
    measured = int(shown.partition("<title>")[2].partition("</title>")[0])
    assert measured <= width + 16


def test_a_page_that_fetches_or_fails_would_be_seen(tmp_path):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_address[1]}/x.png"
        page = tmp_path / "page.html"
        page.write_text(f"<img src={place}><script>console.error('seen')</script>")
        _, logged, urls = opened(page, tmp_path, "--dump-dom")
        server.shutdown()
    assert place in of_page(urls)
    assert "CONSOLE" in logged
