"""What a steward says about a release: it stands in the manifest and in every public document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from shoal.core.errors import ParameterError

__all__ = ["About"]

_MOST_LETTERS = 2000


@dataclass(frozen=True, kw_only=True)
class About:
    """What a release is about, in the steward's own words.

    Parameters
    ----------
    title
        What the release is called. Default: none.
    institution
        Who publishes it. Default: none.
    purpose
        What it is meant for. Default: none.
    version
        Which edition it is. Default: none.
    contact
        Whom to write to. Default: none.
    licence
        What readers may do with it. Default: none.

    Raises
    ------
    ParameterError
        If an entry is not a text of at most 2,000 printable characters.

    Examples
    --------
    >>> About(title="Hospital stays 2024", licence="CC BY 4.0").to_dict()
    {'title': 'Hospital stays 2024', 'licence': 'CC BY 4.0'}
    """

    title: str | None = None
    institution: str | None = None
    purpose: str | None = None
    version: str | None = None
    contact: str | None = None
    licence: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if text is None:
                continue
            if not isinstance(text, str) or not text.strip() or not text.isprintable():
                raise ParameterError(
                    f"[about] {field.name} must be a text of printable characters.",
                    hint="write it on one line, or leave it out.",
                )
            if len(text) > _MOST_LETTERS:
                raise ParameterError(
                    f"[about] {field.name} has {len(text)} characters; {_MOST_LETTERS} are "
                    "allowed.",
                    hint="shorten it.",
                )

    def to_dict(self) -> dict[str, str]:
        """Return the entries that are given."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in stated.items() if text is not None}

    @classmethod
    def from_dict(cls, stated: Mapping[str, object]) -> About:
        """Read entries by their names.

        Raises
        ------
        ParameterError
            If there is no such entry, or it is not a text.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(stated) - set(known))
        if unknown:
            raise ParameterError(
                f"[about] has no entry {unknown[0]!r}.", hint=f"its entries are {', '.join(known)}."
            )
        return cls(**stated)  # type: ignore[arg-type]
