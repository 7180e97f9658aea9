"""The gas that the documentation promises, at 20 and 30 providers. Gas does not depend on the machine."""

import json

import pytest
from typer.testing import CliRunner

from martfl.bench.gas import PAPER, bench_gas, paper_gas
from martfl.bench.gas_exact import EPOCH
from martfl.chain.compile import MAX_CODE_BYTES
from martfl.cli import app

EXACT = {"accept", "buy", "commit_model", "commit_models", "deposit", "new_epoch", "publish_model", "refute", "reveal"}
CLAIMS = {"claim_reward (acquirer)", "claim_reward (provider)", "claim_rewards"}
SAMPLED = {"new_epoch", "commit_models", "buy", "reveal", "refute", "publish_model", "draw_samples"}
PROOF = {"submit_randomness", "commit_inputs", "refute_commitment", "verify_aggregation"}


@pytest.fixture(scope="module")
def twenty():
    return bench_gas(providers=20, samples=(), gwei=1.0, coin=3000.0)


def test_whole_epoch_of_twenty(twenty):
    assert twenty.epoch <= 1_900_000
    assert twenty.epoch_first <= 1_900_000
    for gas, total in ((twenty.exact, twenty.epoch), (twenty.exact_first, twenty.epoch_first)):
        assert set(gas) == EXACT | CLAIMS
        assert total == sum(gas[name] for name in EPOCH)


def test_no_function_above_the_papers(twenty):
    for gas in (twenty.exact, twenty.exact_first):
        compared = {name: paper for name in gas if (paper := paper_gas(name))}
        assert sorted(compared.values()) == sorted(PAPER.values())
        for name, paper in compared.items():
            assert gas[name] <= paper, name


def test_a_refutation_fits_into_a_transaction(twenty):
    assert twenty.exact["refute"] < 16_000_000  # the cap that Osaka puts on one transaction
    assert twenty.exact["reveal"] < 100_000


def test_code_has_room(twenty):
    assert set(twenty.code) == {"exact", "judge"}
    for code in twenty.code.values():
        assert code.bytes + code.room == MAX_CODE_BYTES
        assert code.room > 1_000


def test_summing_updates_on_chain_is_out_of_the_question(twenty):
    assert twenty.on_chain.plain_ratio > 1000


def test_publication_at_thirty():
    report = bench_gas(providers=30, samples=(), gwei=1.0, coin=3000.0)
    assert report.exact["publish_model"] <= 700_000


@pytest.fixture(scope="module")
def sampled():
    return bench_gas(providers=2, samples=(2, 4), gwei=1.0, coin=3000.0)


def test_sampled_functions(sampled):
    found = sampled.sampled
    assert set(found.functions) == SAMPLED | PROOF
    assert found.vdf_prague < found.functions["submit_randomness"]
    assert found.vdf_osaka > 4 * found.vdf_prague
    assert found.submit_optimistic < 200_000
    assert found.groth16 < found.functions["verify_aggregation"]
    assert found.by_samples[2]["commit_inputs"] < found.by_samples[4]["commit_inputs"]
    assert set(sampled.code) == {"exact", "judge", "sampled", "prover"}
    assert all(code.room > 1_000 for code in sampled.code.values())


def test_command(tmp_path):
    figure = tmp_path / "gas.svg"
    arguments = ["bench", "gas", "--providers", "3", "--samples", "2", "--figure", str(figure)]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    for text in ("Exact settlement, 3 providers", "first epoch", "Code", "room", "Gas by number of samples"):
        assert text in shown.output
    assert figure.stat().st_size > 0
    report = json.loads(CliRunner().invoke(app, [*arguments[:4], "--samples", "2", "--json"]).output)
    kept = {"providers", "exact", "paper", "deployment", "epoch", "per_provider", "dollars", "on_chain", "sampled"}
    assert kept | {"exact_first", "epoch_first", "code"} == set(report)
    assert report["code"]["prover"]["room"] > 0
