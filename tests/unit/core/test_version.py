"""Another distribution is called `shoal`: with both installed, nothing may run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.core.version import refuse_namesake


@pytest.mark.parametrize("metadata", ["shoal-0.4.1.dist-info", "shoal-2.0-py3.11.egg-info"])
def test_the_other_package_is_refused(tmp_path, metadata):
    (tmp_path / metadata).mkdir()
    with pytest.raises(ImportError, match="pip uninstall --yes shoal shoal-privacy"):
        refuse_namesake([str(tmp_path / "nowhere"), str(tmp_path)])


def test_our_own_distribution_and_others_are_not_refused(tmp_path):
    for name in ("shoal_privacy-0.1.0.dist-info", "shoals-1.dist-info", "shoal", "shoal-notes.txt"):
        (tmp_path / name).mkdir()
    refuse_namesake([str(tmp_path), __file__, ""])


@pytest.mark.parametrize("command", [["-c", "import shoal"], ["-m", "shoal", "--help"]])
def test_importing_and_the_command_line_say_so(tmp_path, command):
    (tmp_path / "shoal-0.4.1.dist-info").mkdir()
    source = str(Path(shoal.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([source, str(tmp_path)])},
    )
    assert run.returncode == 1
    assert "Another package called 'shoal' is installed" in run.stderr
