"""From an acquirer's journal (and, where there is one, its chain) to a `Story`. Reads only; a market may be running."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from martfl.dashboard.ledger import Ledger
from martfl.dashboard.story import PHASES, WHOLE, Alarm, Check, Epoch, Node, Party, Story, Transaction, Turn
from martfl.errors import InputError
from martfl.market.buying import OFFENCES
from martfl.market.journal import NAME, Journal, Remark, Step

RESULT = "result.json"  # beside the journals: what a demo knows and an acquirer cannot
FUNCTIONS = {"open": "new_epoch", "advance": "buy_advance", "publish": "publish_model", "claim": "claim_reward"}
PROOF = ("submit_randomness", "commit_inputs", "verify_aggregation")  # what sampled settlement sends, in order
ENDS = {
    "FAILED": "the settlement failed: the providers share the acquirer's penalty",
    "ABANDONED": "the acquirer missed a deadline: the providers share its penalty",
    "EMPTY": "nobody had committed when the window closed; the deposit went back",
    "DROPPED": "everybody who was bought was dropped",
}
ACQUIRERS_TURN = ("scoring", "buying", "delivery", "aggregation")  # stages that the acquirer must end in time
Steps = Mapping[str, Step]


def journal_folder(folder: Path) -> Path:
    """The acquirer's journal in or under `folder`."""
    for place in (folder, folder / "acquirer"):
        if (place / NAME).is_file():
            return place
    raise InputError(f"no acquirer's journal in {folder}: it would be {NAME}, there or in its folder 'acquirer'")


def read_story(folder: Path, *, ledger: Ledger | None = None, extra: Mapping[str, Any] | None = None) -> Story:
    """The story so far; `extra` is what a demo knows besides (test accuracy, what providers really did)."""
    place = journal_folder(folder)
    with Journal(place, read_only=True) as journal:
        steps, remarks = journal.steps(), journal.remarks()
    known = _beside(place) if extra is None else extra
    by_epoch: dict[int, dict[str, Step]] = {}
    for step in steps:
        by_epoch.setdefault(step.epoch, {})[step.name] = step
    market = by_epoch.pop(0, {}).get("market")
    if by_epoch and not any("open" in found for found in by_epoch.values()):
        raise InputError(f"the journal in {place} is not an acquirer's: no epoch was opened in it")
    facts: Mapping[str, Any] = market.value if market else {}
    story = _frame(facts, by_epoch, known)
    epochs = tuple(_epoch(number, found, remarks, facts, known) for number, found in sorted(by_epoch.items()))
    epochs = tuple(_with_ledger(epoch, ledger) for epoch in epochs) if ledger else epochs
    node = ledger.node if ledger else None
    alarms = (*_overdue(epochs, node), *_alarms(epochs, remarks))
    return replace(story, epochs=epochs, alarms=alarms, node=node, whole_ledger=ledger is not None)


def _beside(place: Path) -> Mapping[str, Any]:
    path = place.parent / RESULT
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    except ValueError as error:
        raise InputError(f"{path} is not a demo's result: {error}") from error


def _frame(facts: Mapping[str, Any], epochs: Mapping[int, Steps], known: Mapping[str, Any]) -> Story:
    terms = facts.get("terms", {})
    money, token = terms.get("money", {}), terms.get("money", {}).get("token", "")
    return Story(
        name=terms.get("name", "market"),
        parties=_parties(epochs, known),
        epochs=(),
        contract=facts.get("contract", ""),
        since=facts.get("since", 0),
        chain_id=facts.get("chain", 0),
        acquirer=facts.get("acquirer", ""),
        rule=terms.get("selection", {}).get("rule", ""),
        scheme=terms.get("settlement", {}).get("scheme", ""),
        parameters=facts.get("parameters", 0),
        token="" if not token or int(token, 16) == 0 else token,
        fee=money.get("advance_fee", 0),
        start_accuracy=facts.get("root accuracy"),
        start_tested=known.get("mta_start"),
    )


def _parties(epochs: Mapping[int, Steps], known: Mapping[str, Any]) -> dict[str, Party]:
    names: dict[str, str] = {}
    for _, steps in sorted(epochs.items()):
        for step, key in (("invite", "invited"), ("select", "providers")):
            if step in steps:
                names |= {address: names.get(address, "") for address in steps[step].value[key]}
        if "invite" in steps:
            names |= {a: name for a, name in steps["invite"].value.get("names", {}).items() if name}
    behaviours = known.get("providers", {})
    return {a: Party(address=a, name=name, behaviour=behaviours.get(name, "")) for a, name in names.items()}


