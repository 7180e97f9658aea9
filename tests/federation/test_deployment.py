"""The deployment engine: SuperLink and SuperNodes as processes, TLS, anvil as the chain."""

import json
import os
import signal

import httpx
import pytest
from processes import memory_mb, wait_for

from martfl.chain.open import open_trading
from martfl.chain.state import Phase, SaleState
from martfl.cli import provider
from martfl.federation.flower.private import AcquireTaskRequest
from martfl.federation.flower.tasks import TaskRuntime

pytestmark = pytest.mark.anvil


def finish(site, process, seconds):
    wait_for(lambda: process.poll() is not None, seconds, lambda: site.said(site.wallets[0])[-2000:])
    assert process.returncode == 0, site.said(site.wallets[0])
    return json.loads((site.folder / "buyer.out").read_text())


def paid(site, trading, epochs):
    """What every provider earned in all epochs; nothing may be left to claim."""
    earned = []
    for wallet in site.wallets[1:]:
        standings = [trading.read_provider(epoch, wallet.address) for epoch in range(1, epochs + 1)]
        assert not any(standing.claimable for standing in standings), wallet
        earned.append(sum(standing.state is SaleState.CLAIMED for standing in standings))
    return earned


@pytest.mark.long
def test_an_epoch_is_settled_between_processes(site):
    place = site(providers=3)
    deployed = place.deploy()
    assert f'contract = "{deployed["contract"]}"' in (place.folder / "market.toml").read_text()
    acquirer = place.start_acquirer(epochs=1)
    sellers = [place.start_provider(0, "--epochs", "1", "--ask", "0.02")]
    sellers += [place.start_provider(1, "--epochs", "1")]
    place.invite()
    sellers += [place.join_by_invitation(2, "--epochs", "1")]
    wait_for(lambda: "joined" in place.said(place.wallets[0]), 240, lambda: place.said(place.wallets[0]))
    stranger = TaskRuntime(f"127.0.0.1:{place.port}", b"not the secret" * 3, place.tls.authority.read_bytes()).client()
    with pytest.raises(httpx.HTTPStatusError, match=r"401|403"):
        stranger.AcquireTask(AcquireTaskRequest(supported_task_types=["flwr-serverapp"]))
    place.hasten(1, seconds=300)
    (epoch,) = finish(place, acquirer, 240)["epochs"]
    assert (epoch["phase"], epoch["committed"], sum(epoch["weights"].values())) == ("SETTLED", 3, 1 << 16)
    assert sum(epoch["paid"].values()) + epoch["refunded"] == 15 * 10**17
    assert epoch["prices"][place.wallets[1].address] >= 2 * 10**16  # as it asked
    for seller in sellers:
        wait_for(lambda seller=seller: seller.poll() is not None, 60, lambda: place.said(place.wallets[1]))
        assert seller.returncode == 0
    trading = open_trading(place.chain, deployed["contract"], since=deployed["block"])
    assert trading.read_epoch(1).phase is Phase.SETTLED
    assert paid(place, trading, 1) == [1, 1, 1]
    assert place.chain.balance(trading.address) == 0
    assert "joined and proved to be wallet" in place.said(place.wallets[0])
    assert "asking 0.0200 ETH for an update" in place.said(place.wallets[1])
    assert len(list((place.folder / "home/.martfl/meters").glob("0x*.sqlite"))) == 3  # one for each wallet
    assert (
        place.run(provider.app, "claim", "market.toml", "--allow-task", "tiny_task", "--json", wallet=place.wallets[1])
        == []
    )


@pytest.mark.long
@pytest.mark.parametrize("killed", ["acquirer", "provider", "both"])
def test_killed_parties_resume(site, killed):
    """SIGKILL after everybody has committed, and start again: the provider comes back at a new node."""
    place = site(providers=3)
    deployed = place.deploy()
    buyer, victim = place.wallets[0], place.wallets[1]
    acquirer = place.start_acquirer(epochs=1)
    sellers = [place.start_provider(i) for i in range(3)]
    wait_for(lambda: "epoch 1, commit: 3 of 3" in place.said(buyer), 180, lambda: place.said(buyer))
    if killed != "acquirer":
        os.kill(sellers[0].pid, signal.SIGKILL)
        sellers[0].wait()
        place.start_provider(0)
    if killed != "provider":
        os.kill(acquirer.pid, signal.SIGKILL)
        acquirer.wait()
        acquirer = place.start_acquirer(epochs=1)
    place.hasten(1, seconds=400)
    (epoch,) = finish(place, acquirer, 400)["epochs"]
    assert (epoch["phase"], epoch["committed"]) == ("SETTLED", 3)
    assert victim.address in epoch["weights"]
    trading = open_trading(place.chain, deployed["contract"], since=deployed["block"])
    assert len(trading.commitments(1)) == 3
    wait_for(lambda: place.chain.balance(trading.address) == 0, 60, lambda: place.said(victim))


@pytest.mark.long
def test_eight_nodes_for_two_epochs_in_flat_memory(site):
    place = site(providers=8)
    deployed = place.deploy()
    acquirer = place.start_acquirer(epochs=2, wait=120)
    sellers = [place.start_provider(i) for i in range(8)]
    sizes = []
    for epoch in (1, 2):
        place.hasten(epoch, seconds=900)
        wait_for(
            lambda epoch=epoch: f"epoch {epoch}, over" in place.said(place.wallets[0]),
            900,
            lambda: place.said(place.wallets[0]),
        )
        sizes.append([memory_mb(process) for process in sellers])
    result = finish(place, acquirer, 60)
    assert [(e["phase"], e["committed"]) for e in result["epochs"]] == [("SETTLED", 8)] * 2
    assert max(after - before for before, after in zip(*sizes, strict=True)) < 10.0, sizes
    trading = open_trading(place.chain, deployed["contract"], since=deployed["block"])
    wait_for(lambda: place.chain.balance(trading.address) == 0, 90, lambda: str(paid(place, trading, 2)))
