"""A market with sampled settlement: 3 slots, 4 samples of 3000 parameters, a short delay."""

import dataclasses

import numpy as np
import pytest

from martfl.chain.events import RootPublished
from martfl.chain.sampled import SampledTrading
from martfl.chain.state import Sampling
from martfl.settlement.sampled import Quantisation, Shape, cached_keys, key_hash, specialise
from martfl.settlement.sampled.epoch import aggregate_model, prove_samples, state_samples
from martfl.settlement.sampled.merkle import build_tree
from martfl.settlement.sampled.poseidon import constants_hash
from martfl.settlement.sampled.update import (
    blinding,
    empty_commitment,
    make_objection,
    update_root,
    update_tree,
)
from martfl.settlement.sampled.vdf import evaluate

PARAMETERS, STEPS = 3000, 300
SHAPE = Shape(providers=3, samples=4)


@pytest.fixture(scope="session")
def keys():
    """Proving key, quantisation and the market's own verifying key."""
    proving = cached_keys(SHAPE)
    terms = Quantisation.symmetric(SHAPE, update_limit=0.5, model_limit=4.0, epsilon=1e-3)
    return proving, terms, specialise(proving.verifying, terms.constants())


@pytest.fixture(scope="session")
def sampled_type(market_type, keys):
    proving, quantisation, market_key = keys

    class SampledMarket(market_type):
        """The same parties; provider i commits to an update of its own."""

        client = SampledTrading
        key, quantisation_terms, shape, parameters, steps = market_key, quantisation, SHAPE, PARAMETERS, STEPS

        def __init__(self, chain, *, optimistic: bool = False, providers: int = 3, **changes) -> None:
            rng = np.random.default_rng(5)
            self.model = quantisation.model.quantise(rng.normal(0, 0.5, PARAMETERS)).values
            sampling = Sampling(
                providers=SHAPE.providers,
                samples=SHAPE.samples,
                parameters=PARAMETERS,
                vdf_steps=STEPS,
                verifying_key=key_hash(market_key),
                empty_commitment=empty_commitment(SHAPE),
                poseidon=constants_hash(SHAPE.update_words + 2),
                root=self.tree(self.model).root,
                content=self.word("initial"),
                optimistic=optimistic,
            )
            self.sampling = dataclasses.replace(sampling, **changes.pop("sampling", {}))
            super().__init__(chain, providers=providers, **({"settlement": self.sampling} | changes))
            self.updates = [quantisation.update.quantise(rng.normal(0, 0.1, PARAMETERS)).values for _ in self.names]
            self.seeds = [self.word(f"seed {i}") for i in range(len(self.names))]

        @staticmethod
        def tree(values):
            return build_tree(values, bits=SHAPE.model_bits)

        def update_tree(self, index: int):
            return update_tree(self.updates[index], secret=self.seeds[index], shape=SHAPE)

        def commit(self, index: int, **changes):
            root = update_root(self.update_tree(index), blinding=blinding(self.seeds[index]))
            return super().commit(index, **({"commitment": root} | changes))

        def slots(self) -> list[tuple[int, int]]:
            """(provider, weight) in the order of the circuit."""
            bought = sorted(self.trading.bought(self.epoch), key=lambda b: int(b.provider, 16))
            return [(self.names.index(b.provider), b.weight) for b in bought]

        def aggregate(self) -> None:
            slots = self.slots()
            self.aggregated = aggregate_model(
                before=self.model,
                weights=[weight for _, weight in slots],
                updates=[self.updates[i] for i, _ in slots],
                terms=quantisation,
            )
            self.old, self.new = self.tree(self.model), self.tree(self.aggregated.model)

        def publish(self, **changes):
            self.aggregate()
            values = {"content": self.word("file"), "root": self.new.root, "nonce": self.word("acquirer's")}
            done = self.trading.publish_root(self.epoch, **({"account": self.acquirer} | values | changes))
            self.delay = evaluate(done.event(RootPublished).seed, squarings=STEPS)
            return done

        def randomise(self, **changes):
            values = {"proof": self.delay, "account": self.acquirer}
            return self.trading.submit_randomness(self.epoch, **(values | changes))

        def state_samples(self) -> None:
            slots = self.slots()
            self.statement, self.witness = state_samples(
                self.aggregated,
                shape=SHAPE,
                terms=quantisation,
                weights=[weight for _, weight in slots],
                updates=[self.updates[i] for i, _ in slots],
                blindings=[blinding(self.seeds[i]) for i, _ in slots],
                indices=self.trading.indices(),
            )
            self.commitments = {
                self.names[i]: cm for (i, _), cm in zip(slots, self.statement.commitments, strict=False)
            }

        def commit_inputs(self, **changes):
            self.state_samples()
            values = {"commitments": self.commitments, "old": self.old, "new": self.new, "account": self.acquirer}
            return self.trading.commit_inputs(self.epoch, **(values | changes))

        def prove(self):
            return prove_samples(proving, self.statement, self.witness)

        def verify(self, **changes):
            values = {"key_of_market": market_key, "account": self.stranger}
            if "proof" not in changes:
                values["proof"] = self.prove()
            return self.trading.verify_aggregation(self.epoch, **(values | changes))

        def objection(self, index: int):
            tree = self.update_tree(index)
            return make_objection(tree, blinding=blinding(self.seeds[index]), indices=self.trading.indices())

        def refute(self, index: int, **changes):
            values = {"provider": self.names[index], "account": self.providers[index]}
            if "objection" not in changes:
                values["objection"] = self.objection(index)
            return self.trading.refute_commitment(self.epoch, **(values | changes))

        def randomised(self, weights=None) -> int:
            self.published(weights)
            self.randomise()
            return self.epoch

        def with_inputs(self, weights=None, **changes) -> int:
            self.randomised(weights)
            self.commit_inputs(**changes)
            return self.epoch

        def settled(self, weights=None) -> int:
            self.with_inputs(weights)
            self.verify()
            self.pass_deadline()
            self.model = self.aggregated.model
            return self.epoch

    return SampledMarket


@pytest.fixture
def make_market(chain, sampled_type):
    return lambda **changes: sampled_type(chain, **changes)
