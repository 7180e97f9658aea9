"""Markets of martfl 0.1 are refused with a sentence that says what to do."""

import sqlite3

import vyper

from martfl.chain.embedded import EmbeddedChain
from martfl.market.journal import NAME, VERSION

OLD = """
# pragma version 0.4.3
SCHEME: public(constant(String[8])) = "exact"
"""


def test_an_old_contract_is_not_audited_by_new_rules(run, tmp_path):
    made = vyper.compile_code(OLD, output_formats=["abi", "bytecode"])
    with EmbeddedChain(tmp_path / "chain.sqlite", accounts=1) as chain:
        factory = chain.web3.eth.contract(abi=made["abi"], bytecode=made["bytecode"])
        contract = chain.send(factory.constructor(), account=chain.accounts[0]).contract
    (tmp_path / "model").write_bytes(b"")
    code, _, said = run(
        "audit", "--chain", tmp_path / "chain.sqlite", "--contract", contract, "--model", tmp_path / "model"
    )
    assert code == 2
    assert "not of this version: markets of martfl 0.1 are read-only, audit and report them with martfl 0.1" in said


def test_an_old_journal_is_not_reported_on(run, tmp_path):
    (tmp_path / "acquirer").mkdir()
    with sqlite3.connect(tmp_path / "acquirer" / NAME) as journal:
        journal.execute("CREATE TABLE steps (epoch INTEGER, step TEXT, value TEXT, at REAL, seconds REAL)")
    code, _, said = run("report", tmp_path)
    assert code == 2
    assert f"is a journal of form 1, this version reads form {VERSION}: old markets are read-only" in said
