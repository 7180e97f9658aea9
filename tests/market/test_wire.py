"""Messages: what is encoded is decoded, and nothing else is accepted; not for another chain, market, epoch or party."""

import json
from dataclasses import fields

import pytest
from eth_account import Account
from hypothesis import given
from hypothesis import strategies as st

from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.errors import MessageError

PLACE = wire.MarketId(1337, "0x" + "aB" * 20)
SENDER = Account.from_key(b"\x01" * 32)
VALUES = {
    int: st.integers(0, 2**40),
    str: st.text(max_size=40).map(wire.line),
    bool: st.booleans(),
    bytes: st.binary(max_size=300),
}
MESSAGES = st.one_of([st.builds(kind, **{f.name: VALUES[f.type] for f in fields(kind)}) for kind in ms.KINDS.values()])
EXAMPLE = wire.encode(ms.Scored(epoch=3, baseline=1, body=b"answer" * 20), market=PLACE, account=SENDER)


@given(message=MESSAGES)
def test_what_is_encoded_is_decoded(message):
    data = wire.encode(message, market=PLACE, account=SENDER)
    assert wire.decode(data, market=wire.MarketId(1337, PLACE.contract.lower())) == (message, SENDER.address)


@given(data=st.binary(max_size=400))
def test_any_bytes_that_are_no_message_get_some_refusal(data):
    for guess in (data, wire.MAGIC + data, EXAMPLE[:40] + data):
        with pytest.raises(MessageError):
            wire.decode(guess, market=PLACE)


@given(at=st.integers(0, len(EXAMPLE) - 1), bit=st.integers(0, 7))
def test_no_bit_can_be_changed(at, bit):
    data = bytearray(EXAMPLE)
    data[at] ^= 1 << bit
    try:
        signer = wire.decode(bytes(data), market=PLACE)[1]
    except MessageError:
        return
    assert signer != SENDER.address or bytes(data) == EXAMPLE


@given(length=st.integers(0, len(EXAMPLE) - 1))
def test_any_missing_bytes_get_some_refusal(length):
    with pytest.raises(MessageError):
        wire.expect(ms.Scored, EXAMPLE[:length], market=PLACE, sender=SENDER.address, epoch=3)


NAMES = st.sampled_from(["kind", "version", "market", "body", "fields", "epoch"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=9)


@given(head=st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_any_json_as_a_head_gets_some_refusal(head):
    text = json.dumps(head).encode()
    data = wire.MAGIC + len(text).to_bytes(4, "big") + text + bytes(65)
    with pytest.raises(MessageError):
        wire.decode(data, market=PLACE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"market": wire.MarketId(1337, "0x" + "11" * 20)}, "the message is for market"),
        ({"market": wire.MarketId(1, PLACE.contract)}, "the message is for market"),
        ({"sender": "0x" + "11" * 20}, "must be signed by"),
        ({"epoch": 4}, "must be about epoch 4"),
        ({"kind": ms.KeyAnswer}, "a message of kind 'key given' was due"),
        ({"most": 0, "pad": 70_000}, "an answer here has at most 0 bytes"),
    ],
)
def test_what_is_not_expected(options, words):
    body = bytes(options.pop("pad", 1))
    data = wire.encode(ms.Scored(epoch=3, body=body), market=PLACE, account=SENDER)
    given_ = {"kind": ms.Scored, "market": PLACE, "sender": SENDER.address, "epoch": 3, **options}
    kind = given_.pop("kind")
    with pytest.raises(MessageError, match=words):
        wire.expect(kind, data, **given_)


def test_a_refusal_is_an_error_that_says_why():
    data = wire.encode(ms.Refusal(epoch=3, reason="too late"), market=PLACE, account=SENDER)
    with pytest.raises(MessageError, match="refused: too late"):
        wire.expect(ms.Scored, data, market=PLACE, sender=SENDER.address, epoch=3)


def forged(text):
    """A refusal that no honest program would send, well signed."""
    head, _, _ = wire._split(wire.encode(ms.Refusal(epoch=3, reason="x"), market=PLACE, account=SENDER))
    head = json.dumps({**json.loads(head), "fields": {"epoch": 3, "reason": text}}).encode()
    signature = SENDER.sign_message(wire._signed(head)).signature
    return wire.MAGIC + len(head).to_bytes(4, "big") + head + bytes(signature)


@pytest.mark.parametrize("text", ["\ud800", "\x1b[2J", "two\nlines", "\x00", "\u202eright to left", "x" * 1001])
def test_texts_cannot_steer_a_terminal_or_break_a_journal(text):
    with pytest.raises(MessageError, match="reason of a refusal message must be at most 1000 printable characters"):
        wire.decode(forged(text), market=PLACE)
    with pytest.raises(MessageError, match="printable"):
        wire.encode(ms.Refusal(epoch=3, reason=text), market=PLACE, account=SENDER)
    assert wire.decode(forged(wire.line(text)), market=PLACE)[1] == SENDER.address


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_head_nested_as_deep_as_it_can_be(opening):
    """Python's parser dies of this where a library has raised the limit of recursion, as the embedded chain's does."""
    head = opening * (wire.MOST_HEAD // len(opening))
    with pytest.raises(MessageError, match="2 records at most"):
        wire.decode(wire.MAGIC + len(head).to_bytes(4, "big") + head + bytes(65), market=PLACE)


def test_every_request_has_an_answer_and_every_kind_its_name():
    assert set(ms.REQUESTS) == {kind.kind for kind in ms.ANSWERS}
    assert len(ms.KINDS) == 2 * len(ms.ANSWERS) + 1


@given(
    one=st.tuples(st.integers(0, 2**63), st.sampled_from(["aa", "bb"]), st.integers(0, 99), st.sampled_from("ab")),
    other=st.tuples(st.integers(0, 2**63), st.sampled_from(["aa", "bb"]), st.integers(0, 99), st.sampled_from("ab")),
)
def test_a_sealed_body_is_bound_to_chain_market_epoch_party_and_kind(one, other):
    def context(chain, market, epoch, what):
        return wire.MarketId(chain, "0x" + market * 20).context(epoch, "0x" + "CC" * 20, what)

    assert (context(*one) == context(*other)) == (one == other)
    assert b"cc" * 20 in context(*one)
