"""What a demo came to, in numbers: read off the chain and the acquirer's journal, not off what parties intended."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from martfl.chain import events as ev
from martfl.dashboard.ledger import LedgerReader
from martfl.dashboard.reading import RESULT
from martfl.dashboard.report import write_file, write_report
from martfl.demo.build import Demo, DemoOptions, open_demo
from martfl.market.acquirer import Tell
from martfl.market.buying import OFFENCES


@dataclass(frozen=True, kw_only=True)
class EpochResult:
    """One settled epoch. Money in wei; providers by name."""

    epoch: int
    mta: float
    phase: str
    weights: dict[str, float]
    dropped: list[str]  # judged and not bought
    caught: dict[str, str]  # cheated, and what was seen
    reasons: dict[str, str]
    paid: dict[str, int]
    refunded: int
    verified: bool
    gas: dict[str, int]
    seconds: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class DemoResult:
    """The whole demo."""

    epochs: list[EpochResult]
    providers: dict[str, str]  # name → what it really did
    deposited: int
    paid_out: int
    refunded: int
    left_in_contract: int
    mta_start: float
    model_hash: str
    folder: str
    report: str | None = None


def run_demo(options: DemoOptions, folder: Path, *, tell: Tell | None = None) -> DemoResult:
    """Run to the end, or go on where an interrupted run stopped."""
    with open_demo(options, folder) as demo:
        if tell:
            demo.acquirer.tell = tell
        demo.acquirer.run(options.epochs)
        return _reported(demo, summarise(demo))


def _reported(demo: Demo, result: DemoResult) -> DemoResult:
    """Write the result, then the report on it, while the chain is open."""
    known = to_json(result)
    write_file(demo.folder / RESULT, json.dumps(known, indent=2))
    ledger = LedgerReader(demo.trading).read()
    report = write_report(demo.folder, demo.folder / "report.html", ledger=ledger, extra=known)
    return replace(result, report=str(report))


def summarise(demo: Demo) -> DemoResult:
    """Collect what happened."""
    epochs = [_epoch(demo, epoch) for epoch in range(1, demo.acquirer.finished() + 1)]
    last = demo.acquirer.model_file(_latest(demo, epochs[-1].epoch, epochs[-1].phase))
    numbers = range(1, len(epochs) + 1)
    deposits = sum(event.amount for epoch in numbers for event in demo.trading.events(ev.Deposited, epoch=epoch))
    fees = sum(_fees(demo, epoch) for epoch in numbers)
    names = _names(demo)
    return DemoResult(
        epochs=epochs,
        providers={names[address]: behaviour for address, behaviour in demo.behaviours.items()},
        deposited=deposits + fees,
        paid_out=sum(sum(epoch.paid.values()) for epoch in epochs),
        refunded=sum(epoch.refunded for epoch in epochs),
        left_in_contract=demo.chain.balance(demo.trading.address),
        mta_start=_accuracy(demo, 0),
        model_hash=hashlib.sha256(last).hexdigest(),
        folder=str(demo.folder),
    )


def to_json(result: DemoResult) -> dict[str, Any]:
    """The documented JSON form."""
    return asdict(result)


def _epoch(demo: Demo, epoch: int) -> EpochResult:
    journal, names = demo.acquirer.journal, _names(demo)
    steps = {step.name: step for step in journal.steps(epoch)}
    chosen = steps["select"].value
    weights = steps["prepare"].value["weights"] if "prepare" in steps else {}
    caught = {r.subject: r for r in journal.remarks() if r.epoch == epoch and r.kind in OFFENCES}
    claims = {event.party: event.amount for event in demo.trading.events(ev.Claimed, epoch=epoch)}
    roles = dict(zip(chosen["providers"], chosen["roles"], strict=True))
    over = steps["over"].value
    return EpochResult(
        epoch=epoch,
        mta=_accuracy(demo, _latest(demo, epoch, over["phase"])),
        phase=over["phase"],
        weights={names[a]: w / (1 << 16) for a, w in weights.items() if a not in caught},
        dropped=[names[a] for a, role in roles.items() if role in ("dropped", "candidate") and a not in caught],
        caught={names[a]: f"{r.kind}: {r.detail}" for a, r in caught.items()},
        reasons={names[a]: why for a, why in zip(chosen["providers"], chosen["reasons"], strict=True)},
        paid={names[a]: amount for a, amount in claims.items() if a in names},
        refunded=claims.get(demo.acquirer.account.address, 0),
        verified=over["phase"] == "SETTLED" and _verified(demo, epoch),
        gas=_gas(demo, epoch),
        seconds={name: round(step.seconds, 3) for name, step in steps.items()},
    )


def _verified(demo: Demo, epoch: int) -> bool:
    demo.settler.check(demo.trading, demo.acquirer.model_file(epoch), epoch=epoch)  # raises where it is not
    return True


def _accuracy(demo: Demo, epoch: int) -> float:
    model = demo.settler.floats(demo.acquirer.model_file(epoch))
    return float(np.mean(demo.acquirer.task.logits(model, demo.test).argmax(axis=1) == demo.test[1]))


def _latest(demo: Demo, epoch: int, phase: str) -> int:
    """The epoch whose model is the global one after `epoch`."""
    return epoch if phase == "SETTLED" else demo.trading.read_epoch(epoch).base


def _names(demo: Demo) -> dict[str, str]:
    return {str(p.account.address): p.name for p in demo.providers}


def _fees(demo: Demo, epoch: int) -> int:
    bought = demo.trading.events(ev.AdvanceBought, epoch=epoch)
    return demo.terms.money.advance_fee * sum(len(event.providers) for event in bought)


def _gas(demo: Demo, epoch: int) -> dict[str, int]:
    """Gas by contract function, all parties together."""
    used: dict[str, int] = {}
    contract, chain = demo.trading.contract, demo.chain.web3.eth
    logs = chain.get_logs({"address": demo.trading.address, "fromBlock": demo.trading.since})
    about = [log for log in logs if len(log["topics"]) > 1 and int(log["topics"][1].hex(), 16) == epoch]
    mine = {log["transactionHash"] for log in about}
    for transaction in sorted(mine):
        sent, receipt = chain.get_transaction(transaction), chain.get_transaction_receipt(transaction)
        if sent.get("to") == demo.trading.address:
            name = contract.decode_function_input(sent["input"])[0].fn_name
            used[name] = used.get(name, 0) + int(receipt["gasUsed"])
    return used
