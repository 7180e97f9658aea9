"""What each attack does to data and updates."""

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.attacks import ATTACKS, Attack, CraftView, Rows, make_attack, register_attack
from martfl.lab.attacks.backdoor import stamp
from martfl.lab.data import Dataset, load_dataset


def view(updates: torch.Tensor, *, previous: torch.Tensor | None = None, providers: int = 10) -> CraftView:
    generator = torch.Generator().manual_seed(5)
    return CraftView(3, torch.full((updates.shape[1],), 2.0), previous, updates, providers, generator)


@pytest.fixture
def updates() -> torch.Tensor:
    return torch.randn(4, 1000, generator=torch.Generator().manual_seed(1))


def craft(attack: Attack, given: CraftView) -> torch.Tensor:
    assert attack.craft is not None
    return attack.craft(given)


def test_sign_randomizing_keeps_sizes_and_half_of_the_signs(updates: torch.Tensor) -> None:
    found = craft(make_attack("sign-randomizing"), view(updates))
    assert torch.equal(found.abs(), updates.abs())
    kept = (found == updates).float().mean(dim=1)
    assert ((kept > 0.4) & (kept < 0.6)).all()
    assert torch.equal(found, craft(make_attack("sign-randomizing"), view(updates)))


def test_free_riders_hand_in_the_last_global_step(updates: torch.Tensor) -> None:
    attack = make_attack("free-rider")
    assert not attack.trains
    found = craft(attack, view(updates, previous=torch.full((1000,), 0.5)))
    assert torch.equal(found, torch.full((4, 1000), 1.5))
    noise = craft(attack, view(updates))
    assert float(noise.std()) == pytest.approx(1e-3, rel=0.1)


def test_label_flipping_swaps_the_pair_and_nothing_else() -> None:
    digits = load_dataset("digits")
    attack = make_attack("label-flipping")
    assert attack.poison is not None and attack.probe is not None
    rows = Rows(digits.train_x[:100], digits.train_y[:100])
    found = attack.poison(digits, rows, np.random.default_rng(0))
    assert np.array_equal(found.x, rows.x)
    swapped = {(int(a), int(b)) for a, b in zip(rows.y, found.y, strict=True) if a != b}
    assert swapped == {(7, 9), (9, 7)}
    probe = attack.probe(digits)
    assert len(probe.y) == int(np.isin(digits.test_y, (7, 9)).sum())
    truth = digits.test_y[np.isin(digits.test_y, (7, 9))]
    assert (truth + probe.y == 16).all()


def test_the_backdoor_stamps_a_share_and_wants_its_class(images: Dataset, registered: None) -> None:
    attack = make_attack("backdoor", share=0.25, target=2)
    assert attack.poison is not None and attack.probe is not None and attack.class_share == 0.95
    rows = Rows(images.train_x[:40], images.train_y[:40])
    found = attack.poison(images, rows, np.random.default_rng(0))
    stamped = (found.x[:, :4, :4] == 255).all(axis=(1, 2, 3))
    assert stamped.sum() == 10 and (found.y[stamped] == 2).all()
    assert np.array_equal(found.y[~stamped], rows.y[~stamped])
    probe = attack.probe(images)
    assert (probe.y == 2).all() and len(probe.y) == int((images.test_y != 2).sum())


def test_the_backdoor_replaces_the_mean_of_all_updates(updates: torch.Tensor) -> None:
    found = craft(make_attack("backdoor"), view(updates, providers=10))
    assert torch.allclose(found, updates * 2.5)
    assert torch.allclose(craft(make_attack("backdoor", scale=3.0), view(updates)), updates * 3)


def test_a_text_trigger_is_put_in_front(texts: Dataset) -> None:
    marked = stamp(texts, texts.train_x[:5])
    assert (marked[:, :3] == 39).all()
    assert np.array_equal(marked[:, 3:], texts.train_x[:5, :-3])


def test_sybils_hand_in_one_flipped_update(updates: torch.Tensor) -> None:
    attack = make_attack("sybil")
    assert attack.poison is not None
    found = craft(attack, view(updates))
    assert torch.equal(found, updates[:1].expand(4, -1))


def test_rescaling(updates: torch.Tensor) -> None:
    assert torch.equal(craft(make_attack("rescaling", factor=3.0), view(updates)), updates * 3)


def test_bad_names_and_parameters_are_refused() -> None:
    with pytest.raises(InputError, match=f"unknown attack 'dos': choose one of {', '.join(sorted(ATTACKS))}"):
        make_attack("dos")
    with pytest.raises(InputError, match="'rescaling' has no parameter speed: it takes factor"):
        make_attack("rescaling", speed=1)
    with pytest.raises(InputError, match="0 < alpha"):
        make_attack("backdoor", alpha=0)
    with pytest.raises(InputError, match="must differ"):
        attack = make_attack("label-flipping", first=3, second=3)
        assert attack.probe is not None
        attack.probe(load_dataset("digits"))


def test_an_attack_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("martfl.lab.attacks.ATTACKS", dict(ATTACKS))
    register_attack(name="zero", make=lambda: Attack("zero", "", craft=lambda given: given.updates * 0))
    from martfl.lab import attacks

    assert attacks.make_attack("zero").name == "zero"
