"""Terms: validated by name, the same after a round trip, bound by their hash, and those that the contract enforces."""

from dataclasses import asdict, fields, is_dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_task import Softmax

from martfl.market.errors import MarketError, TermsError
from martfl.market.task import check_task, load_task
from martfl.market.terms import Terms, load_terms, read_terms, to_toml
from martfl.tasks import Layout, LayoutError, Part, as_task

LEAST = {"name": "digits", "task": {"entry": "module:function"}}
TERMS = read_terms(LEAST)
OTHER_VALUES = {
    "token": "0x" + "11" * 20,
    "setup": "alone",
    "rule": "martfl",
    "value": "none",
    "entry": "other:function",
}
SCHEMES = {"settlement": "sampled", "scoring": "plain"}


def every_field():
    for section in fields(Terms):
        if section.name == "layout":
            continue  # a list whose hash is `task.layout`
        value = getattr(TERMS, section.name)
        if is_dataclass(value):
            yield from ((section.name, inner.name) for inner in fields(value))
        else:
            yield section.name, None


def changed(section, name):
    part = getattr(TERMS, section)
    if name is None:
        return replace(TERMS, **{section: "another"})
    value = getattr(part, name)
    if isinstance(value, dict):
        new = {**value, "threshold": 0.25}
    elif isinstance(value, bool):
        new = not value
    elif isinstance(value, str):
        new = SCHEMES[section] if name == "scheme" else OTHER_VALUES.get(name, value + "1")
    else:
        new = value / 2 if isinstance(value, float) else value + 1
    return replace(TERMS, **{section: replace(part, **{name: new})})


@pytest.mark.parametrize(("section", "name"), list(every_field()))
def test_the_hash_binds_everything_but_the_chain(section, name):
    other = changed(section, name)
    assert other != TERMS
    assert (other.hash == TERMS.hash) == (section == "chain")


@pytest.mark.parametrize(("section", "name"), list(every_field()))
def test_terms_survive_their_file(tmp_path, section, name):
    terms = changed(section, name)
    (tmp_path / "market.toml").write_text(to_toml(terms))
    assert load_terms(tmp_path / "market.toml") == terms


def test_a_layout_is_bound_by_its_hash(tmp_path):
    layout = Layout((Part("model.0.weight", (2, 3)), Part('odd "name"', (), "bfloat16")))
    task = replace(TERMS.task, layout=layout.hash)
    terms = replace(TERMS, task=task, layout=layout.to_table())
    assert terms.hash == replace(TERMS, task=task).hash != TERMS.hash
    (tmp_path / "market.toml").write_text(to_toml(terms))
    assert Layout.from_table(load_terms(tmp_path / "market.toml").layout) == layout
    with pytest.raises(TermsError, match=f"must be the hash of .layout., {layout.hash}"):
        replace(terms, task=TERMS.task)
    with pytest.raises(LayoutError, match="'type"):
        replace(terms, layout={"weight": "two by three"})


def test_a_task_of_another_layout_is_refused_by_the_first_name():
    layout = Layout((Part("weights", (16, 10)), Part("bias", (10,))))
    terms = replace(TERMS, task=replace(TERMS.task, layout=layout.hash), layout=layout.to_table())
    task = as_task(Softmax())
    with pytest.raises(MarketError, match="weights is expected where parameters is"):
        check_task(terms, task)
    with pytest.raises(MarketError, match=f"its hash is {task.layout.hash}, the terms state {layout.hash}"):
        check_task(replace(terms, layout={}), task)
    same = replace(TERMS, task=replace(TERMS.task, layout=task.layout.hash))
    assert check_task(same, task) is check_task(TERMS, task) is task


