"""A whole epoch with sampled settlement, and the next one on top of it."""

from martfl.chain.events import EpochProved, RootPublished
from martfl.chain.state import Phase


def test_two_epochs(market):
    market.settled()
    state = market.state()
    assert state.phase == Phase.SETTLED
    unit = state.reward // 65_536
    paid = market.claim_all()
    assert [paid[name] for name in market.names] == [unit * 40_000, unit * 20_000, unit * 5_536]
    assert market.held() == 0
    assert market.trading.model_digest() == market.new.root
    market.settled({1: 65_536})
    assert market.state().base == 1
    assert market.state().phase == Phase.SETTLED


def test_dropped_provider_is_out_of_the_proof(market):
    market.prepared()
    market.drop(1)
    market.publish()
    market.randomise()
    market.commit_inputs()
    done = market.verify()
    assert done.events == (EpochProved(epoch=1),)
    market.pass_deadline()
    paid = market.claim_all()
    assert market.names[1] not in paid
    assert paid[market.names[0]] == market.state().reward // 45_536 * 40_000


def test_fewer_bought_than_slots(market):
    market.settled({2: 65_536})
    assert market.claim(market.providers[2]) == market.state().reward // 65_536 * 65_536


def test_more_bought_than_slots_is_refused(make_market):
    market = make_market(providers=4)
    market.committed()
    with market.refused("more providers than slots"):
        market.prepare({0: 65_533, 1: 1, 2: 1, 3: 1})


def test_terms_and_initial_root_are_readable(market):
    fixed = market.trading.sampling()
    for name in ("providers", "samples", "parameters", "vdf_steps", "verifying_key", "empty_commitment", "poseidon"):
        assert fixed[name] == getattr(market.sampling, name)
    initial = market.trading.root(0)
    assert isinstance(initial, RootPublished)
    assert (initial.root, initial.content) == (market.sampling.root, market.sampling.content)
    assert market.trading.has_our_code()


def test_failed_epoch_leaves_the_model_as_it_was(market):
    market.randomised()
    market.pass_deadline()
    market.expire()
    assert market.state().phase == Phase.FAILED
    assert market.trading.model_digest() == market.sampling.root
    market.settled()
    assert market.state().base == 0


def test_every_step_has_its_deadline(market):
    for stage in (market.published, market.randomised, market.with_inputs):
        stage()
        market.pass_deadline()
        market.expire()
        assert market.state().phase == Phase.FAILED
        paid = market.claim_all()
        assert sum(paid.values()) == market.amount
        assert paid[market.acquirer.address] < 65_536
