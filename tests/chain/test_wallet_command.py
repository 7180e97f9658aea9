"""`martfl wallet`, as a user runs it."""

import json

import pytest
from typer.testing import CliRunner

from martfl.chain.embedded import local_account
from martfl.cli import app
from martfl.errors import MartflError


@pytest.fixture
def wallet(tmp_path, monkeypatch):
    """Run a command with wallets in a folder of the test's own."""
    monkeypatch.setenv("MARTFL_WALLETS", str(tmp_path / "wallets"))
    monkeypatch.setenv("MARTFL_PASSWORD", "correct horse")
    monkeypatch.delenv("MARTFL_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str):
        result = CliRunner().invoke(app, ["wallet", *arguments])
        if isinstance(result.exception, MartflError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    return run


def test_new_and_list(wallet, tmp_path):
    made = json.loads(wallet("new", "alice", "--json"))
    assert made["path"] == str(tmp_path / "wallets" / "alice.json")
    assert json.loads(wallet("list", "--json")) == [{"name": "alice", "address": made["address"]}]
    assert made["address"] in wallet("list")
    assert "correct horse" not in (tmp_path / "wallets" / "alice.json").read_text()


def test_balance_on_the_local_chain_by_name_and_by_address(wallet):
    address = json.loads(wallet("new", "alice", "--json"))["address"]
    answer = json.loads(wallet("balance", "alice", "--json"))
    assert answer == {"address": address, "chain": "local", "wei": 0, "ether": "0"}
    assert "1000000 ether on local" in wallet("balance", local_account(0).address)


@pytest.mark.anvil
def test_balance_on_a_node(wallet, tmp_path, anvil):
    (tmp_path / "martfl.toml").write_text(f'[chains.test]\nrpc = "{anvil.url}"\nchain_id = 31337\n')
    answer = json.loads(wallet("balance", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "--chain", "test", "--json"))
    assert answer["ether"] == "10000"
    (tmp_path / "martfl.toml").write_text(f'[chains.test]\nrpc = "{anvil.url}"\nchain_id = 1\n')
    with pytest.raises(MartflError, match="serves chain 31337, expected 1"):
        wallet("balance", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "--chain", "test")


def test_the_password_is_no_option(wallet):
    assert CliRunner().invoke(app, ["wallet", "new", "alice", "--password", "correct horse"]).exit_code == 2


def test_a_password_file_serves(wallet, tmp_path, monkeypatch):
    monkeypatch.delenv("MARTFL_PASSWORD")
    (tmp_path / "password").write_text("short\n")
    with pytest.raises(MartflError, match="at least 8 characters, got 5"):
        wallet("new", "alice", "--password-file", str(tmp_path / "password"))
    (tmp_path / "password").write_text("long enough\n")
    wallet("new", "alice", "--password-file", str(tmp_path / "password"))
