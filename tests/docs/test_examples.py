"""The reference's examples: they run, and every function that can be shown in a few lines has one."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
# These rooms are pure: arrays and bytes in, arrays and bytes out. What is left out needs a circuit's keys or a model.
PURE = ("selection", "valuation", "scoring", "settlement")
LONG = {
    "martfl.valuation.survey.value_updates",
    "martfl.valuation.words.appraisals",
    "martfl.scoring.ckks.public_key",
    "martfl.scoring.ckks.products",
}
CIRCUIT = "martfl.settlement.sampled."


def shown(page):
    """The functions that a page of the reference shows: those of its modules, and those that they pass on."""
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
            if inspect.isfunction(value) and (passed or value.__module__ == name):
                yield value


def full_name(function):
    return f"{function.__module__}.{function.__qualname__}"


FUNCTIONS = {full_name(function): function for page in PAGES for function in shown(page)}


def examples(function):
    return doctest.DocTestParser().get_examples(function.__doc__ or "")


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if examples(function)])
def test_an_example_gives_what_it_says(name):
    function, said = FUNCTIONS[name], []
    space = dict(vars(importlib.import_module(function.__module__)))
    test = doctest.DocTestParser().get_doctest(function.__doc__, space, name, None, None)
    assert test.examples[-1].want or "raises" in test.examples[-1].source  # it ends with something to see
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert tried and not failed, "".join(said)


def test_every_function_of_a_pure_room_has_an_example():
    pure = [name for name in FUNCTIONS if name.split(".")[1] in PURE and not name.startswith(CIRCUIT)]
    assert len(pure) > 40
    assert sorted(name for name in pure if not examples(FUNCTIONS[name])) == sorted(LONG)


def test_a_false_example_is_noticed():
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "false", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed == 1