@given(name=st.text(min_size=1, max_size=50).filter(str.strip), scale=st.floats(1e-12, 1e3), value=st.integers(0, 9))
def test_any_text_and_number_survive_their_file(tmp_path_factory, name, scale, value):
    terms = read_terms(
        {
            "name": name,
            "task": {"entry": "a:b", "options": {"depth": value, name: [1.5, name, {"a": True}]}},
            "settlement": {"scale": scale},
        }
    )
    path = tmp_path_factory.mktemp("terms") / "market.toml"
    path.write_text(to_toml(terms), encoding="utf-8")
    assert load_terms(path).hash == terms.hash


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": "  "}, "name must have"),
        ({"name": 5}, "name must be str"),
        ({"colour": "red"}, "no 'colour'"),
        ({"money": {"rewards": 1}}, "no 'rewards'"),
        ({"money": {"reward": 0}}, "reward must be at least 1"),
        ({"money": {"reward": "1"}}, "reward must be int"),
        ({"money": {"reward": True}}, "reward must be int"),
        ({"money": {"penalty_ratio": 0}}, "penalty_ratio"),
        ({"money": {"ask": -1}}, "ask must be 0 to"),
        ({"money": {"reward": 10, "ask": 11, "minimum_deposit": 1}}, "ask must be 0 to 10"),
        ({"money": {"reward": 10, "ask": 0, "minimum_deposit": 10**15}}, "minimum_deposit"),
        ({"money": 5}, "money must be a table"),
        ({"money": {"reward": 2**96}}, "below 2\\^96"),
        ({"money": {"token": "coin"}}, "token must be an address"),
        ({"deadlines": {"commit": 0}}, "deadline"),
        ({"deadlines": {"settle": 366 * 86_400 + 1}}, "at most a year"),
        ({"deadlines": {"margin": 0}}, "margin must be at least 1"),
        ({"deadlines": {"keys": 1800, "margin": 900}}, "keys must be more than twice the margin of 900"),
        ({"deadlines": {"commit": 1800, "margin": 900}}, "commit must be more than twice the margin of 900"),
        (
            {"deadlines": {"settle": 3599, "margin": 900}, "settlement": {"scheme": "sampled"}},
            "settle must be at least four times the margin of 900",
        ),
        ({"deadlines": {"publish": 900, "margin": 900}}, "publish must be more than the margin"),
        ({"deadlines": {"prepare": 5}}, "no 'prepare'"),
        ({"settlement": {"samples": 127}}, "samples"),
        ({"settlement": {"providers": 129}}, "providers"),
        ({"settlement": {"scheme": "sampled", "vdf_steps": 2**63}}, "vdf_steps"),
        ({"settlement": {"scheme": "sampled", "vdf_steps": 10_000}}, "less can be tried out while a block is built"),
        ({"settlement": {"setup": "trust me"}}, "setup"),
        ({"settlement": {"update_limit": 0}}, "limits must be positive"),
        ({"chain": {"since": -1}}, "since"),
        ({"settlement": {"scheme": "magic"}}, "scheme"),
        ({"settlement": {"bits": 33}}, "bits must be 2 to 32, got 33"),
        ({"settlement": {"bits": 1}}, "bits must be 2 to 32, got 1"),
        ({"settlement": {"samples": 0}}, "samples must be 1 to 126"),
        ({"settlement": {"providers": 0}}, "providers must be 1 to 128"),
        ({"settlement": {"epochs": 0}}, "epochs must be at least 1"),
        ({"settlement": {"scale": 0}}, "scale"),
        ({"settlement": {"scale": float("nan")}}, "scale"),
        ({"settlement": {"scale": float("inf")}}, "scale"),
        ({"selection": {"rule": "fair"}}, "rule"),
        ({"selection": {"value": "much"}}, "selection.value must be one of information, none, got .much."),
        ({"scoring": {"baselines": 0}}, "baselines must be at least"),
        ({"scoring": {"scheme": "trust"}}, r"scoring\.scheme"),
        ({"scoring": {"baselines": 5, "answers": 4}}, "answers must be at least the 5 baselines"),
        ({"scoring": {"sketch": -2}}, "sketch"),
        ({"reputation": {"exclude_after": -1}}, "exclude_after"),
        ({"reputation": {"newcomers": 0}}, "newcomers must lie in"),
        ({"reputation": {"newcomers": 1.5}}, "newcomers must lie in"),
        ({"task": {"entry": "no colon"}}, "module:function"),
        ({"task": {}}, "entry"),
    ],
)
def test_terms_that_break_a_rule(values, words):
    with pytest.raises(TermsError, match=words):
        read_terms({**LEAST, **values})


