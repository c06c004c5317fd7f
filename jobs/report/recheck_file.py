"""The file `recheck.py` of a report: the modules of `jobs.report.recheck`, joined.

Whoever checks a report has one file to read, and runs it with Python alone. Whoever changes it
finds a thing by the name of its module. In the file each module follows those that it imports,
below a heading that says what it is about. What they import from Python is at the top, and what
they import from each other is left out. The last one is the command line, whose docstring is that
of the file.
"""

import ast
from functools import cache
from importlib import resources

PACKAGE, LAST = "jobs.report.recheck", "command_line"
WIDTH = 100


class Part:
    """A module of the package: what it is about, what it imports, and all lines below that."""

    def __init__(self, name: str) -> None:
        """Its imports lie between its docstring and its other lines."""
        text = resources.files(PACKAGE).joinpath(f"{name}.py").read_text("utf-8")
        tree, lines = ast.parse(text), text.splitlines()
        docstring, *others = tree.body
        self.name, self.about = name, ast.get_docstring(tree) or ""
        self.docstring = "\n".join(lines[docstring.lineno - 1 : docstring.end_lineno])
        self.modules = [
            alias.name for one in others if isinstance(one, ast.Import) for alias in one.names
        ]
        froms = [one for one in others if isinstance(one, ast.ImportFrom)]
        self.names = [(str(one.module), alias.name) for one in froms for alias in one.names]
        imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
        above = [docstring, *imports][-1]
        self.lines = "\n".join(lines[above.end_lineno :]).strip("\n")

    @property
    def needs(self) -> list[str]:
        """The modules of the package that it imports, in that order."""
        found = (origin.removeprefix(f"{PACKAGE}.") for origin, _ in self.names if is_ours(origin))
        return list(dict.fromkeys(found))

    @property
    def heading(self) -> str:
        """What it is about, as a comment; of the last one the top of the file tells it."""
        about = [] if self.name == LAST else self.about.splitlines()
        told = [f"# --- {self.name} ".ljust(WIDTH, "-"), *(f"# {one}".rstrip() for one in about)]
        return "\n".join(told)


def is_ours(origin: str) -> bool:
    """Whether a name is imported from a module of the package."""
    return origin.startswith(f"{PACKAGE}.")


def behind_its_needs(name: str, before: dict[str, Part]) -> dict[str, Part]:
    """Adds a module to those before it, behind all that it imports."""
    if name not in before:
        part = Part(name)
        for one in part.needs:
            behind_its_needs(one, before)
        before[name] = part
    return before


def imports_of(parts: list[Part]) -> str:
    """What they import from Python, each once."""
    names: dict[str, set[str]] = {}
    for origin, name in (both for one in parts for both in one.names):
        if not is_ours(origin):
            names.setdefault(origin, set()).add(name)
    modules = sorted({f"import {name}" for one in parts for name in one.modules})
    froms = [f"from {origin} import {', '.join(sorted(names[origin]))}" for origin in sorted(names)]
    return "\n".join([*modules, *froms])


@cache
def recheck_file() -> str:
    """The text of `recheck.py`."""
    parts = list(behind_its_needs(LAST, {}).values())
    top = "\n\n".join([parts[-1].docstring, imports_of(parts)])
    sections = "\n\n\n".join(f"{one.heading}\n\n\n{one.lines}" for one in parts)
    return f"{top}\n\n{sections}\n"
