"""The JSON-RPC client against nodes that fail: reverts, a killed node, a flaky one; and what it never tells."""

import http.server
import json
import logging
import signal
import threading
import time
import urllib.request

import pytest

from martfl.chain.network import ChainError, RevertedError

pytestmark = pytest.mark.anvil


def test_a_step_that_reverts_in_its_block_tells_why(market, in_background, eventually):
    """The estimate was good, the deadline passed before the block came."""
    _, chain, contract = market
    chain.ask("evm_setAutomine", False)
    deadline = chain.now() + 50
    call = contract.functions.add_before(deadline)
    result = in_background(lambda: chain.send(call, account=chain.accounts[1], key="late"))
    eventually(lambda: chain.pool_size() == 1)
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
    eventually(lambda: chain.pool_size() == 1)
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
        client.send(client.seen(contract).functions.add(5), account=client.accounts[1], key=f"add {number}")
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
    with pytest.raises(ChainError, match=r"127\.0\.0\.1") as caught:
        chain.now()
    error, texts = caught.value, [caplog.text, repr(chain), repr(chain.web3.provider), str(chain)]
    while error is not None:
        texts.append(repr(error))
        error = error.__cause__
    assert all(secret not in text for text in texts)
