"""The JSON-RPC client against anvil: fees, confirmations, re-organisations, a stopped miner, restarts."""

import time

import pytest

from martfl.amounts import GWEI
from martfl.chain.network import ChainError
from martfl.errors import InputError

pytestmark = pytest.mark.anvil


def test_a_node_of_another_chain_is_refused_before_anything_is_signed(anvil, connect):
    chain = connect(anvil, chain_id=11155111)
    with pytest.raises(ChainError, match="serves chain 31337, expected 11155111"):
        chain.transfer(to=chain.accounts[1].address, amount=1, account=chain.accounts[0])
    assert chain.web3.eth.get_transaction_count(chain.accounts[0].address) == 0


def test_options_are_checked(connect):
    with pytest.raises(InputError, match="confirmations must be at least 1, got 0"):
        connect("http://127.0.0.1:1", confirmations=0)
    with pytest.raises(InputError, match="fee_cap must be at least 1 wei, got 0"):
        connect("http://127.0.0.1:1", fee_cap=0)
    with pytest.raises(InputError, match="'ws'"):
        connect("ws://127.0.0.1:1")


def test_a_network_above_the_fee_cap_is_not_used(market, connect):
    node, _, contract = market
    modest = connect(node, fee_cap=10)
    with pytest.raises(ChainError, match="the cap is 10"):
        modest.send(modest.seen(contract).functions.add(1), account=modest.accounts[1])
    assert contract.functions.count().call() == 0


def test_fees_stay_within_the_cap(market, connect):
    node, chain, contract = market
    base = chain.web3.eth.get_block("latest")["baseFeePerGas"]
    modest = connect(node, fee_cap=base + 1)
    receipt = modest.send(modest.seen(contract).functions.add(1), account=modest.accounts[1])
    sent = chain.web3.eth.get_transaction(receipt.transaction)
    assert sent["type"] == 2
    assert sent["maxFeePerGas"] == base + 1


def test_it_waits_for_confirmations(market, connect, in_background, eventually):
    node, chain, contract = market
    careful = connect(node, confirmations=3)
    result = in_background(lambda: careful.send(careful.seen(contract).functions.add(1), account=careful.accounts[1]))
    eventually(lambda: contract.functions.count().call() == 1)
    included = chain.web3.eth.block_number
    for _ in range(2):
        chain.mine()
    assert result().block == included
    assert chain.web3.eth.block_number == included + 2


def test_a_reorganisation_that_drops_the_block_loses_no_step(market, connect, in_background, eventually):
    """The block with the step is replaced by an empty one and the node forgets the step: it is sent again, once."""
    node, chain, contract = market
    careful = connect(node, confirmations=3)
    before = chain.snapshot()
    call = careful.seen(contract).functions.add(5)
    result = in_background(lambda: careful.send(call, account=careful.accounts[1], key="add"))
    eventually(lambda: contract.functions.count().call() == 5)
    chain.revert(before)
    chain.mine()
    assert contract.functions.count().call() == 0
    eventually(lambda: contract.functions.count().call() == 5)
    chain.mine(3)
    assert result().block <= chain.web3.eth.block_number - 2
    assert contract.functions.count().call() == 5
    assert careful.web3.eth.get_transaction_count(careful.accounts[1].address) == 1


def test_a_reorganisation_that_moves_the_step_gives_the_receipt_of_its_last_place(
    market, connect, in_background, eventually
):
    node, chain, contract = market
    careful = connect(node, confirmations=4)
    call = careful.seen(contract).functions.add(5)
    result = in_background(lambda: careful.send(call, account=careful.accounts[1], key="add"))
    eventually(lambda: contract.functions.count().call() == 5)
    first = chain.web3.eth.block_number
    stale = chain.web3.eth.get_block(first)["hash"]
    raw = chain.ask("eth_getRawTransactionByHash", chain.web3.eth.get_block(first)["transactions"][0].hex())
    chain.mine()
    chain.ask("anvil_reorg", 2, [[raw, 1]])  # the same two blocks again, the step now in the second
    chain.mine(4)
    receipt = result()
    assert receipt.block == first + 1
    assert receipt.logs[0]["blockHash"] != stale
    assert contract.functions.count().call() == 5


def test_a_step_done_long_ago_is_sent_again_after_a_deep_reorganisation(market):
    _, chain, contract = market
    before = chain.snapshot()
    first = chain.send(contract.functions.add(5), account=chain.accounts[1], key="add")
    chain.revert(before)
    assert contract.functions.count().call() == 0
    again = chain.send(contract.functions.add(5), account=chain.accounts[1], key="add")
    assert again.transaction == first.transaction
    assert contract.functions.count().call() == 5


def test_a_stopped_miner_is_waited_for(market, in_background, eventually):
    _, chain, contract = market
    chain.ask("evm_setAutomine", False)
    result = in_background(lambda: chain.send(contract.functions.add(5), account=chain.accounts[1], key="add"))
    eventually(lambda: chain.pool_size() == 1)
    time.sleep(0.7)  # the step is sent again meanwhile, and stays one
    assert chain.pool_size() == 1
    chain.ask("evm_setAutomine", True)
    chain.mine()
    assert result().gas_used > 21_000
    assert contract.functions.count().call() == 5


