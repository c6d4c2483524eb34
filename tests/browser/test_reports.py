"""The reports of a hostile table, opened in a real browser: nothing runs and nothing is fetched."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

import shoal
from shoal.knowledge.correlation import correlations
from shoal.report.internal_report import Evidence, internal_report
from shoal.report.plots import Point, scatter

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
    "long " * 400,
)


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


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    n = 60
    table = shoal.read(
        {
            "<b>town</b>": [HOSTILE[i % 6] for i in range(n)],
            "age": [20 + i % 10 for i in range(n)],
            "disease": [(*HOSTILE[:3], "flu")[i % 4] for i in range(n)],
            "name": [f"person {i}" for i in range(n)],
        },
        shoal.Schema(quasi=["<b>town</b>", "age"], sensitive="disease", identifying="name"),
    )
    folder = tmp_path_factory.mktemp("hostile")
    release = shoal.anonymize(table, shoal.Mondrian(k=5, ell=2))
    attacked = (shoal.attacks.Homogeneity(limit="1/4"), shoal.attacks.Linkage())
    shoal.attack(release, *attacked)
    written = release.write(folder / "release")
    evidence = Evidence(
        findings=release.findings,
        correlations=correlations(table.counts(["<b>town</b>", "age", "disease"])),
    )
    drawn = folder / "drawn.html"
    text = internal_report(release.manifest, release.meanings, evidence)
    points = [Point(0.1, 0.3, HOSTILE[0]), Point(0.4, 0.1, "anatomy", is_marked=True)]
    picture = scatter(points, title="Risk and loss", x_label="loss", y_label="risk")
    drawn.write_text(text.replace("</main>", f"<figure>{picture}</figure></main>"), "utf-8")
    return written / "report.html", folder / "release.internal" / "report.html", drawn


@pytest.mark.parametrize("place", range(3))
def test_nothing_runs_and_nothing_is_fetched(reports, tmp_path, place):
    page = reports[place]
    assert page.stat().st_size < 3_000_000
    shown, logged, urls = opened(page, tmp_path, "--dump-dom")
    assert "CONSOLE" not in logged
    assert of_page(urls) == []
    assert "report on a release</title>" in shown.lower()
    assert "<script" not in shown
    assert "<img" not in shown
    assert "<svg" in shown


@pytest.mark.parametrize("place", range(3))
def test_plots_are_drawn(reports, tmp_path, place):
    picture = tmp_path / "page.png"
    size = "--window-size=1000,6000"
    opened(reports[place], tmp_path, f"--screenshot={picture}", size)
    # A page without drawings takes far less.
    assert picture.stat().st_size > 30_000


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
