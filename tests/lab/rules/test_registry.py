"""Names and parameters: what is unknown is refused with the list of what is known."""

import pickle

import pytest

from martfl.errors import InputError
from martfl.lab.rules import RULES, make_rule

EXPECTED = {
    "martfl", "fedavg", "fltrust", "cffl", "rffl", "krum", "multi-krum", "rlr", "median", "trimmed-mean", "oracle",
}  # fmt: skip


def test_every_rule_of_the_evaluation_is_there() -> None:
    assert set(RULES) >= EXPECTED


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_carries_its_name_and_paper_and_can_be_sent_to_another_process(name: str) -> None:
    rule = pickle.loads(pickle.dumps(make_rule(name)))
    assert rule.name == name
    assert len(rule.paper) > 20


def test_who_needs_an_acquirer_with_root_data() -> None:
    assert {name for name in EXPECTED if make_rule(name).server_driven} == {"martfl", "fltrust", "cffl"}


def test_an_unknown_name_lists_the_valid_ones() -> None:
    with pytest.raises(InputError, match=r"unknown rule 'krumm'.*cffl.*fedavg.*krum.*martfl"):
        make_rule("krumm")


def test_an_unknown_parameter_lists_the_valid_ones() -> None:
    with pytest.raises(InputError, match=r"'krum' has no parameter f: it takes beyond_bound, byzantine, neighbours"):
        make_rule("krum", f=2)
    with pytest.raises(InputError, match=r"'martfl' has no parameter beta: it takes adjust, baseline_data, candidate_"):
        make_rule("martfl", beta=0.1)
    with pytest.raises(InputError, match=r"'fedavg' has no parameter theta: it takes share"):
        make_rule("fedavg", theta=1)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("krum", {"byzantine": 1.0}, r"byzantine must lie in \[0, 1\), got 1.0"),
        ("krum", {"neighbours": 0}, "neighbours must be at least 1, got 0"),
        ("trimmed-mean", {"trim": 0.5}, r"trim must lie in \[0, 0.5\), got 0.5"),
        ("rffl", {"alpha": -0.1}, r"alpha must lie in \[0, 1\), got -0.1"),
        ("rffl", {"gamma": -1.0}, "gamma=-1.0"),
        ("cffl", {"alpha": 0.0}, "alpha=0.0"),
        ("rlr", {"theta": -1.0}, "got -1.0"),
        ("martfl", {"baseline_data": "validation"}, "'validation': choose one of root, test"),
    ],
)
def test_a_parameter_out_of_range_is_refused(name: str, params: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_rule(name, **params)
