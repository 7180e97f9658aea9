"""Damaged, foreign and hostile messages: our errors, nothing else, and nothing in them about the secret key."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.scoring import (
    PlainKey,
    ReplyError,
    ScoreMessageError,
    ScoringError,
    ScoringKey,
    UpdateError,
    score_in_the_clear,
    score_under_encryption,
)
from martfl.scoring.ckks import EXACT
from martfl.scoring.wire import DIGEST_BYTES, HEADER_BYTES
from martfl.scoring.words import pack_words

UPDATE = np.array([0.5, -2.0, 1.0])


@pytest.fixture(scope="module")
def messages(key):
    """A valid message of each kind with its reader."""
    baseline = key.encrypt_baseline(UPDATE)
    plain = PlainKey.generate()
    shown = plain.encrypt_baseline(UPDATE)
    return {
        "plain baseline": (shown, lambda raw: score_in_the_clear(raw, UPDATE)),
        "plain reply": (score_in_the_clear(shown, UPDATE), plain.decrypt_score),
        "plain secret": (plain.to_bytes(), PlainKey.from_bytes),
        "baseline": (baseline, lambda raw: score_under_encryption(raw, UPDATE)),
        "reply": (score_under_encryption(baseline, UPDATE), key.decrypt_score),
        "secret": (key.to_bytes(), ScoringKey.from_bytes),
    }


PLAIN = [("plain baseline", 200), ("plain reply", 200), ("plain secret", 100)]
EXAMPLES = [("baseline", 600), ("reply", 600), ("secret", 200), *PLAIN]  # of each kind, mutated


def mutations():
    """(name, where in the message as a fraction, number) of one change."""
    names = ["flip", "truncate", "insert", "remove", "header", "word", "swap", "random"]
    return st.tuples(st.sampled_from(names), st.floats(0, 1, exclude_max=True), st.integers(0, 2**32))


def mutate(raw, change):
    name, where, number = change
    at, byte = int(where * len(raw)), number % 255 + 1
    if name == "header":
        at = number % HEADER_BYTES
    if name in ("flip", "header"):
        return raw[:at] + bytes([raw[at] ^ byte]) + raw[at + 1 :]
    if name == "word":  # as large as a word can be: beyond every modulus
        return raw[:at] + b"\xff" * 8 + raw[at + 8 :]
    if name == "swap":
        other = number % len(raw)
        return raw[:at] + raw[other : other + 64] + raw[at + 64 :]
    if name == "random":
        return np.random.default_rng(number).bytes(number % 300)
    return {"truncate": raw[:at], "insert": raw[:at] + bytes(byte) + raw[at:], "remove": raw[:at] + raw[at + byte :]}[
        name
    ]


@pytest.mark.parametrize(("kind", "examples"), EXAMPLES)
def test_any_damage_gets_some_refusal(messages, kind, examples):
    raw, read = messages[kind]

    @settings(max_examples=examples)
    @given(mutations())
    def check(change):
        mutated = mutate(raw, change)
        if mutated != raw:
            with pytest.raises(ScoringError):
                read(mutated)

    check()


@pytest.mark.parametrize(("kind", "examples"), EXAMPLES)
def test_a_fitting_digest_opens_no_other_exception(messages, reseal, kind, examples):
    """Tampering that passes the digest reaches SEAL: the reader answers or refuses, and never crashes."""
    raw, read = messages[kind]

    @settings(max_examples=examples)
    @given(mutations())
    def check(change):
        try:
            result = read(reseal(mutate(raw, change)))
        except ScoringError:
            return
        assert isinstance(result, (bytes, float, ScoringKey, PlainKey))

    check()


@pytest.mark.parametrize("kind", ["baseline", "reply", "secret"])
def test_every_header_field_is_checked(messages, reseal, kind):
    raw, read = messages[kind]
    for at in range(HEADER_BYTES):
        if kind == "reply" and 19 <= at < 27:
            continue  # the length of a reply is checked when the caller names it
        with pytest.raises(ScoreMessageError, match=r"starts with|must be"):
            read(reseal(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]))


def test_refusals_name_the_field_and_both_values(messages, reseal):
    raw, read = messages["baseline"]
    for at, text in [
        (0, "starts with b'mfsc', got b'lfsc'"),
        (4, "version must be 2, got 3"),
        (7, "ring must be 4096, got 4097"),
        (11, f"modulus must be {EXACT.ring.q}, got {EXACT.ring.q ^ 1}"),
        (19, "length must be 3, got 2"),
        (27, "entries must be 0, got 1"),
        (31, f"seed must be {bytes(32).hex()}, got 01{bytes(31).hex()}"),
        (HEADER_BYTES - 1, "public key must be the one that its header names"),
    ]:
        with pytest.raises(ScoreMessageError, match=text):
            read(reseal(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]))
    with pytest.raises(ScoreMessageError, match="digest must match its content"):
        read(raw[:-1] + bytes([raw[-1] ^ 1]))
    with pytest.raises(ScoreMessageError, match="truncated: 1 bytes are missing"):
        read(raw[:-1])
    with pytest.raises(ScoreMessageError, match="must end with its digest"):
        read(raw + b"\0")
    with pytest.raises(ScoreMessageError, match="truncated"):
        read(b"")


def test_words_beyond_the_modulus_are_refused_before_seal_sees_them(messages, reseal):
    for kind in ("reply", "secret"):
        raw, read = messages[kind]
        with pytest.raises(ScoreMessageError, match="residue below its modulus"):
            read(reseal(raw[: HEADER_BYTES + 1] + b"\xff" * 20 + raw[HEADER_BYTES + 21 :]))
    raw, read = messages["baseline"]
    with pytest.raises(ScoreMessageError, match="residue below its modulus"):
        read(reseal(raw[: -DIGEST_BYTES - 11] + b"\xff" * 11 + raw[-DIGEST_BYTES:]))


def test_a_constant_beyond_the_modulus_is_refused(messages, reseal):
    raw, read = messages["reply"]
    with pytest.raises(ScoreMessageError, match="residue below its modulus"):
        read(reseal(raw[:HEADER_BYTES] + EXACT.ring.q.to_bytes(8, "little") + raw[HEADER_BYTES + 8 :]))


def reply_of(raw, reseal, constant, words):
    """A reply with this content in place of its own."""
    body = constant.to_bytes(8, "little") + pack_words(words, EXACT.bits)
    return reseal(raw[:HEADER_BYTES] + body + raw[-DIGEST_BYTES:])


def garbage_reply(raw, reseal, seed):
    rng, q = np.random.default_rng(seed), EXACT.ring.q
    return reply_of(raw, reseal, int(rng.integers(q)), rng.integers(0, q, EXACT.degree, dtype=np.uint64))


def test_a_reply_outside_the_range_is_refused_without_its_value(messages, key, reseal):
    """Random words decrypt to anything below q; about half lie outside [-1, 1]. All those get the same words back."""
    raw, texts, inside = messages["reply"][0], set(), 0
    for seed in range(60):
        try:
            inside += -1.0 <= key.decrypt_score(garbage_reply(raw, reseal, seed)) <= 1.0
        except ReplyError as error:
            texts.add(str(error))
            assert error.__cause__ is None
    assert len(texts) == 1 and inside > 0
    assert re.findall(r"\d+", texts.pop()) == ["1", "1"]


def test_a_forged_score_within_the_range_is_not_noticed_here(messages, key, reseal):
    """Forgery is not prevented: a reply encrypted for a wished-for score reads as that score."""
    wish = round(0.75 * EXACT.target)
    forged = reply_of(messages["reply"][0], reseal, wish, np.zeros(EXACT.degree, np.uint64))
    assert key.decrypt_score(forged) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("update", "text"),
    [
        ([], "at least one entry, got shape"),
        ([0.0, 0.0, 0.0], "non-zero entry, got 3 zeros"),
        ([1.0, float("nan"), 1.0], "be finite"),
        ([1.0, float("-inf"), 1.0], "be finite"),
        ([[1.0, 2.0, 3.0]], r"got shape \(1, 3\)"),
        ([1j, 1.0, 1.0], "real numbers, got dtype complex128"),
        (["a", "b", "c"], "real numbers, got dtype"),
        ([[1.0], [2.0, 3.0]], "vector of real numbers, got list"),
        (None, "real numbers, got dtype object"),
    ],
)
def test_vectors_without_a_direction_are_refused_on_both_sides(messages, key, update, text):
    with pytest.raises(UpdateError, match=f"update must.*{text}"):
        score_under_encryption(messages["baseline"][0], update)
    with pytest.raises(UpdateError, match=f"baseline must.*{text}"):
        key.encrypt_chunks(update)  # before the first chunk is asked for


@pytest.mark.parametrize("message", [None, 7, "text", [1, 2], [b"ab", "c"], object()])
def test_what_is_not_bytes_is_refused(key, message):
    for read in (key.decrypt_score, ScoringKey.from_bytes, lambda raw: score_under_encryption(raw, UPDATE)):
        with pytest.raises(ScoreMessageError, match=r"must (be|come in) bytes"):
            read(message)


def test_a_key_shows_its_name_only(key):
    assert repr(key) == f"ScoringKey({key.fingerprint.hex()[:16]})"
    assert str(key) == repr(key)
