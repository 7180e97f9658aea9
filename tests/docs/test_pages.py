"""What pages name exists: links, commands, options, make targets; and the reference leaves nothing out."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from martfl.bench.exchange.play import STRATEGIES as STRATEGIES_PLAYED
from martfl.chain.compile import compiled
from martfl.chain.events import KINDS as EVENTS
from martfl.chain.state import Phase, SaleState
from martfl.cli import app
from martfl.market.messages import KINDS as MESSAGES
from martfl.market.terms import Terms
from martfl.selection import STRATEGIES

ROOT = Path(__file__).parents[2]
REFERENCE = "docs/reference.md"
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
REQUIRED = "required"


def leaves(command, path=()):
    """Every command that does something, by its words."""
    if not hasattr(command, "commands"):
        return {path: command}
    return {words: leaf for name, sub in command.commands.items() for words, leaf in leaves(sub, (*path, name)).items()}


LEAVES = leaves(get_command(app))


def options(command):
    """What may be given to a command, by the option's longest spelling."""
    return {max(p.opts, key=len): p for p in command.params if p.param_type_name == "option" and p.name != "help"}


# --- links -------------------------------------------------------------------------------------------------------


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_relative_link_leads_somewhere(pages):
    dead = []
    for page in pages.values():
        for target in LINK.findall(FENCED.sub("", page.text)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (page.path.parent / name).resolve() if name else page.path
            missing = not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8")))
            dead += [f"{page.name}: {target}"] if missing else []
    assert not dead


def test_every_page_is_on_the_map(pages):
    linked = set(LINK.findall(pages["docs/index.md"].text))
    missing = {page.path.name for page in pages.values() if page.name.startswith("docs/")} - linked - {"index.md"}
    assert not missing


def test_every_page_is_on_the_menu_of_the_site(pages):
    menu = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    missing = {page.path.name for page in pages.values() if page.name.startswith("docs/")} - set(menu)
    assert not missing


# --- commands ----------------------------------------------------------------------------------------------------


def typed(text):
    """Everything on a page that reads as a `martfl` command line, continued lines joined."""
    code = [block.replace("\\\n", " ") for block in FENCED.findall(text)]
    code += re.findall(r"^ {4}.+$", text, re.MULTILINE) + CODE.findall(FENCED.sub("", text))
    lines = [line for part in code for line in part.splitlines()]
    found = (re.search(r"(?:^|[\s/(])martfl ((?:-v+ )?[a-z].*)", line) for line in lines)
    return [match[1] for match in found if match]


def problem(line):
    """What is wrong with a command line, if anything."""
    words = [word for word in line.split("#")[0].split() if not re.fullmatch("-v+", word)]
    path = next((words[:n] for n in (2, 1) if tuple(words[:n]) in LEAVES), None)
    if path is None:
        groups = {words[0] for words in LEAVES if len(words) == 2}
        whole = words[0] in groups and (len(words) == 1 or words[1].startswith(("…", "-", "<")))
        return None if whole else f"no command: martfl {line}"
    known = {spelling for option in LEAVES[tuple(path)].params for spelling in option.opts} | {"--help"}
    unknown = {word.split("=")[0] for word in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words))} - known
    return f"no {', '.join(sorted(unknown))}: martfl {line}" if unknown else None


def test_every_command_and_option_on_a_page_exists(pages):
    named = {(page.name, line) for page in pages.values() for line in typed(page.text)}
    assert len(named) > 50
    wrong = sorted(f"{page}: {found}" for page, line in named if (found := problem(line)))
    assert not wrong


@pytest.mark.parametrize("line", ["frobnicate", "demo --frobnicate", "lab walk", "wallet new x --chain y"])
def test_a_command_that_does_not_exist_is_noticed(line):
    assert typed(f"`martfl {line}`") == [line] and problem(line)


def test_every_make_target_on_a_page_exists(pages):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    code = [part for page in pages.values() for part in FENCED.findall(page.text) + CODE.findall(page.text)]
    named = {name for part in code for name in re.findall(r"^make ([a-z]+)", part, re.MULTILINE)}
    assert "demo" in named and named <= targets


# --- the reference -----------------------------------------------------------------------------------------------


def rows(text):
    """Cells of all table rows."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def part(text, heading):
    """What stands under a second-level heading."""
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def commands_of_reference(text):
    """Heading words → option → default."""
    found = re.findall(r"^### `martfl ([^`]+)`\n(.*?)(?=^###? |\Z)", text, re.MULTILINE | re.DOTALL)
    return {
        tuple(word for word in shlex.split(usage) if word.islower()): {
            row[0].strip("`"): row[1].strip("`") for row in rows(body) if row[0].startswith("`")
        }
        for usage, body in found
    }


def default(option):
    """An option's default as the reference writes it."""
    if option.required:
        return REQUIRED
    value = option.default
    if isinstance(value, bool) or value in (None, "", (), []) or type(value).__name__ == "Sentinel":
        return ""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def test_the_reference_has_every_command_with_its_options_and_defaults(pages):
    stated = commands_of_reference(pages[REFERENCE].text)
    actual = {words: {name: default(o) for name, o in options(leaf).items()} for words, leaf in LEAVES.items()}
    assert stated == actual


