"""refute, sampled: one word of a revealed update, or its blinding, that is not what it was committed to."""

from dataclasses import replace

import pytest
from sampled_market import sealed_tree, tree_shape

from martfl.chain.events import Refuted
from martfl.chain.state import Phase, SaleState

SIZES = [1, 5, 6, 7, 20, 21, 22, 1535, 1536, 1537, 3000]


@pytest.fixture
def small(make_market):
    def make(parameters: int, **changes):
        return make_market(parameters=parameters, sampling={"samples": 1}, **changes)

    return make


def revealed(market, *indices: int) -> None:
    market.bought()
    for i in indices or range(len(market.sellers)):
        market.reveal(i)


@pytest.mark.parametrize("parameters", SIZES)
@pytest.mark.parametrize("which", ["first", "last", "blinding"])
def test_false_leaf_takes_the_price_back(small, parameters, which):
    market = small(parameters, providers=2)
    words = tree_shape(parameters).leaves
    leaf = {"first": 0, "last": words - 1, "blinding": words}[which]
    market.lies(0, leaf)
    assert market.false_leaf(0) == leaf
    revealed(market)
    done = market.refute(0, leaf)
    assert done.events == (Refuted(epoch=1, provider=market.sellers[0].name, leaf=leaf),)
    assert market.standing(0).state == SaleState.REFUTED
    assert market.state().delivered == market.price(1)
    market.after("publish")
    assert market.claim(market.sellers[1].account) == market.price(1)
    market.claim(market.acquirer)
    assert market.held() == market.state().penalty


@pytest.mark.parametrize("parameters", SIZES)
def test_no_leaf_of_an_honest_update(small, parameters):
    market = small(parameters, providers=1)
    revealed(market)
    words = tree_shape(parameters).leaves
    for leaf in sorted({0, words // 2, words - 1, words}):
        with market.refused("leaf is sound"):
            market.refute(0, leaf)


@pytest.mark.parametrize("index", [0, 1], ids=["honest", "false"])
def test_forged_refutations_are_refused(small, index):
    market = small(3000, providers=2)
    market.lies(1, 5)
    revealed(market)
    words = tree_shape(3000).leaves
    good, last, stranger = (market.refutation(i, leaf) for i, leaf in ((index, 5), (index, words), (1 - index, 5)))
    theirs, sound = "not the provider's update", "leaf is sound"
    forged = [
        (replace(good, index=words + 1), "no such leaf"),
        (replace(good, index=2**255), "no such leaf"),
        (replace(good, path=()), "path has another length than the tree"),
        (replace(good, path=(*good.path, bytes(32))), "path has another length than the tree"),
        (replace(good, path=(bytes(32), *good.path[1:])), theirs if index else sound),
        (replace(good, sealed=bytes(32)), theirs),
        (replace(good, shown=bytes(32)), theirs),
        (replace(good, index=6), theirs),
        (replace(good, index=words), theirs),
        (replace(good, secret=stranger.secret), theirs),
        (replace(last, shown=bytes(32)), theirs),
        (replace(last, index=5), theirs),
        (replace(last, sealed=b"\xff" * 32), sound),
        (stranger, sound if index else theirs),
    ]
    for refutation, reason in forged:
        with market.refused(reason):
            market.refute(index, refutation=refutation)
    assert market.standing(index).state == SaleState.REVEALED


def test_bits_that_belong_to_no_parameter_do_not_matter(small):
    """22 parameters: the second word holds one value; a seller may seal any bits beside it, none is delivered."""
    market = small(22, providers=1)
    seller, shape = market.sellers[0], tree_shape(22)
    body = bytearray(seller.body)
    body[32] ^= 0xFF  # the highest bits of the second word
    root = sealed_tree(bytes(body), shape).root
    market.sellers[0] = replace(seller, body=bytes(body), offer=replace(seller.offer, root=root))
    assert market.false_leaf(0) is None
    revealed(market)
    with market.refused("leaf is sound"):
        market.refute(0, 1)


def test_in_the_last_second_and_not_in_the_next(small, to_the_second):
    market = small(7)
    market.lies(0)
    market.lies(1)
    revealed(market)
    market.last_second("publish")
    market.refute(0)
    with market.refused("too late"):
        market.refute(1)


@pytest.mark.parametrize("state", ["bought", "accepted", "refuted"])
def test_only_who_has_revealed(small, state):
    market = small(7)
    market.lies(0)
    market.bought()
    if state != "bought":
        market.reveal(0)
        market.accept(0) if state == "accepted" else market.refute(0)
    with market.refused("provider has not revealed"):
        market.refute(0)


def test_also_while_the_proof_is_due(market):
    market.lies(2)
    market.bought()
    market.reveal(2)
    market.publish({0: 65_536})
    market.refute(2)
    assert market.state().phase == Phase.PUBLISHED
    assert market.state().revealed == 0
