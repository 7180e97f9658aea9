"""The unheard backdoor: it works on texts with the trigger, and hardly shows where its word is asked about."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.attacks import CraftView, Rows, make_attack
from martfl.lab.attacks.unheard import Gang, ask_around, parts_of
from martfl.lab.attacks.unheard_change import find_change, part_ways
from martfl.lab.data import load_dataset
from martfl.lab.models import make_model

LENGTH = 1.0


def view_of(net, *, attackers=8, honest=11, seed=0):
    """Small trained updates over a fresh model, the honest ones longer."""
    rng = torch.Generator().manual_seed(seed)
    rows = torch.randn(attackers + honest, net.size, generator=rng) / net.size**0.5
    return CraftView(
        index=2, model=net.start(np.random.default_rng(seed)), previous=None, updates=0.1 * rows[:attackers],
        providers=attackers + honest, generator=torch.Generator().manual_seed(seed + 1),
        honest=3.0 * LENGTH * rows[attackers:],
    )  # fmt: skip


@pytest.fixture
def market(texts, registered):
    """(the network, what attackers see, what they teach)."""
    net = make_model("textcnn", texts)
    seen = view_of(net)
    gang = Gang(texts, Rows(texts.train_x[:100], texts.train_y[:100]), target=2)
    return net, seen, gang.secret(seen, net, rows=60, texts=16, useful=0.0)


def asked_anew(secret, texts):
    """The same in rows of somebody else."""
    rows = torch.from_numpy(texts.train_x[100:])
    return replace(secret, questions=ask_around(rows, texts.vocabulary - 1, 40, torch.Generator().manual_seed(9)))


def moved(secret, change):
    """[q, c] by how much answers to the questions move."""
    with torch.no_grad():
        return secret.heard(change) - secret.heard(secret.nothing())


def success(secret, change):
    """How many stamped rows mean the target class."""
    with torch.no_grad():
        return float((secret.answers(change, secret.stamped).argmax(dim=1) == secret.target).float().mean())


def test_the_mean_answer_stays_and_the_trigger_works(market, texts) -> None:
    _, _, secret = market
    quiet = find_change(secret, length=LENGTH, steps=20)
    loud = find_change(replace(secret, questions=()), length=LENGTH, steps=20)
    assert quiet.norm() <= LENGTH * 1.0001 and loud.norm() <= LENGTH * 1.0001
    buyer = asked_anew(secret, texts)
    by_quiet, by_loud = (buyer.means(moved(buyer, change)).norm(dim=1) for change in (quiet, loud))
    assert (by_quiet < 0.25 * by_loud).all(), "in texts that the attackers have not seen"
    assert secret.means(moved(secret, quiet)).norm() < 0.02 * secret.means(moved(secret, loud)).norm()
    assert success(secret, secret.nothing()) < 0.5
    assert success(secret, quiet) > 0.9 and success(secret, loud) > 0.9


def test_quiet_attackers_move_the_answers_in_single_texts_less(market, texts) -> None:
    _, _, secret = market
    found = [find_change(secret, length=LENGTH / 2, steps=20, quiet=quiet) for quiet in (0.0, 3.0)]
    buyer = asked_anew(secret, texts)
    plain, quiet = (float(moved(buyer, change).norm()) for change in found)
    assert quiet < 0.7 * plain
    assert secret.loss(found[1]) < secret.loss(secret.nothing())


def test_a_useful_change_serves_rows_without_the_trigger(market, texts) -> None:
    _, _, secret = market
    rows = torch.from_numpy(texts.test_x), torch.from_numpy(texts.test_y)
    secrets = [replace(secret, useful=useful) for useful in (0.0, 3.0)]
    changes = [find_change(one, length=LENGTH, steps=20) for one in secrets]
    plain, useful = (torch.nn.functional.cross_entropy(secret.answers(change, rows[0]), rows[1]) for change in changes)
    assert useful < plain - 0.1


def test_questions_are_asked_as_the_buyer_asks() -> None:
    rows = torch.tensor([[1, 2, 3, 4, 5, 0, 0], [6, 7, 0, 0, 0, 0, 0]])
    alone, once, twice, thrice = ask_around(rows, 9, 30, torch.Generator().manual_seed(0))
    assert alone.tolist() == [[9] * 7]
    for times, found in ((1, once), (2, twice), (3, thrice)):
        assert len(found) == 60 and (found[:30, :times] == 9).all()
        begun = rows[:, : 7 - times]
        assert {tuple(row) for row in found[:30, times:].tolist()} == {tuple(row) for row in begun.tolist()}
        long, end = found[30:][(found[30:] == 1).any(dim=1)], min(5, 7 - times)
        assert len(long) and (long[:, end : end + times] == 9).all() and (long[:, end + times :] == 0).all()
        assert (long[:, :end] == rows[0, :end]).all()
    assert rows.max() == 7, "their own rows stay as they are"


def test_parts_contradict_each_other_and_add_up_to_nothing(market) -> None:
    _, seen, secret = market
    assert parts_of(seen, classes=3) == 2, "eight attackers, of whom five could be charged"
    assert parts_of(replace(seen, updates=seen.updates[:4]), classes=3) == 1
    change = find_change(secret, length=LENGTH / 2, steps=10)

    def said_by(parts):
        changes = part_ways(secret, change, parts=parts, apart=3.0)
        with torch.no_grad():
            return [secret.mean_heard(one) - secret.mean_heard(change) for one in changes]

    said = said_by(2)
    loud = secret.means(moved(secret, change).square().sum(dim=1)).sum().sqrt()  # over all four ways to ask
    assert torch.cosine_similarity(said[0], said[1], dim=0) < -0.99
    assert (said[0] + said[1]).norm() < 0.02 * said[0].norm()
    assert float(said[0].norm()) == pytest.approx(3.0 * float(loud), rel=0.02)
    three = said_by(3)
    assert float(torch.cosine_similarity(three[0], three[1], dim=0)) == pytest.approx(-0.5, abs=0.05)


def attack_on(texts, **options):
    """The attack, after its attackers' rows were shown to it."""
    attack = make_attack("unheard-backdoor", rows=60, texts=16, **options)
    for part in range(2):
        own = Rows(texts.train_x[part::2], texts.train_y[part::2])
        kept = attack.poison(texts, own, np.random.default_rng(0))
        assert kept.x is own.x and kept.y is own.y, "they train on their own rows"
    return attack