def fields_of(kind, prefix=""):
    """Dotted name → default of every field below a dataclass."""
    found = {}
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(field.type):
            found |= fields_of(field.type, f"{prefix}{field.name}.")
        elif field.default_factory is not dataclasses.MISSING:
            found[prefix + field.name] = repr(field.default_factory())
        else:
            found[prefix + field.name] = _written(field.default)
    return found


def _written(value):
    if value is dataclasses.MISSING:
        return REQUIRED
    written = f'"{value}"' if isinstance(value, str) else repr(value)
    return written.lower() if isinstance(value, bool) else written  # as TOML writes it


def test_the_reference_has_every_term_with_its_default(pages):
    table = [row for row in rows(part(pages[REFERENCE].text, "Terms")) if row[0].startswith("`") and len(row) == 3]
    assert {row[0].strip("`"): row[1].strip("`") for row in table} == fields_of(Terms)


def test_the_reference_has_every_parameter_of_every_rule(pages):
    table = [row for row in rows(part(pages[REFERENCE].text, "Terms")) if len(row) == 4 and row[0].startswith("`")]
    stated = {tuple(cell.strip("`") for cell in row[:3]) for row in table}
    actual = {(n, f, value) for n, make in STRATEGIES.items() for f, value in fields_of(make).items()}
    assert stated == actual


def test_the_reference_has_every_message_with_its_fields(pages):
    table = [row for row in rows(part(pages[REFERENCE].text, "Messages")) if row[0].startswith("`")]
    stated = {row[0].strip("`"): set(CODE.findall(row[2])) for row in table}
    common = {"epoch", "body"}
    assert stated == {kind: {f.name for f in dataclasses.fields(m)} - common for kind, m in MESSAGES.items()}


def test_the_reference_has_every_event_and_phase(pages):
    text = part(pages[REFERENCE].text, "Contract")
    assert set(EVENTS) <= set(CODE.findall(text))
    stated = {name: int(number) for name, number in re.findall(r"`([A-Z]+)` (\d+)", text)}
    assert stated == {p.name: p for p in Phase} | {s.name: s for s in SaleState if s}


# --- the contract ----------------------------------------------------------------------------------------------------

CONTRACT = "docs/contract.md"


def test_the_contracts_page_has_every_function_and_no_other(pages):
    table = rows(part(pages[CONTRACT].text, "An epoch"))
    stated = {name for row in table for name in CODE.findall(row[0])}
    actual = {
        abi["name"]
        for name in ("exact", "sampled", "prover")
        for abi in compiled(name).abi
        if abi["type"] == "function" and abi["stateMutability"] != "view" and abi["name"] not in INTERNAL
    }
    assert stated - READING == actual


READING = {"read_epoch", "read_provider", "terms", "model"}
INTERNAL = {"keep", "proved", "failed"}  # said by the prover to the market


def test_what_shows_a_property_exists(pages):
    """Every claim that nothing is gained names a test or a strategy, and these are there."""
    table = [
        row for row in rows(part(pages[CONTRACT].text, "What holds, and what shows it")) if row[0].startswith("**P")
    ]
    assert [row[0].strip("*") for row in table] == [f"P{i}" for i in range(1, 9)]
    names = {one.name for one in STRATEGIES_PLAYED}
    for _, _, shown in table:
        quoted, files = re.findall(r'"([^"]+)"', shown), [c for c in CODE.findall(shown) if c.startswith("tests/")]
        assert quoted and set(quoted) <= names
        assert all((ROOT / file).is_file() for file in files)


def test_every_test_that_a_page_names_exists(pages):
    named = {
        (page.name, code) for page in pages.values() for code in CODE.findall(page.text) if code.startswith("tests/")
    }
    assert len(named) > 10
    assert not sorted((page, path) for page, path in named if not list(ROOT.glob(path.split("::")[0].rstrip("/…"))))


def test_the_limits_that_a_page_states_are_those_that_are_played(pages):
    stated = re.findall(r'"([^"]+)"', part(pages[CONTRACT].text, "What is not given"))
    known = {one.name: one for one in STRATEGIES_PLAYED}
    assert {one.name for one in STRATEGIES_PLAYED if one.limit} == {" ".join(text.split()) for text in stated} & set(
        known
    )


@pytest.mark.parametrize("word", ["advance fee", "buy_advance", "`drop`", "`expire`", "`object`", "flat fee"])
def test_no_page_tells_of_what_is_gone(pages, word):
    old = {"CHANGELOG.md"}  # which tells of the past
    others = {"docs/selection.md", "docs/results.md", "docs/lab.md"}
    assert not [page.name for page in pages.values() if word in page.text and page.name not in old | others]


def test_the_reference_has_every_variable(pages):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    used = {name for source in sources for name in re.findall(r"\bMARTFL_[A-Z_]+", source)}
    stated = {row[0].strip("`") for row in rows(part(pages[REFERENCE].text, "Environment")) if row[0].startswith("`")}
    assert stated == used
