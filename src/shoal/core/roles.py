"""The roles of columns, and the words of other tools for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from shoal.core.errors import SchemaError

__all__ = ["Role", "role_of"]


class Role(StrEnum):
    """What a column could betray."""

    IDENTIFYING = "identifying"
    QUASI = "quasi-identifying"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


_ROLE_WORDS: Mapping[str, Role] = {
    "identifying": Role.IDENTIFYING,
    "identifyingattribute": Role.IDENTIFYING,
    "identifier": Role.IDENTIFYING,
    "direct": Role.IDENTIFYING,
    "excludevars": Role.IDENTIFYING,
    "hhid": Role.IDENTIFYING,
    "quasi": Role.QUASI,
    "quasiidentifying": Role.QUASI,
    "quasiidentifyingattribute": Role.QUASI,
    "quasiidentifier": Role.QUASI,
    "qi": Role.QUASI,
    "keyvars": Role.QUASI,
    "keyvar": Role.QUASI,
    "numvars": Role.QUASI,
    "numvar": Role.QUASI,
    "sensitive": Role.SENSITIVE,
    "sensitiveattribute": Role.SENSITIVE,
    "sensiblevar": Role.SENSITIVE,
    "sensiblevars": Role.SENSITIVE,
    "insensitive": Role.INSENSITIVE,
    "insensitiveattribute": Role.INSENSITIVE,
    "nonsensitive": Role.INSENSITIVE,
}


def role_of(word: str) -> Role:
    """Give the role that a word stands for, in Shoal's, ARX's or sdcMicro's language.

    Examples
    --------
    >>> role_of("QUASI_IDENTIFYING_ATTRIBUTE")
    <Role.QUASI: 'quasi-identifying'>
    >>> role_of("sensibleVar")
    <Role.SENSITIVE: 'sensitive'>
    """
    role = _ROLE_WORDS.get(re.sub(r"[^a-z]", "", str(word).lower()))
    if role is None:
        raise SchemaError(
            f"{word!r} is not a role.",
            hint=f"the roles are {', '.join(Role)}; the words of ARX and sdcMicro are taken too.",
        )
    return role