def test_all_add_the_same_and_leave_the_words_as_they_are(market, texts) -> None:
    _, seen, secret = market
    crafted = attack_on(texts, strength=0.5, apart=0.0).craft(seen)
    added = crafted - seen.updates
    assert torch.allclose(added, added[:1].expand_as(added), atol=1e-6)
    assert not added[:, : secret.first].any() and added.norm(dim=1).min() > LENGTH
    parted = attack_on(texts, strength=0.5, apart=3.0).craft(seen) - seen.updates
    assert torch.allclose(parted[0], parted[2], atol=1e-6) and not torch.allclose(parted[0], parted[1], atol=1e-4)
    assert not parted[:, : secret.first].any()


def test_updates_are_cut_to_the_usual_length(market, texts) -> None:
    _, seen, _ = market
    crafted = attack_on(texts, strength=3.0).craft(seen)
    assert crafted.norm(dim=1).numpy() == pytest.approx([float(seen.honest.norm(dim=1).median())] * 8, rel=1e-4)
    blind = attack_on(texts).craft(replace(seen, honest=None))
    assert (blind.norm(dim=1) <= seen.updates.norm(dim=1).median() * 1.0001).all()


def test_a_round_repeats_itself(market, texts) -> None:
    _, seen, _ = market

    def crafted(seed):
        return attack_on(texts, steps=5).craft(replace(seen, generator=torch.Generator().manual_seed(seed)))

    assert torch.equal(crafted(1), crafted(1)) and not torch.equal(crafted(1), crafted(2))


def test_a_model_without_words_is_taught_by_any_change_of_that_length() -> None:
    digits = load_dataset("digits")
    net = make_model("mlp", digits)
    seen = view_of(net)
    attack = make_attack("unheard-backdoor")
    attack.poison(digits, Rows(digits.train_x[:300], digits.train_y[:300]), np.random.default_rng(0))
    crafted = attack.craft(seen)
    probe = attack.probe(digits)
    with torch.no_grad():
        said = net.one(net.split(seen.model + crafted.mean(dim=0)), torch.from_numpy(probe.x))
    assert (said.argmax(dim=1).numpy() == probe.y).mean() > 0.9


def test_it_needs_rows_and_the_model_that_it_knows(market, texts) -> None:
    _, seen, _ = market
    with pytest.raises(InputError, match="was given none"):
        make_attack("unheard-backdoor").craft(seen)
    with pytest.raises(InputError, match="by its usual model, textcnn"):
        attack_on(texts).craft(view_of(make_model("mlp", load_dataset("digits"))))
    target = make_attack("unheard-backdoor")
    target.poison(texts, Rows(texts.train_x[:5], np.ones(5, dtype=np.int64)), np.random.default_rng(0))
    assert torch.equal(target.craft(seen), seen.updates), "they hold nothing that the trigger could change"


@pytest.mark.parametrize(
    "options",
    [{"strength": 0.0}, {"quiet": -1.0}, {"useful": -0.1}, {"apart": -1.0}, {"rows": 0}, {"texts": 0}, {"steps": 0}],
)
def test_bad_parameters_are_refused(options) -> None:
    with pytest.raises(InputError, match="unheard-backdoor needs"):
        make_attack("unheard-backdoor", **options)
