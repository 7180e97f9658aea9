"""Who holds what: sizes, classes, roles; root, validation and providers share no row."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.lab.config import RunConfig
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.partition import dirichlet_parts
from martfl.lab.splits import apportion, class_mix, dominant_classes, make_split, provider_sizes

Make = Callable[..., RunConfig]


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits")


def classes_of(dataset: Dataset, rows: np.ndarray) -> set[int]:
    return {int(label) for label in dataset.train_y[rows]}


@pytest.mark.parametrize("sizes", ["uni", "pow"])
@pytest.mark.parametrize("classes", ["iid", "noniid"])
def test_parts_do_not_overlap(digits: Dataset, small: Make, sizes: str, classes: str) -> None:
    split = make_split(digits, small(sizes=sizes, classes=classes), providers=6)
    parts = [set(split.root), set(split.validation), set(np.concatenate(split.providers))]
    assert len(split.root) == 60 and len(split.validation) > 0 and len(split.providers) == 6
    assert not parts[0] & parts[1] and not parts[0] & parts[2] and not parts[1] & parts[2]
    for rows in split.providers:
        assert len(set(rows)) == len(rows), "no row twice in one provider's data"


def test_iid_providers_hold_every_row_once(digits: Dataset, small: Make) -> None:
    split = make_split(digits, small(), providers=6)
    rows = np.concatenate(split.providers)
    assert len(rows) + len(split.root) + len(split.validation) == len(digits.train_y)
    assert all(classes_of(digits, part) == set(range(10)) for part in split.providers)


def test_uni_is_even_and_pow_is_not(digits: Dataset, small: Make) -> None:
    even = [len(rows) for rows in make_split(digits, small(sizes="uni"), providers=6).providers]
    power = [len(rows) for rows in make_split(digits, small(sizes="pow"), providers=6).providers]
    assert max(even) - min(even) <= 1
    assert max(power) > 5 * min(power) and min(power) >= 1


def test_noniid_providers_lack_classes_and_differ(digits: Dataset, small: Make) -> None:
    found = [classes_of(digits, rows) for rows in make_split(digits, small(classes="noniid"), providers=6).providers]
    assert all(len(classes) < 10 for classes in found)
    assert len({frozenset(classes) for classes in found}) > 1


@pytest.mark.parametrize(("share", "count"), [(1 / 3, 3), (1 / 2, 5), (2 / 3, 7)])
def test_a_biased_root_holds_a_share_of_the_classes(digits: Dataset, small: Make, share: float, count: int) -> None:
    split = make_split(digits, small(root="biased", root_share=share), providers=6)
    assert len(split.root_classes) == count
    assert classes_of(digits, split.root) == set(split.root_classes)


def test_dominance_leaves_a_few_rows_of_other_classes(digits: Dataset, small: Make) -> None:
    split = make_split(digits, small(root="biased", dominance=0.9), providers=6)
    inside = np.isin(digits.train_y[split.root], split.root_classes).mean()
    assert inside == pytest.approx(0.9, abs=0.05)


def test_type_one_is_biased_like_the_root_and_type_two_on_its_own(digits: Dataset, small: Make) -> None:
    like = make_split(digits, small(root="biased", biased=0.5, bias_type="I"), providers=6)
    own = make_split(digits, small(root="biased", biased=0.5, bias_type="II"), providers=6)
    assert like.biased.sum() == own.biased.sum() == 3
    for i in np.flatnonzero(like.biased):
        assert classes_of(digits, like.providers[i]) == set(like.root_classes)
    others = [classes_of(digits, own.providers[i]) for i in np.flatnonzero(own.biased)]
    assert any(classes != set(own.root_classes) for classes in others)
    assert all(classes_of(digits, like.providers[i]) == set(range(10)) for i in np.flatnonzero(~like.biased))


def test_nobody_is_malicious_and_biased(digits: Dataset, small: Make) -> None:
    config = small(root="biased", biased=0.3, malicious=0.4, attack="sybil")
    split = make_split(digits, config, providers=10)
    assert split.malicious.sum() == 4 and split.biased.sum() == 3
    assert not (split.malicious & split.biased).any()


def test_the_seed_decides_and_the_rule_does_not(digits: Dataset, small: Make) -> None:
    base, same = make_split(digits, small(), providers=6), make_split(digits, small(rule="median"), providers=6)
    other = make_split(digits, small(seed=1), providers=6)
    assert all(np.array_equal(a, b) for a, b in zip(base.providers, same.providers, strict=True))
    assert not np.array_equal(base.root, other.root)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 100.0])
def test_dirichlet_shares_every_row_out_once(digits: Dataset, small: Make, alpha: float) -> None:
    split = make_split(digits, small(classes="dirichlet", alpha=alpha), providers=6)
    rows = np.concatenate(split.providers)
    assert len(rows) == len(set(rows)) == len(digits.train_y) - len(split.root) - len(split.validation)
    assert min(map(len, split.providers)) >= 10
    shares = [np.bincount(digits.train_y[part], minlength=10) / len(part) for part in split.providers]
    uneven = float(np.mean([share.max() for share in shares]))
    assert uneven > 0.3 if alpha < 1 else uneven < 0.15


@given(alpha=st.floats(0.05, 50), providers=st.integers(1, 20), seed=st.integers(0, 99))
def test_dirichlet_parts_are_a_partition_or_refused(alpha: float, providers: int, seed: int) -> None:
    rows, labels = np.arange(400), np.arange(400) % 7
    rng = np.random.default_rng(seed)
    try:
        parts = dirichlet_parts(rows, labels, providers=providers, alpha=alpha, rng=rng)
    except InputError as error:
        assert "fewer than" in str(error)
        return
    assert sorted(np.concatenate(parts)) == list(range(400)) and min(map(len, parts)) >= 10


@pytest.fixture
def owned(digits: Dataset) -> Dataset:
    """The digits of four writers."""
    train, test = (np.arange(len(y)) * 4 // len(y) for y in (digits.train_y, digits.test_y))
    return replace(digits, owners=("Ann", "Bob", "Cy", "Dee"), train_owner=train, test_owner=test)


def test_a_natural_division_leaves_everybody_its_own(owned: Dataset, small: Make) -> None:
    config = small(classes="natural", buyer="Cy", root_rows=50)
    split = make_split(owned, config, providers=3)
    assert owned.train_owner is not None and owned.test_owner is not None and split.own_test is not None
    assert set(owned.train_owner[split.root]) == {2} and len(split.root) == 50
    whose = [set(owned.train_owner[part]) for part in split.providers]
    assert sorted(map(tuple, whose)) == [(0,), (1,), (3,)]
    assert set(owned.test_owner[split.own_test]) == {2}
    everybody = np.concatenate([split.validation, *split.providers])
    assert len(set(everybody)) == len(everybody) and not set(split.validation) & set(split.root)


def test_without_an_acquirer_the_buyer_is_one_of_the_providers(owned: Dataset, small: Make) -> None:
    split = make_split(owned, small(classes="natural", buyer="Cy"), providers=4, acquirer=False)
    assert owned.train_owner is not None
    assert set(owned.train_owner[split.providers[0]]) == {2} and len(split.providers) == 4


def test_a_natural_buyer_is_drawn_by_the_seed(owned: Dataset, small: Make) -> None:
    assert owned.train_owner is not None
    buyers = set()
    for seed in range(8):
        split = make_split(owned, small(classes="natural", seed=seed), providers=2)
        (buyer,) = set(owned.train_owner[split.root])
        buyers.add(buyer)
    assert len(buyers) > 1


def test_an_impossible_natural_division_is_refused(digits: Dataset, owned: Dataset, small: Make) -> None:
    with pytest.raises(InputError, match="digits has no owners: classes = natural needs rows that belong"):
        make_split(digits, small(classes="natural"), providers=3)
    with pytest.raises(InputError, match="has no owner 'Eve': choose one of Ann, Bob, Cy, Dee"):
        make_split(owned, small(classes="natural", buyer="Eve"), providers=3)
    with pytest.raises(InputError, match="has 4 owners; 6 participants were asked for"):
        make_split(owned, small(classes="natural"), providers=5)


def test_impossible_divisions_are_refused(digits: Dataset, small: Make) -> None:
    with pytest.raises(InputError, match="at least half of the 1280 rows"):
        make_split(digits, small(root_rows=1000), providers=6)
    with pytest.raises(InputError, match="2000 providers need at least as many rows"):
        make_split(digits, small(), providers=2000)
    with pytest.raises(InputError, match="0 attackers"):
        make_split(digits, small(malicious=0.05, attack="sybil"), providers=6)


@given(total=st.integers(0, 10_000), shares=st.lists(st.floats(0.01, 100), min_size=1, max_size=20))
def test_apportion_sums_and_stays_within_one(total: int, shares: list[float]) -> None:
    counts = apportion(total, np.array(shares))
    exact = total * np.array(shares) / sum(shares)
    assert counts.sum() == total
    assert (np.abs(counts - exact) < 1 + 1e-6).all()


@given(total=st.integers(30, 5000), providers=st.integers(1, 30), seed=st.integers(0, 99))
def test_sizes_sum_to_about_the_rows(total: int, providers: int, seed: int) -> None:
    for law in ("uni", "pow"):
        sizes = provider_sizes(total, providers, law=law, rng=np.random.default_rng(seed))
        assert sizes.min() >= 1 and total <= sizes.sum() <= total + providers


def test_class_mix_and_dominant_classes() -> None:
    assert np.allclose(class_mix(np.array([10, 30, 60]), (0, 1), 0.8), [0.2, 0.6, 0.2])
    assert np.allclose(class_mix(np.array([10, 30, 60]), (2,), 1.0), [0, 0, 1])
    assert len(dominant_classes(2, 0.99, np.random.default_rng(0))) == 1