def test_when_time_runs_out_the_step_stays_and_is_found_later(market, connect, tmp_path):
    node, chain, contract = market
    chain.ask("evm_setAutomine", False)
    hasty = connect(node, timeout=0.3, store=tmp_path / "pending.db")
    call = hasty.seen(contract).functions.add(5)
    with pytest.raises(ChainError, match=r"step 'add' .* is not confirmed"):
        hasty.send(call, account=hasty.accounts[1], key="add")
    chain.mine()
    hasty.send(call, account=hasty.accounts[1], key="add")
    assert contract.functions.count().call() == 5


def test_a_restarted_program_finds_its_step(market, connect, tmp_path):
    """The first program dies while its step is pending; the second waits for it instead of sending another."""
    node, chain, contract = market
    chain.ask("evm_setAutomine", False)
    first = connect(node, timeout=0.2, store=tmp_path / "pending.db")
    with pytest.raises(ChainError, match="add"):
        first.send(first.seen(contract).functions.add(5), account=first.accounts[1], key="add")
    first.close()
    chain.mine()
    second = connect(node, store=tmp_path / "pending.db")
    receipt = second.send(second.seen(contract).functions.add(5), account=second.accounts[1], key="add")
    assert receipt.block == chain.web3.eth.block_number
    assert contract.functions.count().call() == 5


def test_a_step_that_was_written_down_but_never_sent_is_sent_after_the_restart(market, connect, tmp_path, monkeypatch):
    node, _, contract = market
    first = connect(node, store=tmp_path / "pending.db")

    def die(_entry) -> None:
        raise KeyboardInterrupt("killed")

    monkeypatch.setattr(first, "_broadcast", die)
    with pytest.raises(KeyboardInterrupt, match="killed"):
        first.send(first.seen(contract).functions.add(5), account=first.accounts[1], key="add")
    first.close()
    assert contract.functions.count().call() == 0
    second = connect(node, store=tmp_path / "pending.db")
    second.send(second.seen(contract).functions.add(7), account=second.accounts[1], key="another step")
    assert contract.functions.count().call() == 12  # the earlier nonce had to go first
    second.send(second.seen(contract).functions.add(5), account=second.accounts[1], key="add")
    assert contract.functions.count().call() == 12


def test_two_programs_do_not_share_a_store(anvil, connect, tmp_path):
    connect(anvil, store=tmp_path / "pending.db")
    with pytest.raises(ChainError, match="in use by another program"):
        connect(anvil, store=tmp_path / "pending.db")


def test_a_stuck_step_is_replaced_at_a_higher_fee(market, connect, in_background, eventually):
    node, chain, contract = market
    chain.ask("evm_setAutomine", False)
    eager = connect(node, raise_after=3600.0, resend=0.1)
    result = in_background(lambda: eager.send(eager.seen(contract).functions.add(5), account=eager.accounts[1]))
    eventually(lambda: chain.pool_size() == 1)
    ((first,),) = (queue.values() for queue in chain.ask("txpool_content")["pending"].values())
    assert int(first["maxFeePerGas"], 16) < 20 * GWEI

    def dear_block() -> bool:
        chain.ask("anvil_setNextBlockBaseFeePerGas", hex(20 * GWEI))
        chain.mine()
        return contract.functions.count().call() == 5

    assert not dear_block()
    eager.raise_after = 0.0  # from now on, and not a moment before
    eventually(dear_block)
    receipt = result()
    assert receipt.transaction != first["hash"]
    assert 20 * GWEI <= chain.web3.eth.get_transaction(receipt.transaction)["maxFeePerGas"] <= eager.fee_cap
    assert chain.web3.eth.get_transaction_count(eager.accounts[1].address) == 1


def test_a_strangers_transaction_in_our_place_is_reported(market, connect, in_background, eventually):
    """Another program signs for the same account: our step did not happen, and may be tried again."""
    node, chain, contract = market
    chain.ask("evm_setAutomine", False)
    ours = connect(node)
    call = ours.seen(contract).functions.add(5)
    result = in_background(lambda: ours.send(call, account=ours.accounts[1], key="add"))
    eventually(lambda: chain.pool_size() == 1)
    fields = {"nonce": 0, "gas": 21_000, "chainId": 31337, "to": chain.accounts[2].address, "value": 1}
    fees = {"maxFeePerGas": 100 * GWEI, "maxPriorityFeePerGas": 50 * GWEI}
    stranger = chain.accounts[1].sign_transaction(fields | fees)
    chain.web3.eth.send_raw_transaction(stranger.raw_transaction)
    chain.mine()
    with pytest.raises(ChainError, match=r"displaced by transaction 0x[0-9a-f]{64}"):
        result()
    chain.ask("evm_setAutomine", True)
    ours.send(call, account=ours.accounts[1], key="add")
    assert contract.functions.count().call() == 5