@pytest.mark.parametrize(
    "values",
    [
        {"money": {"reward": 10, "ask": 10, "minimum_deposit": 15}},
        {"money": {"ask": 0}},
        {"deadlines": {"settle": 366 * 86_400}},
        {"deadlines": {"keys": 1801, "commit": 1801, "publish": 901, "margin": 900}},
        {"deadlines": {"settle": 3600, "margin": 900}, "settlement": {"scheme": "sampled"}},
        {"settlement": {"samples": 126, "providers": 128}},
        {"settlement": {"samples": 1, "providers": 1, "epochs": 1}},
        {"settlement": {"bits": 2}},
        {"settlement": {"bits": 32}},
        {"settlement": {"scheme": "sampled", "vdf_steps": 2**24}},
        {"settlement": {"scheme": "sampled", "vdf_steps": 2**63 - 1}},
        {"scoring": {"baselines": 5, "answers": 5}},
        {"scoring": {"sketch": 0}},
        {"reputation": {"exclude_after": 0, "newcomers": 1.0}},
        {"chain": {"since": 0}},
    ],
    ids=str,
)
def test_the_last_value_that_a_rule_allows_is_allowed(values):
    stated = asdict(read_terms({**LEAST, **values}))
    assert all(stated[section][name] == value for section, part in values.items() for name, value in part.items())


def test_files_that_are_no_terms(tmp_path):
    path = tmp_path / "market.toml"
    with pytest.raises(TermsError, match="not readable"):
        load_terms(path)
    for content in (b"name = ", b"\xff\xfe", b"[task]\nentry = 'a:b'\n"):
        path.write_bytes(content)
        with pytest.raises(TermsError, match=r"not readable as TOML|missing 1 required .* 'name'"):
            load_terms(path)


def test_defaults_are_stated_in_the_file():
    text = to_toml(TERMS)
    for section, values in asdict(TERMS).items():
        assert section in text
        assert all(name in text for name in values if section != "name" and values[name] != {})


# --- tasks --------------------------------------------------------------------------------------------------------


def test_tasks_that_are_built_in_need_no_leave():
    assert load_task("martfl.lab.task:digits", {"seed": 3}).initial().size == 2410


@pytest.mark.parametrize(
    ("entry", "allowed", "options", "message"),
    [
        ("small_task:softmax_task", [], {}, "'small_task', which must be allowed"),
        ("small_task.other:task", ["small_task"], {}, "'small_task.other', which must be allowed"),
        ("martfl.lab.task_of_mine:task", [], {}, "must be allowed"),
        ("martfl.lab.task:Path", [], {}, "must be allowed"),
        ("martfl.tasks.loading:load_data", [], {"source": "os:abort"}, "must be allowed"),
        ("martfl.lab.task:digits", [], {"shell": True}, "does not take these options"),
        ("builtins:dict", ["builtins"], {}, "must make a task: a task has layout"),
    ],
)
def test_tasks_that_are_not_made(entry, allowed, options, message):
    with pytest.raises(MarketError, match=message):
        load_task(entry, options, allowed=allowed)


def test_a_module_that_is_allowed_makes_its_task():
    assert load_task("small_task:softmax_task", {}, allowed=["small_task"]).initial().size == 170


@pytest.mark.parametrize("section", ["task", "selection"])
@pytest.mark.parametrize("value", ["1979-05-27", "07:32:00", "[1979-05-27]", "{ when = 1979-05-27 }", "nan", "inf"])
def test_options_are_plain_values(tmp_path, section, value):
    file = tmp_path / "market.toml"
    file.write_text(f'name = "m"\n[task]\nentry = "a:b"\n[{section}.options]\nx = {value}\n')
    with pytest.raises(TermsError, match=rf"{section}\.options must be texts, numbers"):
        load_terms(file)
