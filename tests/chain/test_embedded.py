"""The embedded chain: it survives restarts and kills, has one owner, and repeats itself exactly."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.network import ChainError, RevertedError
from martfl.chain.store import NodeStore
from martfl.errors import InputError


def head(chain) -> str:
    return chain.web3.eth.get_block("latest")["hash"].hex()


def at(chain, contract):
    """The same contract, seen through another opening of the chain."""
    return chain.web3.eth.contract(address=contract.address, abi=contract.abi)


def test_it_survives_a_restart(tmp_path, deploy):
    with EmbeddedChain(tmp_path / "chain.db") as chain:
        contract = deploy(chain)
        receipt = chain.send(contract.functions.add(5), account=chain.accounts[1], value=3, key="add")
        chain.travel(1000)
        before = (head(chain), chain.now(), chain.balance(chain.accounts[1].address))
    with EmbeddedChain(tmp_path / "chain.db") as chain:
        contract = at(chain, contract)
        assert (head(chain), chain.now(), chain.balance(chain.accounts[1].address)) == before
        assert chain.send(contract.functions.add(5), account=chain.accounts[1], value=3, key="add") == receipt
        chain.send(contract.functions.add(6), account=chain.accounts[1])
        assert contract.functions.count().call() == 11
        assert len(contract.events.Counted().get_logs(from_block=0)) == 2


def test_the_same_calls_give_the_same_blocks_in_memory_and_on_disk(tmp_path, deploy):
    def story(chain) -> str:
        with chain:
            contract = deploy(chain)
            chain.send(contract.functions.add(5), account=chain.accounts[1], value=1)
            chain.travel(60)
            with pytest.raises(RevertedError, match="amount must be below 100"):
                chain.send(contract.functions.add(500), account=chain.accounts[1])
            chain.send(contract.functions.add(6), account=chain.accounts[2])
            return head(chain)

    assert story(EmbeddedChain()) == story(EmbeddedChain()) == story(EmbeddedChain(tmp_path / "chain.db"))


def test_randomness_differs_from_block_to_block_and_is_the_one_of_the_block(deploy):
    chain = EmbeddedChain()
    contract = deploy(chain)
    seen = []
    for _ in range(3):
        chain.send(contract.functions.add(1), account=chain.accounts[1])
        seen.append(contract.functions.random().call())
        assert seen[-1] == int.from_bytes(chain.web3.eth.get_block("latest")["mixHash"], "big")
    assert len(set(seen)) == 3


WRITER = """
import sys
from pathlib import Path
from martfl.chain.embedded import EmbeddedChain

chain = EmbeddedChain(Path(sys.argv[1]))
for number in range(10_000):
    chain.transfer(to=chain.accounts[1].address, amount=1, account=chain.accounts[0], key=f"step {number}")
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_a_killed_program_loses_no_finished_step_and_doubles_none(tmp_path):
    path = tmp_path / "chain.db"
    with EmbeddedChain(path) as chain:
        start = chain.balance(chain.accounts[1].address)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    for line in writer.stdout:
        if int(line) == 7:
            os.kill(writer.pid, signal.SIGKILL)
            break
    writer.wait()
    writer.stdout.close()
    with EmbeddedChain(path) as chain:
        done = chain.web3.eth.block_number
        assert done >= 8
        for number in range(done + 2):
            chain.transfer(to=chain.accounts[1].address, amount=1, account=chain.accounts[0], key=f"step {number}")
        assert chain.balance(chain.accounts[1].address) - start == done + 2 == chain.web3.eth.block_number


def test_a_second_program_is_refused(tmp_path):
    with EmbeddedChain(tmp_path / "chain.db"):
        with pytest.raises(ChainError, match="in use by another program"):
            EmbeddedChain(tmp_path / "chain.db")
        tried = subprocess.run(
            [sys.executable, "-c", WRITER, str(tmp_path / "chain.db")], capture_output=True, text=True, check=False
        )
        assert "in use by another program" in tried.stderr
    EmbeddedChain(tmp_path / "chain.db").close()


def test_a_file_that_is_no_chain_is_refused(tmp_path):
    (tmp_path / "chain.db").write_bytes(b"these are not the blocks you are looking for" * 100)
    with pytest.raises(ChainError, match="not a file of this program"):
        EmbeddedChain(tmp_path / "chain.db")


