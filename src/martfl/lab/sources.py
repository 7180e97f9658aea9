"""What a piece of code rests on: the definitions that it reaches, by name, through the modules of its package.

A definition is a function, a class or a constant at the top of a module. Starting from some of them, every name that a
definition uses is looked up, in its own module or where that imports it from, and followed. A digest covers what
was reached, as syntax: comments, docstrings, annotations and the layout of the text do not change it, nor does the
version of Python. A module that is named in a string, as for `importlib`, counts as used. Of a class that rests on
nothing from outside, a method counts where its name occurs in what was reached: one that nobody calls does nothing.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NOTES = frozenset({"annotation", "returns", "type_comment", "type_params", "kind"})  # fields that do nothing
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True, order=True)
class Place:
    """A definition by its module and name; without a name, the module, and what importing it does."""

    module: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True)
class Module:
    """A parsed file."""

    definitions: Mapping[str, Sequence[ast.stmt]]  # by name; under the empty name what is done besides defining
    imports: Mapping[str, Place]


class Sources:
    """The modules of one package, read from its folder when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """The module of that name; None where the package has none."""
        if name not in self._modules:
            path = self._path(name)
            self._modules[name] = parse(path.read_text(encoding="utf-8")) if path else None
        return self._modules[name]

    def _path(self, name: str) -> Path | None:
        first, *rest = name.split(".")
        if first != self.folder.name or not all(part.isidentifier() for part in rest):
            return None
        place = self.folder.joinpath(*rest)
        return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)

    def resolve(self, place: Place) -> Place | None:
        """Where the name is defined, through however many modules that pass it on; None outside the package."""
        seen: set[Place] = set()
        while place not in seen:
            seen.add(place)
            module = self.module(place.module)
            if module is None or (place.name in module.definitions):
                return place if module else None
            if place.name not in module.imports:
                within = Place(f"{place.module}.{place.name}")
                return within if self.module(within.module) else None
            place = module.imports[place.name]
            if not place.name or self.module(f"{place.module}.{place.name}"):
                place = Place(f"{place.module}.{place.name}".rstrip("."))
        return None

    def reach(self, roots: Iterable[Place], *, cut: Collection[str] = ()) -> dict[Place, Sequence[ast.stmt]]:
        """Everything reached from the roots; `cut` holds places, or modules as `name:`, entered as roots only.

        Methods are places of their own, `module:Class.method`.
        """
        found: dict[Place, Sequence[ast.stmt]] = {}
        first = {place for root in roots if (place := self.resolve(root)) is not None}
        waiting = [(place, self._definition(place)) for place in first]
        said: set[str] = set()
        unused: defaultdict[str, list[tuple[Place, Sequence[ast.stmt]]]] = defaultdict(list)  # methods by name
        while waiting:
            place, statements = waiting.pop()
            if place in found or (place not in first and (str(place) in cut or f"{place.module}:" in cut)):
                continue
            module = self.module(place.module)
            assert module is not None  # it was resolved
            found[place], methods = self._without_methods(module, statements)
            for method in methods:
                unused[method.name].append((Place(place.module, f"{place.name}.{method.name}"), [method]))
            said |= words_of(found[place])
            waiting += [one for name in said & unused.keys() for one in unused.pop(name)]
            used = [Place(place.module), *self._used(place.module, module, found[place])]
            waiting += [(one, self._definition(one)) for one in used]
        return found

    def _definition(self, place: Place) -> Sequence[ast.stmt]:
        module = self.module(place.module)
        return module.definitions[place.name] if module else ()

    def _without_methods(
        self, module: Module, statements: Sequence[ast.stmt]
    ) -> tuple[list[ast.stmt], list[ast.FunctionDef | ast.AsyncFunctionDef]]:
        """(the statements with classes less their methods, the methods); special ones stay, others may call them."""
        left: list[ast.stmt] = []
        methods: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        for part in statements:
            if isinstance(part, ast.ClassDef) and self._is_own(module, part):
                plain = [one for one in part.body if isinstance(one, FUNCTIONS) and not one.name.startswith("__")]
                methods += plain
                part = copy.copy(part)
                part.body = [one for one in part.body if one not in plain]
            left.append(part)
        return left, methods

    def _is_own(self, module: Module, part: ast.ClassDef) -> bool:
        """Whether all that a class rests on is of this package, or says only what types are."""
        return not part.keywords and all(
            isinstance(base, ast.Name) and self._is_known(module, base.id) for base in part.bases
        )

    def _is_known(self, module: Module, base: str) -> bool:
        here = module.definitions.get(base)
        if here is not None:
            return all(isinstance(part, ast.ClassDef) and self._is_own(module, part) for part in here)
        place = module.imports.get(base)
        if place == Place("typing", "Protocol"):
            return True
        there = self.resolve(place) if place else None
        home = self.module(there.module) if there and there.name else None
        return home is not None and there is not None and self._is_known(home, there.name)

    def _used(self, name: str, module: Module, statements: Sequence[ast.stmt]) -> Iterator[Place]:
        """Where the names that occur in the statements are defined."""
        inside = imports_of(statements)
        for used, attribute in names_of(statements):
            own = Place(name, used) if used in module.definitions else module.imports.get(used)
            place = inside.get(used) or own
            target = self.resolve(place) if place else None
            if target and not target.name and attribute:
                target = self.resolve(Place(target.module, attribute))
            if target:
                yield from [target] if target.name else self._whole(target.module)
        for text in strings_of(statements):
            if "." in text and self.module(text):
                yield from self._whole(text)

    def _whole(self, name: str) -> list[Place]:
        module = self.module(name)
        return [Place(name, defined) for defined in module.definitions] if module else []


