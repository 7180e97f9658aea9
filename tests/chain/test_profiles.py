"""Chains by name."""

import pytest

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.profiles import EmbeddedProfile, load_profiles, open_chain, resolve
from martfl.chain.rpc import RpcChain
from martfl.errors import InputError

EXAMPLE = """
[chains.local]
path = "chain.db"
accounts = 3

[chains.sepolia]
rpc = "env:RPC_URL"
confirmations = 3
fee_cap_gwei = 50
store = "sepolia.db"

[chains.office]
rpc = "http://key@node.example/secret"
chain_id = 4242
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "martfl.toml"
    path.write_text(EXAMPLE)
    return path


def test_the_embedded_chain_opens_beside_its_file(config):
    with open_chain("local", config=config) as chain:
        assert isinstance(chain, EmbeddedChain)
        assert len(chain.accounts) == 3
    assert (config.parent / "chain.db").exists()


def test_a_node_is_opened_with_what_the_profile_says(config, monkeypatch):
    monkeypatch.setenv("RPC_URL", "http://127.0.0.1:1/")
    with open_chain("sepolia", config=config) as chain:
        assert isinstance(chain, RpcChain)
        assert (chain.chain_id, chain.confirmations, chain.fee_cap) == (11155111, 3, 50 * 10**9)
    assert (config.parent / "sepolia.db").exists()
    assert load_profiles(config)["office"].chain_id == 4242


def test_the_url_is_not_shown(config):
    assert "secret" not in repr(load_profiles(config)) + str(load_profiles(config)["office"])


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("RPC_URL", raising=False)
    with pytest.raises(InputError, match="RPC_URL must hold the node's URL"):
        resolve("env:RPC_URL")


def test_without_a_file_there_is_the_local_chain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MARTFL_CONFIG", raising=False)
    assert load_profiles() == {"local": EmbeddedProfile("local")}


def test_the_file_is_found_here_or_by_variable(config, monkeypatch, tmp_path_factory):
    monkeypatch.delenv("MARTFL_CONFIG", raising=False)
    monkeypatch.chdir(config.parent)
    assert set(load_profiles()) == {"local", "sepolia", "office"}
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    monkeypatch.setenv("MARTFL_CONFIG", str(config))
    assert set(load_profiles()) == {"local", "sepolia", "office"}


def test_an_unknown_chain_lists_the_known_ones(config):
    with pytest.raises(InputError, match="one of local, sepolia, office, got 'moon'"):
        open_chain("moon", config=config)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[chains.x]\nrpc = 'http://h/s3cret'", "must state its chain_id"),
        ("[chains.x]\nrpc = 'http://h/s3cret'\nchain_id = 'http://h/s3cret'", "chain_id must be a int, got str"),
        ("[chains.x]\nrpc = 5", "rpc must be a str, got int"),
        ("[chains.x]\naccounts = true", "accounts must be a int, got bool"),
        ("[chains.x]\npaht = 'chain.db'", "takes path, accounts, got 'paht'"),
        ("[chains]\nx = 5", "written as"),
        ("[chains.x", "cannot read chains"),
    ],
)
def test_mistakes_are_named_without_quoting_values(tmp_path, text, message):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_profiles(tmp_path / "c.toml")
    assert "s3cret" not in str(caught.value)
