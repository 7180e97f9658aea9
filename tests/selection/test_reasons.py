"""Reasons are codes with numbers; each has one role and one sentence."""

import json

import pytest

from martfl.errors import InputError
from martfl.selection import Code, Reason, reason_from_json, sentence
from martfl.selection.reasons import MEANINGS, because
from martfl.selection.words import SENTENCES, odds


def sample(code):
    return Reason(code, {name: 0.5 + place for place, name in enumerate(MEANINGS[code].fields)})


def test_every_code_has_a_meaning_and_a_sentence() -> None:
    assert set(MEANINGS) == set(SENTENCES) == set(Code)


@pytest.mark.parametrize("code", list(Code))
def test_a_sentence_is_one_sentence_in_plain_words(code) -> None:
    text = sentence(sample(code))
    assert text and ". " not in text and not text.endswith(".")
    assert "nan" not in text and "_" not in text


@pytest.mark.parametrize("code", list(Code))
def test_a_reason_survives_json(code) -> None:
    reason = sample(code)
    assert reason_from_json(json.loads(json.dumps(reason.to_json()))) == reason


def test_numbers_belong_to_their_code() -> None:
    with pytest.raises(InputError, match=r"'follows' has the numbers \['cosine'\], got \[\]"):
        because(Code.FOLLOWS)
    with pytest.raises(InputError, match="'copy' has the numbers"):
        because(Code.COPY, cosine=1.0)
    for values in ({"code": "nonsense"}, {"cosine": 1.0}):
        with pytest.raises(InputError, match="no reason"):
            reason_from_json(values)


def test_the_sentence_names_what_speaks_most_against_a_kind() -> None:
    numbers = {
        "evidence": 5.0,
        "members": 4,
        "harm": 0.1,
        "own": 3.0,
        "length": 0.0,
        "majority": 0.5,
        "rarity": 2.3,
        "hidden": 0.0,
    }
    assert "own update is of the other kind" in sentence(because(Code.KIND, **numbers))
    assert "longer" in sentence(because(Code.KIND, **{**numbers, "length": 6.0}))
    assert "nothing to say" in sentence(because(Code.KIND, **{**numbers, "hidden": 6.0}))
    assert "148 to 1" in sentence(because(Code.KIND, **numbers))


def test_odds_can_be_read() -> None:
    assert odds(0.0) == "1 to 1" and odds(4.6052) == "100 to 1"
    assert odds(99.0) == odds(20.0)
