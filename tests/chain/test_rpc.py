"""The JSON-RPC client against anvil: re-organisations, a stopped miner, a killed node, a flaky one, restarts."""

import http.server
import json
import logging
import signal
import threading
import time
import urllib.request

import pytest

from martfl.amounts import GWEI
from martfl.chain.network import ChainError, RevertedError
from martfl.errors import InputError

pytestmark = pytest.mark.anvil


@pytest.fixture
def in_background():
    """Run a call in a thread; the result is a function that waits for its value or raises its error."""
    threads = []

    def start(work):
        outcome = {}

        def run() -> None:
            try:
                outcome["value"] = work()
            except BaseException as error:
                outcome["error"] = error

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        threads.append(thread)

        def result():
            thread.join(timeout=120)
            if "error" in outcome:
                raise outcome["error"]
            return outcome["value"]

        return result

    yield start
    for thread in threads:
        thread.join(timeout=120)


@pytest.fixture
def market(start_anvil, connect, deploy, request):
    """A node of the test's own, a client, and the contract."""
    node = start_anvil(*getattr(request, "param", ()))
    chain = connect(node).prepare()
    return node, chain, deploy(chain)


def pool_size(chain) -> int:
    return int(chain.ask("txpool_status")["pending"], 16)


def seen(chain, contract):
    return chain.web3.eth.contract(address=contract.address, abi=contract.abi)


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
        modest.send(seen(modest, contract).functions.add(1), account=modest.accounts[1])
    assert contract.functions.count().call() == 0


def test_fees_stay_within_the_cap(market, connect):
    node, chain, contract = market
    base = chain.web3.eth.get_block("latest")["baseFeePerGas"]
    modest = connect(node, fee_cap=base + 1)
    receipt = modest.send(seen(modest, contract).functions.add(1), account=modest.accounts[1])
    sent = chain.web3.eth.get_transaction(receipt.transaction)
    assert sent["type"] == 2
    assert sent["maxFeePerGas"] == base + 1


def test_it_waits_for_confirmations(market, connect, in_background, eventually):
    node, chain, contract = market
    careful = connect(node, confirmations=3)
    result = in_background(lambda: careful.send(seen(careful, contract).functions.add(1), account=careful.accounts[1]))
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
    call = seen(careful, contract).functions.add(5)
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
    call = seen(careful, contract).functions.add(5)
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
    eventually(lambda: pool_size(chain) == 1)
    time.sleep(0.7)  # the step is sent again meanwhile, and stays one
    assert pool_size(chain) == 1
    chain.ask("evm_setAutomine", True)
    chain.mine()
    assert result().gas_used > 21_000
    assert contract.functions.count().call() == 5


def test_when_time_runs_out_the_step_stays_and_is_found_later(market, connect, tmp_path):
    node, chain, contract = market
    chain.ask("evm_setAutomine", False)
    hasty = connect(node, timeout=0.3, store=tmp_path / "pending.db")
    call = seen(hasty, contract).functions.add(5)
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
    with pytest.raises(ChainError):
        first.send(seen(first, contract).functions.add(5), account=first.accounts[1], key="add")
    first.close()
    chain.mine()
    second = connect(node, store=tmp_path / "pending.db")
    receipt = second.send(seen(second, contract).functions.add(5), account=second.accounts[1], key="add")
    assert receipt.block == chain.web3.eth.block_number
    assert contract.functions.count().call() == 5


def test_a_step_that_was_written_down_but_never_sent_is_sent_after_the_restart(market, connect, tmp_path, monkeypatch):
    node, _, contract = market
    first = connect(node, store=tmp_path / "pending.db")

    def die(_entry) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(first, "_broadcast", die)
    with pytest.raises(KeyboardInterrupt):
        first.send(seen(first, contract).functions.add(5), account=first.accounts[1], key="add")
    first.close()
    assert contract.functions.count().call() == 0
    second = connect(node, store=tmp_path / "pending.db")
    second.send(seen(second, contract).functions.add(7), account=second.accounts[1], key="another step")
    assert contract.functions.count().call() == 12  # the earlier nonce had to go first
    second.send(seen(second, contract).functions.add(5), account=second.accounts[1], key="add")
    assert contract.functions.count().call() == 12


def test_two_programs_do_not_share_a_store(anvil, connect, tmp_path):
    connect(anvil, store=tmp_path / "pending.db")
    with pytest.raises(ChainError, match="in use by another program"):
        connect(anvil, store=tmp_path / "pending.db")