def _epoch(
    number: int, steps: Steps, remarks: Sequence[Remark], facts: Mapping[str, Any], known: Mapping[str, Any]
) -> Epoch:
    money = facts.get("terms", {}).get("money", {})
    bought = [name for step in _family(steps, "advance") for name in step.value["bought"]]
    deposit, over = int(_of(steps, "open", "deposit", 0)), _of(steps, "over", None, {})
    chosen = _of(steps, "select", None, {})
    last = max(steps.values(), key=lambda step: step.at)
    tested = {one["epoch"]: one["mta"] for one in known.get("epochs", [])}
    sent, received = _traffic(steps)
    return Epoch(
        number=number,
        stage=_stage(steps),
        outcome=over.get("phase", ""),
        opened=min(step.at - step.seconds for step in steps.values()),
        latest=last.at,
        deadline=_deadline(steps, facts),
        turns=_turns(steps, set(bought), {r.subject: r for r in remarks if r.epoch == number and r.kind in OFFENCES}),
        distribution=chosen.get("distribution", ""),
        centroids=tuple(chosen.get("centroids", ())),
        baselines=len(_family(steps, "scores")),
        deposit=deposit,
        reward=deposit * 10_000 // (10_000 + money.get("penalty_ratio", 0)),
        fees=len(bought) * money.get("advance_fee", 0),
        refunded=int(_of(steps, "claim", "amount", 0)),
        accuracy=over.get("root accuracy"),
        tested=tested.get(number),
        sent=sent,
        received=received,
        seconds=_seconds(steps),
        checks=_checks(steps, facts),
        transactions=_transactions(number, steps, facts.get("acquirer", "")),
        model=str(_of(steps, "aggregate", None, "")),
    )


def _deadline(steps: Steps, facts: Mapping[str, Any]) -> int:
    """The last moment for what is going on. Once commitments are in, the purchase has its window after theirs."""
    stated = [step.value.get("deadline", 0) for step in steps.values() if isinstance(step.value, dict)]
    buying = "invite" in steps and "prepare" not in steps
    return max(stated, default=0) + (facts.get("terms", {}).get("deadlines", {}).get("prepare", 0) if buying else 0)


def _stage(steps: Steps) -> str:
    done = [stage for name, stage in PHASES.items() if name in steps or _family(steps, name)]
    return done[-1] if done else "training"


def _turns(steps: Steps, bought: set[str], offences: Mapping[str, Remark]) -> tuple[Turn, ...]:
    chosen = _of(steps, "select", None, {})
    judged = {name: i for i, name in enumerate(chosen.get("providers", ()))}
    invited = _of(steps, "invite", "invited", [])
    committed = set(_of(steps, "invite", "committed", [])) | set(judged)
    weights, paid = _of(steps, "prepare", "weights", {}), _of(steps, "closed", "claimed", {})
    delivered, checked = set(_of(steps, "collect", "delivered", [])), set(_of(steps, "hand out", "accepted", []))

    def turn(name: str) -> Turn:
        decided = _decided(chosen, judged[name]) if name in judged else {}
        caught = offences.get(name)
        return Turn(
            provider=name,
            committed=name in committed,
            **decided,
            weight=0.0 if caught else weights.get(name, 0) / WHOLE,
            advance=name in bought,
            delivered=name in delivered or (name in bought and caught is None and name in judged),
            checked=name in checked,
            paid=int(paid[name]) if name in paid else None,
            offence=caught.kind if caught else "",
            evidence=caught.detail if caught else "",
        )

    return tuple(turn(name) for name in dict.fromkeys([*invited, *judged]))


def _decided(chosen: Mapping[str, Any], i: int) -> dict[str, Any]:
    values = {name: chosen[plural][i] for name, plural in (("score", "scores"), ("role", "roles"))}
    return {**values, "cluster": chosen["labels"][i], "reason": chosen["reasons"][i]}


