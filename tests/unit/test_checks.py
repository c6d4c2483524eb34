import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest

from shoal import checks
from shoal.core.declared import declared
from shoal.core.errors import ParameterError
from shoal.core.guarantees import KAnonymity
from shoal.core.manifest import GUARANTEES


def test_every_guarantee_has_a_checker():
    assert set(checks.CHECKERS) >= set(GUARANTEES)


def test_every_exported_name_is_there():
    for name in checks.__all__:
        assert getattr(checks, name) is not None
    assert set(checks.__all__) <= set(dir(checks))


def test_no_exported_function_is_hidden_by_its_module():
    assert set(checks.__all__).isdisjoint(checks.CHECKERS.values())


def test_importing_the_package_imports_no_checker():
    code = "import sys, shoal.checks; print([m for m in sys.modules if 'shoal.checks.' in m])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


def test_a_guarantee_without_checker_is_refused():
    @declared
    class Unheard(KAnonymity):
        name: ClassVar[str] = "unheard-of anonymity"

    with pytest.raises(ParameterError, match="unheard-of anonymity has no checker"):
        checks.check(Unheard(k=2), checks.Evidence(None, np.array([3])))


def test_a_further_guarantee_is_one_line_and_one_module(monkeypatch):
    @declared
    class Renamed(KAnonymity):
        name: ClassVar[str] = "renamed anonymity"

    monkeypatch.setitem(checks.CHECKERS, "renamed anonymity", "shoal.grouping.check.k_anonymity")
    assert checks.check(Renamed(k=2), checks.Evidence(None, np.array([3]))).holds
