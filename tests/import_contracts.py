"""A contract of import-linter that states which modules some modules may import."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.helpers import module_expressions_to_modules


class AllowedImports(Contract):
    """Some modules of the package import the modules allowed to them, and themselves, alone.

    A wildcard names modules that do not exist yet, so the contract holds for a new room as well.
    """

    source_modules = fields.SetField(subfield=fields.ModuleExpressionField())
    allowed_modules = fields.SetField(subfield=fields.ModuleField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        sources = {one.name for one in module_expressions_to_modules(graph, self.source_modules)}
        allowed = {one.name for one in self.allowed_modules}
        broken = sorted(
            (source, imported)
            for source in sources
            for imported in graph.find_modules_directly_imported_by(source)
            if imported.partition(".")[0] in self.session_options["root_packages"]
            and not _is_within(imported, allowed | {_room_of_check(source)})
        )
        return ContractCheck(kept=bool(sources) and not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for source, imported in check.metadata["broken"] or [("no module", "anything")]:
            output.print_error(f"{source} imports {imported}")


def _room_of_check(source: str) -> str:
    """Return the package of checks that a module belongs to."""
    head, found, _ = source.partition(".check")
    return head + found


def _is_within(module: str, packages: set[str]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in packages)