def test_a_damaged_chain_is_refused(tmp_path, deploy):
    path = tmp_path / "chain.db"
    with EmbeddedChain(path) as chain:
        contract = deploy(chain)
        chain.send(contract.functions.add(1), account=chain.accounts[1])
        middle = bytes(chain.web3.eth.get_block(1)["hash"])
    with sqlite3.connect(path) as file:
        assert file.execute("DELETE FROM nodes WHERE key = ?", (middle,)).rowcount == 1
    file.close()
    with pytest.raises(ChainError, match="damaged"):
        EmbeddedChain(path)


def test_a_chain_keeps_its_number_of_accounts(tmp_path):
    EmbeddedChain(tmp_path / "chain.db", accounts=3).close()
    with pytest.raises(ChainError, match="made with 3 accounts, got 4"):
        EmbeddedChain(tmp_path / "chain.db", accounts=4)
    with pytest.raises(InputError, match="at least 1 account, got 0"):
        EmbeddedChain(accounts=0)


def test_time_does_not_go_back():
    chain = EmbeddedChain()
    with pytest.raises(InputError, match="forward only"):
        chain.travel_to(chain.now())


def test_a_revert_to_a_snapshot_also_takes_back_keys_and_receipts(tmp_path, deploy):
    path = tmp_path / "chain.db"
    with EmbeddedChain(path) as chain:
        contract, before = deploy(chain), head(chain)
        outer = chain.snapshot()
        chain.send(contract.functions.add(1), account=chain.accounts[1], key="one")
        inner = chain.snapshot()
        chain.send(contract.functions.add(2), account=chain.accounts[1], key="two")
        chain.revert(inner)
        assert contract.functions.count().call() == 1
        chain.revert(outer)
        assert head(chain) == before
        with pytest.raises(ChainError, match="a snapshot must be one of"):
            chain.revert(inner)
        chain.send(contract.functions.add(3), account=chain.accounts[1], key="one")
        assert contract.functions.count().call() == 3
    with EmbeddedChain(path) as chain:
        assert at(chain, contract).functions.count().call() == 3


def test_threads_share_it(deploy):
    chain = EmbeddedChain()
    contract = deploy(chain)

    def work(account) -> None:
        for number in range(3):
            chain.send(contract.functions.add(1), account=account, key=f"{number}")
            assert contract.functions.count().call() > 0

    threads = [threading.Thread(target=work, args=(account,)) for account in chain.accounts[:4]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert contract.functions.count().call() == 12


def test_a_signed_transaction_may_also_come_through_web3(deploy):
    chain = EmbeddedChain()
    contract = deploy(chain)
    fields = {"nonce": 0, "gas": 100_000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 0, "chainId": chain.chain_id}
    signed = chain.accounts[1].sign_transaction(contract.functions.add(4).build_transaction(fields))
    name = chain.web3.eth.send_raw_transaction(signed.raw_transaction)
    assert chain.web3.eth.wait_for_transaction_receipt(name)["status"] == 1
    assert contract.functions.count().call() == 4


keys = st.binary(min_size=1, max_size=2)
changes = st.lists(st.tuples(keys, st.one_of(st.none(), st.binary(max_size=3))), max_size=6)


@settings(max_examples=40)
@given(rounds=st.lists(st.tuples(st.sampled_from(["commit", "rollback", "snapshot", "revert"]), changes), max_size=12))
def test_the_store_behaves_like_a_dictionary_with_copies(rounds, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "nodes.db"
    store, model, copies = NodeStore(path), {}, []
    for action, writes in rounds:
        scratch = dict(model)
        for key, value in writes:
            if value is not None:
                store[key] = scratch[key] = value
            elif key in scratch:
                del store[key], scratch[key]
        if action == "revert" and copies:
            store.revert(len(copies) - 1)
            model = dict(copies[-1])
        elif action == "rollback":
            store.rollback()
        else:
            store.commit()
            model = scratch
            if action == "snapshot":
                copies.append(dict(model))
                store.snapshot()
        assert all((key in store) == (key in model) for key, _ in writes)
        assert {key: store[key] for key in model} == model
    store.close()
    again = NodeStore(path)
    assert {key: again[key] for key in model} == model
    again.close()
    Path(path).unlink()
