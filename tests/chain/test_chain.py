"""What holds on every chain."""

import pytest
from eth_account import Account
from py_arkworks_bls12381 import G1Point, Scalar
from web3.exceptions import ContractLogicError

from martfl.chain.network import ChainError, RevertedError


def test_a_call_is_sent_and_its_receipt_tells_what_happened(chain, deploy):
    contract = deploy(chain)
    receipt = chain.send(contract.functions.add(5), account=chain.accounts[1], value=7)
    assert contract.functions.count().call() == 5
    assert chain.balance(contract.address) == 7
    assert receipt.contract is None
    assert receipt.block == chain.web3.eth.block_number
    assert 21_000 < receipt.gas_used < 200_000
    (event,) = contract.events.Counted().process_receipt({"logs": receipt.logs})
    assert event["args"] == {"who": chain.accounts[1].address, "count": 5}


def test_the_sender_pays_the_value_and_the_fee_and_no_more(chain, deploy):
    contract = deploy(chain)
    before = chain.balance(chain.accounts[1].address)
    receipt = chain.send(contract.functions.add(5), account=chain.accounts[1], value=7)
    assert before - chain.balance(chain.accounts[1].address) == 7 + receipt.fee


def test_a_revert_carries_the_contracts_text_and_costs_nothing(chain, deploy):
    contract = deploy(chain)
    before = chain.balance(chain.accounts[1].address)
    with pytest.raises(RevertedError, match="trading: amount must be below 100") as caught:
        chain.send(contract.functions.add(100), account=chain.accounts[1])
    assert caught.value.reason == "trading: amount must be below 100"
    assert chain.balance(chain.accounts[1].address) == before


def test_a_revert_without_a_reason_is_still_a_revert(chain, deploy):
    with pytest.raises(RevertedError, match="no reason given"):
        chain.send(deploy(chain).functions.refuse_silently(), account=chain.accounts[1])


def test_the_contract_decides_whether_it_takes_money(chain, deploy):
    with pytest.raises(RevertedError, match="no reason given"):
        chain.send(deploy(chain).functions.add_before(2**40), account=chain.accounts[1], value=1)


def test_an_account_without_money_is_refused(chain, deploy, stranger):
    with pytest.raises(ChainError, match="refused the transaction"):
        chain.send(deploy(chain).functions.add(1), account=stranger)
    with pytest.raises(ChainError, match=r"enough balance|Insufficient funds"):
        chain.transfer(to=chain.accounts[0].address, amount=1, account=stranger)


def test_a_transfer_funds_a_new_account(chain, deploy):
    newcomer = Account.from_key("0x" + "22" * 32)
    chain.transfer(to=newcomer.address, amount=10**18, account=chain.accounts[0])
    assert chain.balance(newcomer.address) == 10**18
    contract = deploy(chain)
    chain.send(contract.functions.add(1), account=newcomer)
    assert contract.functions.count().call() == 1


def test_a_keyed_step_is_done_once(chain, deploy):
    contract = deploy(chain)
    first = chain.send(contract.functions.add(5), account=chain.accounts[1], key="epoch 1: add")
    assert chain.send(contract.functions.add(5), account=chain.accounts[1], key="epoch 1: add") == first
    chain.send(contract.functions.add(5), account=chain.accounts[1], key="epoch 2: add")
    assert contract.functions.count().call() == 10


def test_keys_belong_to_their_account(chain, deploy):
    contract = deploy(chain)
    receipts = [chain.send(contract.functions.add(1), account=account, key="commit") for account in chain.accounts]
    assert contract.functions.count().call() == len({receipt.transaction for receipt in receipts}) == 10


def test_a_keyed_step_that_reverted_may_be_tried_again(chain, deploy):
    contract = deploy(chain)
    for _ in range(2):
        with pytest.raises(RevertedError, match="below 100"):
            chain.send(contract.functions.add(100), account=chain.accounts[1], key="add")
    chain.send(contract.functions.add(99), account=chain.accounts[1], key="add")
    assert contract.functions.count().call() == 99


def test_time_moves_by_a_second_a_block_and_by_travel(chain, deploy):
    contract = deploy(chain)
    start = chain.now()
    chain.send(contract.functions.add(1), account=chain.accounts[1])
    assert chain.now() == start + 1
    chain.travel(3600)
    assert chain.now() == start + 3601
    chain.travel_to(start + 4000)
    assert chain.now() == start + 4000


def test_deadlines_are_met_to_the_second(chain, deploy):
    contract = deploy(chain)
    deadline = chain.now() + 1000
    chain.travel_to(deadline - 1)
    chain.send(contract.functions.add_before(deadline), account=chain.accounts[1])
    with pytest.raises(RevertedError, match="the deadline has passed"):
        chain.send(contract.functions.add_before(deadline), account=chain.accounts[1])


def test_snapshots_bring_back_state_and_time(chain, deploy):
    contract = deploy(chain)
    before, start = chain.snapshot(), chain.now()
    for _ in range(2):  # a snapshot serves more than once
        chain.send(contract.functions.add(5), account=chain.accounts[1])
        chain.travel(100)
        chain.revert(before)
        assert (contract.functions.count().call(), chain.now()) == (0, start)


def test_a_failing_view_raises_the_same_error_everywhere(chain, deploy):
    with pytest.raises(ContractLogicError, match="trading: not points of the group"):
        deploy(chain).functions.msm(b"\x01" * 160).call()


def test_the_bls_precompile_computes_with_points(chain, deploy):
    """EIP-2537: 2·P + 3·Q by G1MSM equals what the curve library says."""

    def encode(point) -> bytes:
        xy = bytes(point.to_xy_bytes_be())
        return b"".join(bytes(16) + half for half in (xy[:48], xy[48:]))

    p, q = (G1Point.hash_to_curve(name, b"test") for name in (b"p", b"q"))
    pairs = b"".join(encode(point) + scalar.to_bytes(32, "big") for point, scalar in ((p, 2), (q, 3)))
    answer = deploy(chain).functions.msm(pairs).call()
    assert answer == encode(p * Scalar(2) + q * Scalar(3))