def test_a_stuck_step_is_replaced_at_a_higher_fee(market, connect, in_background, eventually):
    node, chain, contract = market
    chain.ask("evm_setAutomine", False)
    eager = connect(node, raise_after=3600.0, resend=0.1)
    result = in_background(lambda: eager.send(seen(eager, contract).functions.add(5), account=eager.accounts[1]))
    eventually(lambda: pool_size(chain) == 1)
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
    call = seen(ours, contract).functions.add(5)
    result = in_background(lambda: ours.send(call, account=ours.accounts[1], key="add"))
    eventually(lambda: pool_size(chain) == 1)
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


def test_a_step_that_reverts_in_its_block_tells_why(market, in_background, eventually):
    """The estimate was good, the deadline passed before the block came."""
    _, chain, contract = market
    chain.ask("evm_setAutomine", False)
    deadline = chain.now() + 50
    call = contract.functions.add_before(deadline)
    result = in_background(lambda: chain.send(call, account=chain.accounts[1], key="late"))
    eventually(lambda: pool_size(chain) == 1)
    chain.travel_to(deadline + 1)
    with pytest.raises(RevertedError, match="trading: the deadline has passed"):
        result()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_node_comes_back_without_the_step_and_gets_it_again(
    start_anvil, connect, deploy, tmp_path, in_background, eventually, how
):
    """What the node had mined is in its state file; its pool of pending transactions is lost."""
    state = tmp_path / "state.json"
    node = start_anvil("--state-interval", "1", state=state)
    chain = connect(node, patience=120.0).prepare()
    contract = deploy(chain)
    chain.ask("evm_setAutomine", False)
    result = in_background(lambda: chain.send(contract.functions.add(5), account=chain.accounts[1], key="add"))
    eventually(lambda: pool_size(chain) == 1)
    written = state.stat().st_mtime_ns if state.exists() else 0
    eventually(lambda: state.exists() and state.stat().st_mtime_ns > written)
    node.stop(how)
    time.sleep(0.5)
    node.start()
    assert result().gas_used > 21_000
    assert contract.functions.count().call() == 5


def test_a_node_that_is_gone_is_an_error_with_its_host_only(start_anvil, connect):
    node = start_anvil()
    chain = connect(node, patience=0.3)
    node.stop(signal.SIGKILL)
    with pytest.raises(ChainError, match=r"node 127\.0\.0\.1 did not answer eth_chainId"):
        chain.transfer(to=chain.accounts[1].address, amount=1, account=chain.accounts[0])


class Flaky(http.server.BaseHTTPRequestHandler):
    """A proxy that spoils every second request in one of three ways, and loses the first answer to each transaction."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        trouble = self.trouble(body)
        if trouble == "silence before":
            self.connection.close()
            return
        if trouble == "busy":
            self.send_error(503)
            return
        request = urllib.request.Request(self.server.target, body, {"Content-Type": "application/json"})
        answer = urllib.request.urlopen(request).read()
        if trouble == "silence after":
            self.connection.close()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def trouble(self, body: bytes) -> str | None:
        request = json.loads(body)
        if request["method"] == "eth_sendRawTransaction" and request["params"][0] not in self.server.lost:
            self.server.lost.append(request["params"][0])
            return "silence after"
        self.server.count += 1
        return ("busy", None, "silence before", None, "silence after", None)[self.server.count % 6]

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def flaky(market):
    node, _, _ = market
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    server.target, server.count, server.lost = node.url, 0, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    server.server_close()


def test_a_flaky_node_neither_loses_nor_doubles_a_step(market, flaky, connect):
    _, chain, contract = market
    client = connect(flaky)
    for number in range(3):
        client.send(seen(client, contract).functions.add(5), account=client.accounts[1], key=f"add {number}")
    assert contract.functions.count().call() == 15
    assert len(flaky.lost) == 3
    assert chain.web3.eth.get_transaction_count(client.accounts[1].address) == 3


def test_threads_of_one_account_get_their_own_nonces(market, in_background):
    _, chain, contract = market
    results = [
        in_background(lambda n=n: chain.send(contract.functions.add(1), account=chain.accounts[1], key=f"{n}"))
        for n in range(6)
    ]
    assert len({result().transaction for result in results}) == 6
    assert contract.functions.count().call() == 6


def test_secrets_in_the_url_stay_out_of_logs_errors_and_representations(connect, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "s3cr3tpassw0rd"
    chain = connect(f"http://user:{secret}@127.0.0.1:9/v3/{secret}?key={secret}", patience=0.3)
    with pytest.raises(ChainError) as caught:
        chain.now()
    error, texts = caught.value, [caplog.text, repr(chain), repr(chain.web3.provider), str(chain)]
    while error is not None:
        texts.append(repr(error))
        error = error.__cause__
    assert all(secret not in text for text in texts)
    assert "127.0.0.1" in str(caught.value)
