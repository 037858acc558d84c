"""Gives the inputs and outputs of signatures the names that the user asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.ir.graph import Module
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report


@module_pass("rename-signature")
def rename_signature(module: Module, rename: Mapping[str, str], report: Report) -> bool:
    """Rename inputs and outputs of signatures: ["dense_input"] -> ["features"].

    rename: new names by the old ones, in every signature that has the old one; "node:0" is "node". Returns whether
    there were any. Raises InputError for a name that no signature has, and if two inputs, or two outputs, of one would
    have the same."""
    known = dict.fromkeys(name for s in module.signatures for name in (*s.inputs, *s.outputs))
    rename = {old if old in known else old.removesuffix(":0"): new for old, new in rename.items()}
    for old in rename:
        if old not in known:
            raise InputError(f"--rename: no signature has an input or output {old}{suggestion_or_all(old, known)}")
    for signature in module.signatures:
        signature.inputs = _renamed(signature.inputs, rename, "inputs")
        signature.outputs = _renamed(signature.outputs, rename, "outputs")
        for name, value in zip(signature.inputs, signature.graph.inputs):
            value.name = name
    report.renamed = dict(rename)
    return bool(rename)


def _renamed(names: Sequence[str], rename: Mapping[str, str], what: str) -> list[str]:
    made = [rename.get(name, name) for name in names]
    twice = [name for index, name in enumerate(made) if name in made[:index]]
    if twice:
        raise InputError(f"--rename: two {what} of a signature would have the name {twice[0]}")
    return made
