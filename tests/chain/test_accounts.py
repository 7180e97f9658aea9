"""Wallets: encrypted, private, and silent about what is inside."""

import json
import logging
import stat
import sys

import pytest
from eth_account import Account

from martfl.chain import accounts
from martfl.chain.accounts import WalletError, find_wallet, list_wallets, new_wallet, read_password, unlock
from martfl.errors import InputError

PASSWORD = "correct horse"


@pytest.fixture
def wallet(tmp_path):
    return new_wallet(folder=tmp_path / "wallets", name="alice", password=PASSWORD, work=2)


def test_a_wallet_opens_with_its_password_and_signs(wallet):
    account = unlock(wallet, password=PASSWORD)
    assert account.address == wallet.address
    fields = {"to": wallet.address, "value": 1, "gas": 21000, "gasPrice": 1, "nonce": 0, "chainId": 1}
    signed = account.sign_transaction(fields)
    assert Account.recover_transaction(signed.raw_transaction) == wallet.address


def test_a_wrong_password_is_refused_without_being_repeated(wallet):
    with pytest.raises(WalletError, match="'alice' does not open with this password") as caught:
        unlock(wallet, password="wrong horse")
    assert "wrong horse" not in repr(caught.value)
    assert caught.value.__suppress_context__


def test_files_are_private_and_never_overwritten(wallet):
    assert stat.S_IMODE(wallet.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(wallet.path.parent.stat().st_mode) == 0o700
    before = wallet.path.read_bytes()
    with pytest.raises(WalletError, match="exists already"):
        new_wallet(folder=wallet.path.parent, name="alice", password=PASSWORD, work=2)
    assert wallet.path.read_bytes() == before


def test_neither_key_nor_password_shows_anywhere(wallet, caplog):
    caplog.set_level(logging.DEBUG)
    account = unlock(wallet, password=PASSWORD)
    key = bytes(account.key).hex()
    shown = (repr(account), str(account), repr(wallet), wallet.path.read_text(), caplog.text)
    assert all(key not in text and PASSWORD not in text for text in shown)


def test_the_default_cost_is_the_slow_one(tmp_path):
    path = new_wallet(folder=tmp_path, name="slow", password=PASSWORD).path
    crypto = json.loads(path.read_text())["crypto"]
    assert crypto["kdf"] == "scrypt"
    assert crypto["kdfparams"]["n"] >= 2**17


def test_wallets_are_listed_and_found_by_name_and_address(wallet):
    folder = wallet.path.parent
    other = new_wallet(folder=folder, name="bob", password=PASSWORD, work=2)
    (folder / "notes.json").write_text("{}")
    (folder / "list.json").write_text("[1]")
    (folder / "picture.png").write_bytes(b"\x89PNG\xff")
    assert list_wallets(folder) == [wallet, other]
    assert find_wallet(folder=folder, name="bob") == find_wallet(folder=folder, name=other.address.lower()) == other
    with pytest.raises(WalletError, match="no wallet 'carol'"):
        find_wallet(folder=folder, name="carol")


def test_a_missing_folder_holds_no_wallets(tmp_path):
    assert list_wallets(tmp_path / "nowhere") == []


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a" * 65])
def test_names_that_are_no_file_names_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="name must match"):
        new_wallet(folder=tmp_path, name=name, password=PASSWORD, work=2)


def test_short_passwords_are_refused_without_being_repeated(tmp_path):
    with pytest.raises(InputError, match="at least 8 characters, got 6") as caught:
        new_wallet(folder=tmp_path, name="x", password="secret", work=2)
    assert "secret" not in str(caught.value)


def test_a_file_whose_address_was_exchanged_is_refused(wallet):
    content = json.loads(wallet.path.read_text())
    wallet.path.write_text(json.dumps(content | {"address": "11" * 20}))
    (forged,) = list_wallets(wallet.path.parent)
    with pytest.raises(WalletError, match="holds the key of"):
        unlock(forged, password=PASSWORD)


def test_a_password_comes_from_file_variable_or_prompt_in_this_order(tmp_path, monkeypatch):
    file = tmp_path / "password"
    file.write_text("from file \nsecond line\n")
    monkeypatch.setenv("MARTFL_PASSWORD", "from default variable")
    monkeypatch.setenv("MINE", "from my variable")
    assert read_password(file=file, variable="MINE") == "from file "
    assert read_password(variable="MINE") == "from my variable"
    assert read_password() == "from default variable"
    monkeypatch.delenv("MARTFL_PASSWORD")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(accounts.getpass, "getpass", lambda _: "from prompt")
    assert read_password(confirm=True) == "from prompt"


def test_a_password_that_cannot_be_had_is_an_error(tmp_path, monkeypatch):
    monkeypatch.delenv("MARTFL_PASSWORD", raising=False)
    with pytest.raises(WalletError, match="cannot read a password"):
        read_password(file=tmp_path / "missing")
    with pytest.raises(WalletError, match="NOWHERE is not set"):
        read_password(variable="NOWHERE")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(WalletError, match="no terminal"):
        read_password()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    answers = iter(["one password", "another one"])
    monkeypatch.setattr(accounts.getpass, "getpass", lambda _: next(answers))
    with pytest.raises(WalletError, match="differ"):
        read_password(confirm=True)
