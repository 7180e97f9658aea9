"""Poseidon against circomlibjs 0.1.7, and its parameters against the laws that define them."""

import pytest

from martfl.settlement import SettlementError
from martfl.settlement.sampled.poseidon import (
    FULL_ROUNDS,
    chunks,
    constants_hash,
    constants_words,
    hash_many,
    parameters,
    poseidon,
)
from martfl.settlement.sampled.statement import FIELD

VECTORS = [
    ([1], 18586133768512220936620570745912940619677854269274689475585506675881198879027),
    ([1, 2], 7853200120776062878684798364095072458815029376092732009249414926327459813530),
    ([1, 2, 3], 6542985608222806190361240322586112750744169038454362455181422643027100751666),
    ([0, 0], 14744269619966411208579211824598458697587494354926760081771325075741142829156),
    (list(range(1, 17)), 9989051620750914585850546081941653841776809718687451684622678807385399211877),
]


@pytest.mark.parametrize(("inputs", "expected"), VECTORS)
def test_circomlib_vectors(inputs, expected):
    assert poseidon(inputs) == expected


def test_the_matrix_is_invertible_and_constants_are_field_elements():
    p = parameters(4)
    assert len(p.constants) == FULL_ROUNDS + p.partial_rounds
    assert all(0 <= c < FIELD for c in constants_words(4))
    rows = [list(row) for row in p.matrix]
    for i in range(4):  # elimination over the field
        pivot = next(r for r in range(i, 4) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        inverse = pow(rows[i][i], -1, FIELD)
        for r in range(i + 1, 4):
            factor = rows[r][i] * inverse % FIELD
            rows[r] = [(x - factor * y) % FIELD for x, y in zip(rows[r], rows[i], strict=True)]
    assert all(rows[i][i] for i in range(4))


def test_constants_are_pinned_by_hash():
    assert len(constants_hash(3)) == 32
    assert constants_hash(3) != constants_hash(4)


def test_long_messages_are_chained():
    words = list(range(20))
    first = poseidon([*words[:15], 99])
    assert hash_many(words, blinding=99) == poseidon([*words[15:], first])
    assert [len(c) for c in chunks(words)] == [15, 5]


@pytest.mark.parametrize("inputs", [[], [0] * 17, [FIELD], [-1]])
def test_bad_inputs_are_refused(inputs):
    with pytest.raises(SettlementError, match=r"takes 1\.\.16 inputs|field elements"):
        poseidon(inputs)


def test_nothing_to_hash_is_refused():
    with pytest.raises(SettlementError, match="at least one word"):
        hash_many([], blinding=1)
