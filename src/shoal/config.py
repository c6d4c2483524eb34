"""Configuration: what is set once for a whole run.

`load` reads a configuration file, `About` describes a release in its documents, `Limits` bounds
what reading a file may cost, and `log_to` writes the messages of engines to a file.

Examples
--------
>>> import shoal
>>> shoal.config.About(title="Hospital stays 2024").to_dict()
{'title': 'Hospital stays 2024'}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.core.log import log_to as log_to
    from shoal.core.manifest import About as About
    from shoal.engines.limits import Limits as Limits
    from shoal.workflow.config import Configuration as Configuration
    from shoal.workflow.config import load as load

_MODULES = {
    "About": "shoal.core.manifest",
    "Configuration": "shoal.workflow.config",
    "Limits": "shoal.engines.limits",
    "load": "shoal.workflow.config",
    "log_to": "shoal.core.log",
}
__all__ = list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
