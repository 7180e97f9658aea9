"""The reference's examples: they run, and everything that does something has one.

Each runs in an empty folder, with the module's own names. `market` there is what the quickstart leaves behind.
"""

import doctest
import importlib
import inspect
import re
import shutil
from enum import Enum
from pathlib import Path

import pytest

from martfl.demo import DemoOptions, run_demo
from martfl.lab.data import registry

PAGES = sorted((Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
MARKET = re.compile(r"Path\('market[/']")


def shown(page):
    """The functions and classes that a page of the reference shows: those of its modules, and those they pass on."""
    for name in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            module, function = name.rsplit(".", 1)
            yield getattr(importlib.import_module(module), function)
            continue
        passed = getattr(module, "__all__", None)
        for public in passed or [key for key in vars(module) if not key.startswith("_")]:
            value = getattr(module, public)
            if (inspect.isfunction(value) or inspect.isclass(value)) and (passed or value.__module__ == name):
                yield value


def acts(one):
    """Whether it is a function, or a class that does something: not an error, a name, a promise or a plain record."""
    if inspect.isfunction(one):
        return True
    if issubclass(one, Exception | Enum) or getattr(one, "_is_protocol", False):
        return False
    kinds = (property, classmethod, staticmethod)
    return any(inspect.isfunction(v) or isinstance(v, kinds) for k, v in vars(one).items() if not k.startswith("_"))


SHOWN = {f"{one.__module__}.{one.__qualname__}": one for page in PAGES for one in shown(page)}


def examples(one):
    return doctest.DocTestParser().get_examples(one.__doc__ or "")


def cases():
    """Those that need the quickstart's market run on one worker, which makes it once."""
    for name, one in SHOWN.items():
        if examples(one):
            marks = [pytest.mark.xdist_group("examples")] if MARKET.search(one.__doc__) else []
            yield pytest.param(one, id=name, marks=marks)


@pytest.fixture(scope="session")
def market(tmp_path_factory):
    """What `martfl demo --providers 4 --epochs 1 --malicious 0.25 --attack sign-randomizing --out market` makes."""
    folder = tmp_path_factory.mktemp("quickstart") / "market"
    run_demo(DemoOptions(providers=4, epochs=1, malicious=0.25, attack="sign-randomizing"), folder)
    return folder


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder, an environment and a list of datasets of the example's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARTFL_WALLETS", str(tmp_path / "home" / "wallets"))
    monkeypatch.setattr(registry, "_SOURCES", dict(registry._SOURCES))
    return tmp_path


@pytest.mark.parametrize("one", list(cases()))
def test_an_example_gives_what_it_says(one, desk, request):
    if MARKET.search(one.__doc__):
        shutil.copytree(request.getfixturevalue("market"), desk / "market")
    space, said = dict(vars(importlib.import_module(one.__module__))), []
    test = doctest.DocTestParser().get_doctest(one.__doc__, space, one.__qualname__, None, None)
    assert any(example.want or "raises" in example.source for example in test.examples)  # there is something to see
    failed, tried = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert tried and not failed, "".join(said)


def test_whatever_does_something_has_an_example():
    acting = [name for name, one in SHOWN.items() if acts(one)]
    assert len(acting) > 150
    assert [name for name in acting if not examples(SHOWN[name])] == []


def test_a_false_example_is_noticed():
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "false", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed == 1
