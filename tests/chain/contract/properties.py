"""What must hold after every run, whoever was in the coalition; in the words of the promises that the market makes."""

from world import World


def check(world: World, *, honest: list[str]) -> None:
    """`honest` are the parties outside the coalition; everything claimable has been claimed."""
    now = world.now()
    assert world.book.held() == world.book.unclaimable(now), "something claimable was not claimed"
    assert world.balance(world.trading.address) == world.book.unclaimable(now), "the contract holds something else"
    for epoch, page in enumerate(world.book.pages, 1):
        phase = page.phase(now)
        assert phase in ("settled", "failed", "empty"), "a stuck state"
        _conserved(page, phase)
        _delivered_is_paid(world, epoch, page, honest)
        _nobody_gains_by_punishment(page, phase)
        if "acquirer" in honest:
            _nothing_for_nothing(world, epoch, page)
            _honest_acquirer_pays_for_what_it_has(world, epoch, page, phase)
        else:
            _no_free_update(world, epoch, page, honest)
            _penalty_bites(page, phase)


def _conserved(page, phase: str) -> None:
    """Paid in = paid out + unclaimable."""
    unclaimable = page.penalty if phase == "failed" else 0
    assert page.deposit == sum(page.paid.values()) + unclaimable


def _no_free_update(world: World, epoch: int, page, honest: list[str]) -> None:
    """P1: the coalition is poorer by at least the asks of all honest sellers whose keys it was given."""
    asks = sum(page.sales[name].offer.ask for number, name in world.facts.given if number == epoch)
    got = sum(amount for name, amount in page.paid.items() if name not in honest)
    assert page.deposit - got >= asks, "P1"


def _delivered_is_paid(world: World, epoch: int, page, honest: list[str]) -> None:
    """P2: who handed its update over has at least its ask."""
    for number, name in world.facts.given:
        if number == epoch and name in honest:
            assert page.paid.get(name, 0) >= page.sales[name].offer.ask, "P2"


def _nothing_for_nothing(world: World, epoch: int, page) -> None:
    """P3: who is paid has handed over an update that opens its commitment."""
    for name, amount in page.paid.items():
        if name != "acquirer" and amount:
            keys = world.facts.keys.get((epoch, name), set())
            assert any(world.opens_with(page.sales[name].offer, key) for key in keys), "P3"


def _nobody_gains_by_punishment(page, phase: str) -> None:
    """P4: everybody's pay follows from its own price and weight; what others forfeit changes nothing in it."""
    bonus = page.reward - sum(sale.price for sale in page.sales.values() if sale.bought)
    for name, sale in page.sales.items():
        share = bonus * sale.weight // 65_536 if phase == "settled" and sale.state == "listed" else 0
        assert page.paid.get(name, 0) in (0, sale.price + share), "P4"
    if phase == "failed":
        assert sum(page.paid.values()) == page.reward, "P4: the penalty is nobody's"


def _penalty_bites(page, phase: str) -> None:
    """P5: after purchases, who publishes nothing that stands loses the whole penalty."""
    bought = any(sale.bought for sale in page.sales.values())
    stands = page.published and page.proof in ("", "proved")
    lost = page.deposit - sum(page.paid.values())
    assert lost == (page.penalty if bought and not stands else 0), "P5"


def _honest_acquirer_pays_for_what_it_has(world: World, epoch: int, page, phase: str) -> None:
    """P5, P6: silence, garbage and late keys cost an honest acquirer nothing; it never loses its penalty."""
    assert phase != "failed", "P5: an honest acquirer lost its penalty"
    refund = page.paid.get("acquirer", 0)
    has = [
        name
        for name, sale in page.sales.items()
        if sale.bought and any(world.opens_with(sale.offer, key) for key in world.facts.keys.get((epoch, name), ()))
    ]
    most = sum(page.sales[name].price for name in has)
    if any(page.sales[name].state == "listed" for name in has):
        most += page.reward - page.spent
    assert page.deposit - refund <= most, "P6"
