"""Terms: validated by name, the same after a round trip, and another hash for every change but of the chain."""

from dataclasses import asdict, fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.market.errors import MarketError, TermsError
from martfl.market.task import load_data, load_entry
from martfl.market.terms import Terms, load_terms, read_terms, to_toml

LEAST = {"name": "digits", "task": {"entry": "module:function"}}
TERMS = read_terms(LEAST)
OTHER = {
    "token": "0x" + "11" * 20,
    "scheme": "sampled",
    "setup": "alone",
    "rule": "martfl",
    "scorer": "plain",
    "entry": "other:function",
}


def every_field():
    for section in fields(Terms):
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
        new = OTHER.get(name, value + "1")
    else:
        new = value * 2 if isinstance(value, float) else value + 1
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
        ({"money": {"advance_fee": -1}}, "advance_fee"),
        ({"money": {"reward": 10, "minimum_deposit": 10**15}}, "minimum_deposit"),
        ({"money": 5}, "money must be a table"),
        ({"money": {"reward": 2**96}}, "below 2\\^96"),
        ({"money": {"advance_fee": 2**96}}, "advance_fee"),
        ({"money": {"token": "coin"}}, "token must be an address"),
        ({"deadlines": {"commit": 0}}, "deadline"),
        ({"deadlines": {"settle": 2**32 + 1}}, "deadline"),
        ({"settlement": {"samples": 127}}, "samples"),
        ({"settlement": {"providers": 129}}, "providers"),
        ({"settlement": {"vdf_steps": 2**63}}, "vdf_steps"),
        ({"chain": {"since": -1}}, "since"),
        ({"settlement": {"scheme": "magic"}}, "scheme"),
        ({"settlement": {"bits": 64}}, "bits"),
        ({"settlement": {"scale": 0}}, "scale"),
        ({"settlement": {"scale": float("nan")}}, "scale"),
        ({"settlement": {"scale": float("inf")}}, "scale"),
        ({"selection": {"rule": "fair"}}, "rule"),
        ({"selection": {"rule": "martfl", "baselines": 0}}, "baselines must be at least 1"),
        ({"selection": {"rule": "evidence", "baselines": 3}}, "baselines must be at least 4 for rule 'evidence'"),
        ({"selection": {"scorer": "trust"}}, "scorer"),
        ({"reputation": {"exclude_after": -1}}, "exclude_after"),
        ({"task": {"entry": "no colon"}}, "module:function"),
        ({"task": {}}, "entry"),
    ],
)
def test_terms_that_break_a_rule(values, words):
    with pytest.raises(TermsError, match=words):
        read_terms({**LEAST, **values})


def test_files_that_are_no_terms(tmp_path):
    path = tmp_path / "market.toml"
    with pytest.raises(TermsError, match="not readable"):
        load_terms(path)
    for content in (b"name = ", b"\xff\xfe", b"[task]\nentry = 'a:b'\n"):
        path.write_bytes(content)
        with pytest.raises(TermsError):
            load_terms(path)


def test_defaults_are_stated_in_the_file():
    text = to_toml(TERMS)
    for section, values in asdict(TERMS).items():
        assert section in text
        assert all(name in text for name in values if section != "name" and values[name] != {})


# --- tasks and data -----------------------------------------------------------------------------------------------


def test_entries():
    assert load_entry("math:sqrt")(9) == 3
    for entry in ("math", "math:nothing", "no_such_module:f", ":f", "math:", "math:pi"):
        with pytest.raises(MarketError, match="function"):
            load_entry(entry)


def test_data(tmp_path):
    with pytest.raises(MarketError, match=r"lacks x\.npy, y\.npy"):
        load_data(str(tmp_path))
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    np.save(tmp_path / "y.npy", np.arange(3))
    x, y = load_data(str(tmp_path))
    assert x.shape == (3, 2) and y.tolist() == [0, 1, 2]
    assert load_data("builtins:list") == []
    with pytest.raises(MarketError, match="data must be a folder"):
        load_data("nowhere")
    np.save(tmp_path / "x.npy", np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(MarketError, match=r"x\.npy"):
        load_data(str(tmp_path))