def digest(reached: Mapping[Place, Sequence[ast.stmt]], *more: str) -> str:
    """A short hash of the definitions and of whatever else matters."""
    content = hashlib.sha256()
    for place, statements in sorted(reached.items()):
        content.update(f"{place} {[canonical(part) for part in statements]}\n".encode())
    for part in more:
        content.update(f"{part}\n".encode())
    return content.hexdigest()[:12]


def parse(text: str) -> Module:
    """Sort the statements of a file; what only type checkers read is left out."""
    definitions: dict[str, list[ast.stmt]] = {"": []}
    body = [part for part in ast.parse(text).body if not _is_note(part)]
    for part in body:
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            continue
        for name in _bound(part) or [""]:
            definitions.setdefault(name, []).append(part)
    return Module(definitions, imports_of(body))


def imports_of(statements: Sequence[ast.stmt]) -> dict[str, Place]:
    """The names that imports bind, anywhere in the statements."""
    found: dict[str, Place] = {}
    for node in (node for part in statements for node in ast.walk(part)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {alias.asname or alias.name: Place(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.asname or a.name.split(".")[0]: Place(a.name if a.asname else a.name.split(".")[0])
                      for a in node.names}  # fmt: skip
    return found


def names_of(statements: Sequence[ast.stmt]) -> set[tuple[str, str]]:
    """(name, attribute or nothing) for every name that is used."""
    found: set[tuple[str, str]] = set()
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add((node.value.id, node.attr))
        elif isinstance(node, ast.Name):
            found |= set() if isinstance(node.ctx, ast.Store) else {(node.id, "")}
        else:
            waiting += [child for _, value in _fields(node) for child in _nodes(value)]
    return found


def words_of(statements: Sequence[ast.stmt]) -> set[str]:
    """Every name by which something may be called: names, attributes, strings."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        waiting += [child for _, value in _fields(node) for child in _nodes(value)]
    return found


def strings_of(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Every string that is no docstring."""
    for part in statements:
        for node in ast.walk(part):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def canonical(node: object) -> str:
    """Syntax as text: the same for the same code, however it is laid out and described."""
    if isinstance(node, list):
        return "[" + " ".join(canonical(part) for part in node if not _is_note(part)) + "]"
    if isinstance(node, ast.AST):
        return f"({type(node).__name__} " + " ".join(f"{key}={canonical(value)}" for key, value in _fields(node)) + ")"
    return repr(node)


def _fields(node: ast.AST) -> list[tuple[str, object]]:
    return [(key, value) for key, value in ast.iter_fields(node) if key not in NOTES and value not in (None, [])]


def _nodes(value: object) -> list[ast.AST]:
    return [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, ast.AST)]


def _is_note(node: object) -> bool:
    """A docstring, or what stands under `if TYPE_CHECKING`."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a statement defines; none for a statement that does something else."""
    if isinstance(statement, DEFINITIONS):
        return [statement.name]
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return []
