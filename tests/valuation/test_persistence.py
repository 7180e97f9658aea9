"""Who takes out what its own rows always add gains nothing, and honest sellers lose nothing by how that is found."""

from collections.abc import Callable

import numpy as np
import pytest
from sellers_world import NOISE, SIZE, World

from martfl.valuation import Information, Sale, pack_account, unpack_account

SELLERS, EPOCHS, STAYS = 10, 6, 0.8  # part of the noise that stays
Sell = Callable[[int, list[np.ndarray], list[np.ndarray]], np.ndarray | None]


def trained(world: World, seller: int, epoch: int, *, stays: float = STAYS, rows: float = 400.0) -> np.ndarray:
    """A signal that turns a little in every epoch, noise that stays and noise that is new."""
    kept, new = world.normal(20, seller), world.normal(21, seller, epoch)
    noise = np.sqrt(stays) * kept + np.sqrt(1.0 - stays) * new
    turned = 0.5 * world.normal(22, epoch) / np.sqrt(SIZE)
    return world.signal + turned + np.sqrt(NOISE / rows) * noise / np.sqrt(SIZE)


def run(world: World, first: Sell, *, packed: bool = False) -> np.ndarray:
    """[epochs] what the first seller is paid; it sells what `first` makes of its updates and the public steps."""
    rule, steps, own = Information(), [], []
    account, paid = rule.start(), []
    for epoch in range(EPOCHS):
        own.append(trained(world, 0, epoch))
        sold = {i: trained(world, i, epoch) for i in range(1, SELLERS)}
        if (mine := first(epoch, own, steps)) is not None:
            sold = {0: mine, **sold}
        directions = np.stack(list(sold.values()))
        sale = world.sale(directions, steps[-1] if steps else None)
        sale = Sale(tuple(str(i) for i in sold), directions, sale.gains, sale.step, sale.step_gains)
        account, worth = rule.appraise(unpack_account(pack_account(account)) if packed else account, sale)
        paid.append(worth.shares[0] if 0 in sold else 0.0)
        steps.append(directions.mean(axis=0))
    return np.array(paid)


def honest(epoch: int, own: list[np.ndarray], steps: list[np.ndarray]) -> np.ndarray:
    return own[-1]


def taken_out(share: float, epochs: int) -> Sell:
    """Less this share of what set it apart in so many epochs before."""

    def sell(epoch: int, own: list[np.ndarray], steps: list[np.ndarray]) -> np.ndarray:
        past = [u - s for u, s in zip(own[:-1], steps, strict=True)][-epochs:]
        return own[-1] - share * np.mean(past, axis=0) if past else own[-1]

    return sell


def from_epoch(begin: int, sell: Sell) -> Sell:
    return lambda epoch, own, steps: sell(epoch, own, steps) if epoch >= begin else None


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("epochs", [1, 3])
def test_taking_out_what_ones_rows_always_add_gains_nothing(world, share, epochs) -> None:
    assert run(world, taken_out(share, epochs)).sum() <= 1.06 * run(world, honest).sum()


def test_who_comes_late_and_takes_it_out_from_the_first_sale_gains_little_in_the_end(world) -> None:
    late, honestly = run(world, from_epoch(2, taken_out(1.0, 2))), run(world, from_epoch(2, honest))
    assert late[-1] <= 1.3 * honestly[-1]


def test_who_takes_it_out_every_other_time_gains_nothing(world) -> None:
    cheat = taken_out(1.0, 1)
    mixed = run(world, lambda epoch, own, steps: (cheat if epoch % 2 else honest)(epoch, own, steps))
    assert mixed.sum() <= 1.05 * run(world, honest).sum()


def test_rows_that_are_new_in_every_epoch_cost_nothing(world) -> None:
    fresh = run(world, lambda epoch, own, steps: trained(world, 0, epoch, stays=0.0))
    assert fresh.sum() >= 0.95 * run(world, honest).sum()


def test_a_gap_costs_nothing(world) -> None:
    gap = run(world, lambda epoch, own, steps: own[-1] if epoch not in (2, 3) else None)
    assert gap[4:].sum() >= 0.95 * run(world, honest)[4:].sum()


def test_who_comes_late_is_paid_in_full_from_the_second_sale_on(world) -> None:
    late, usual = run(world, from_epoch(3, honest)), run(world, honest)
    assert late[3] < usual[3]
    assert late[4:].sum() >= 0.85 * usual[4:].sum()


def test_who_comes_late_counts_for_no_more_than_the_usual_seller(world) -> None:
    large = run(world, from_epoch(2, lambda epoch, own, steps: trained(world, 0, epoch, rows=4000.0)))
    always = run(world, lambda epoch, own, steps: trained(world, 0, epoch, rows=4000.0))
    assert always[-1] > 2.0 / SELLERS
    assert 0.7 / SELLERS < large[-1] <= 1.1 / SELLERS


def test_more_rows_are_seen_to_be_more(world) -> None:
    def grow(epoch: int, own: list[np.ndarray], steps: list[np.ndarray]) -> np.ndarray:
        return trained(world, 0, epoch) if epoch < 1 else (trained(world, 0, epoch) + trained(world, 77, epoch)) / 2

    assert run(world, grow)[-1] >= 1.15 * run(world, honest)[-1]


def test_what_is_remembered_comes_back_as_it_was(world) -> None:
    assert run(world, honest, packed=True) == pytest.approx(run(world, honest), rel=1e-9)