def _traffic(steps: Steps) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes by kind of message. Steps count on from each other, so the largest count is the whole."""
    both: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for step in steps.values():
        traffic = step.value.get("traffic", {}) if isinstance(step.value, dict) else {}
        for total, way in zip(both, ("sent", "received"), strict=True):
            for kind, count in traffic.get(way, {}).items():
                total[kind] = max(total.get(kind, 0), count)
    return both


def _seconds(steps: Steps) -> dict[str, float]:
    """Working time by step; steps of one family (scores 0, scores 1; advance, drop) together."""
    spent: dict[str, float] = {}
    for name, step in steps.items():
        family = next((known for known in ("scores", "advance", "drop") if name.startswith(known + " ")), name)
        spent[family] = spent.get(family, 0.0) + step.seconds
    return spent


def _checks(steps: Steps, facts: Mapping[str, Any]) -> tuple[Check, ...]:
    scheme = _scheme(facts)
    invited, committed = _of(steps, "invite", "invited", []), _of(steps, "invite", "committed", [])
    found = [("providers", "the model to train on is the one on chain", len(committed), len(invited))]
    if scores := _family(steps, "scores"):
        given = [score for step in scores for score in step.value]
        valid = sum(score is not None for score in given)
        found.append(("acquirer", "encrypted scores are well-formed and in range", valid, len(given)))
    if "collect" in steps:
        delivered, wanted = len(steps["collect"].value["delivered"]), len(_of(steps, "prepare", "weights", {}))
        found.append(("acquirer", "deliveries open their commitments and match their scores", delivered, wanted))
    proved = "publish" if scheme == "exact" else "over"  # the sum is made on publication; a proof may still fail
    if proved in steps and "publish" in steps:
        held = scheme == "exact" or _of(steps, "over", "phase", "") == "SETTLED"
        found.append(("contract", _CONTRACT[scheme], int(held), 1))
    if "hand out" in steps:
        value = steps["hand out"].value
        found.append(("providers", "the published model is the one on chain", len(value["accepted"]), value["asked"]))
    return tuple(Check(who=who, what=what, passed=passed, of=of) for who, what, passed, of in found)


_CONTRACT = {
    "exact": "the new model's commitment is the weighted sum of the bought ones",
    "sampled": "the proof over randomly drawn parameters is valid",
}


def _transactions(number: int, steps: Steps, acquirer: str) -> tuple[Transaction, ...]:
    """What the acquirer itself sent; the others' transactions are on the chain only."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for name, step in steps.items():
        value, kind = step.value if isinstance(step.value, dict) else {}, name.split(" ")[0]
        found += zip(PROOF, value.get("sent", []), strict=False)
        if value.get("transaction"):
            found.append((FUNCTIONS.get(kind, kind), value))
    return tuple(
        Transaction(epoch=number, function=function, hash=v["transaction"], gas=int(v["gas"]), party=acquirer)
        for function, v in found
    )


def _with_ledger(epoch: Epoch, ledger: Ledger) -> Epoch:
    claims = ledger.paid.get(epoch.number, {})
    turns = tuple(replace(t, paid=claims.get(t.provider, 0 if epoch.over else t.paid)) for t in epoch.turns)
    mine = tuple(one for one in ledger.transactions if one.epoch == epoch.number)
    return replace(epoch, turns=turns, transactions=mine, deposit=ledger.deposits.get(epoch.number, epoch.deposit))


def _alarms(epochs: Sequence[Epoch], remarks: Sequence[Remark]) -> tuple[Alarm, ...]:
    found = [_alarm(remark) for remark in remarks]
    for epoch in epochs:
        late = [turn.provider for turn in epoch.turns if not turn.committed and epoch.stage != "training"]
        text = "was invited and did not commit in time"
        found += [Alarm(epoch=epoch.number, kind="late", subject=name, text=text, grave=False) for name in late]
        if epoch.outcome in ENDS:
            grave = epoch.outcome != "EMPTY"
            kind = f"epoch {epoch.outcome.lower()}"
            found.append(Alarm(epoch=epoch.number, kind=kind, text=ENDS[epoch.outcome], grave=grave))
        doubts = [check for check in epoch.checks if check.what.startswith("the published") and check.passed < check.of]
        found += [Alarm(epoch=epoch.number, kind="doubted", text=_doubt(c), grave=False) for c in doubts]
    return tuple(sorted(found, key=lambda alarm: -alarm.epoch))


def _overdue(epochs: Sequence[Epoch], node: Node | None) -> list[Alarm]:
    """Deadlines that the acquirer is missing now; only the chain's own clock counts."""
    late = [e for e in epochs if node and e.stage in ACQUIRERS_TURN and 0 < e.deadline < node.time]
    text = "the acquirer is past its deadline: anybody may expire the epoch, and its penalty goes to the providers"
    return [Alarm(epoch=epoch.number, kind="late", text=text) for epoch in late]


def _alarm(remark: Remark) -> Alarm:
    grave = remark.kind in OFFENCES or remark.kind == "late"
    return Alarm(epoch=remark.epoch, kind=remark.kind, subject=remark.subject, text=remark.detail, grave=grave)


def _doubt(check: Check) -> str:
    return f"{check.of - check.passed} of {check.of} providers did not confirm the published model"


def _scheme(facts: Mapping[str, Any]) -> str:
    return str(facts.get("terms", {}).get("settlement", {}).get("scheme", "exact"))


def _family(steps: Steps, name: str) -> list[Step]:
    return [step for key, step in steps.items() if key.startswith(name + " ") and name in ("scores", "advance", "drop")]


def _of(steps: Steps, name: str, key: str | None, missing: Any) -> Any:
    """A step's value, or one entry of it."""
    if name not in steps:
        return missing
    value = steps[name].value
    return value if key is None else value.get(key, missing)
