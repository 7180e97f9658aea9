"""Coalitions of the acquirer with sellers."""

import dataclasses
from contextlib import suppress

import numpy as np

from martfl.bench.exchange.forgers import Forgery
from martfl.bench.exchange.play import PlayOutcome, of_acquirer, strategy
from martfl.bench.exchange.sellers import Spoilt
from martfl.bench.exchange.world import ASK, first_file, open_world
from martfl.chain.network import RevertedError
from martfl.market.settling import Share


@strategy("acquirer with a forger")
def acquirer_with_forger() -> PlayOutcome:
    """The forger has all weight, and what it earns comes home; the others have their asks."""
    with open_world(others=1) as world:
        world.rogue(0, ask=0, conduct=Forgery())
        epoch, shop = world.begun()
        own = world.others[0].address
        shop.buy([*world.names, own])
        epoch.steps.publish(first_file(world), {own: Share(shop.here[own], 65_536)})
        return of_acquirer(world)


@strategy("false refutations: another leaf, an index beyond the tree, after listing, after the claim")
def false_refutations() -> PlayOutcome:
    with open_world(others=1) as world:
        spoilt = world.rogue(0, kind=Spoilt, ask=0)
        (epoch, shop), honest = world.taken(), world.names
        epoch.publish_nobody()
        keys = world.trading.deadlines(epoch.number).keys
        epoch.act.clock.wait_until(keys)  # the sellers have revealed
        other = world.settler.refutation(spoilt.shelf.body(epoch.number), spoilt.shelf.secret(epoch.number))
        assert other is not None
        tries = [other, dataclasses.replace(other, secret=shop.here[honest[0]].secret)]
        tries += [dataclasses.replace(tries[1], index=1 << depth) for depth in (0, 1, 8, 23)]
        for name in honest:
            for refutation in tries:
                with suppress(RevertedError):
                    world.trading.refute(
                        epoch.number, offer=shop.offers[name], refutation=refutation, account=world.buyer, key=None
                    )
        world.settle_all()
        for name in honest:
            with suppress(RevertedError):
                world.trading.refute(
                    epoch.number, offer=shop.offers[name], refutation=tries[1], account=world.buyer, key=None
                )
        return of_acquirer(world)


@strategy(
    "all sellers but one subtract themselves from the published model",
    limit="a published sum tells every seller but one what the last one added: they know the rest",
)
def subtraction() -> PlayOutcome:
    """The acquirer lists one honest seller, unread by the coalition of sellers, who subtract what they know."""
    with open_world(honest=1, others=1) as world:
        world.rogue(0)
        acquirer = world.acquirer()
        acquirer.run(1)
        file, base = acquirer.model_file(1), acquirer.model_file(0)
        rogue = world.rogues[0]
        step = world.settler.floats(file) - world.settler.floats(base)
        model = np.asarray(world.settler.floats(base), np.float32)
        own = rogue.task.train(model, rogue.data, seed=0)
        rest = step - 0.5 * own
        theirs = world.honest[0].task.train(model, world.honest[0].data, seed=0)
        alike = float(rest @ theirs / (np.linalg.norm(rest) * np.linalg.norm(theirs)))
        return PlayOutcome(gain=ASK if alike > 0.99 else 0, short=0)
