"""What a demo came to, in numbers: read off the chain and the acquirer's journal, not off what parties intended."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from martfl.chain.state import WHOLE, Phase
from martfl.dashboard.ledger import Ledger, LedgerReader
from martfl.dashboard.reading import RESULT, Beside
from martfl.dashboard.report import write_file, write_report
from martfl.dashboard.steps import Steps, by_epoch
from martfl.demo.build import Demo, Telling, open_demo, open_scene
from martfl.demo.options import DemoOptions
from martfl.demo.scene import Scene
from martfl.market.errors import MarketError
from martfl.market.purchases import OFFENCES
from martfl.market.steps import Judged, ModelPosted, Offers, Over, Selected
from martfl.selection import Role
from martfl.tasks.layout import Vector
from martfl.tasks.measures import Quality
from martfl.tasks.torch_task import Progress
from martfl.valuation import Appraisal
from martfl.values import Json


@dataclass(frozen=True, kw_only=True)
class EpochResult:
    """One epoch that is over. Money in wei; providers by name."""

    epoch: int
    mta: float  # the measure that counts, on test rows
    quality: Quality  # all measures
    phase: str
    asks: dict[str, int]
    prices: dict[str, int]  # of those bought
    deliveries: dict[str, str]  # how the bought updates came over
    weights: dict[str, float]
    bonus: dict[str, int]
    paid: dict[str, int]
    dropped: list[str]  # judged and left out
    caught: dict[str, str]  # cheated, and what was seen
    reasons: dict[str, str]
    added: dict[str, Appraisal]  # of who is in the model: what its update added
    refunded: int
    unclaimable: int  # a forfeited penalty
    verified: bool
    gas: dict[str, int]
    seconds: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class DemoResult:
    """The whole demo: deposited = paid out + refunded + unclaimable + left in the contract."""

    epochs: list[EpochResult]
    providers: dict[str, str]  # name → what it really did
    deposited: int
    paid_out: int
    refunded: int
    unclaimable: int
    left_in_contract: int
    measure: str  # what `mta` is: accuracy, r2, likelihood …
    mta_start: float
    quality_start: Quality
    model_hash: str
    folder: str
    report: str | None = None
    told: dict[str, str] = field(default_factory=dict)  # what the scene shows at its end


def run_demo(
    options: DemoOptions, folder: Path, *, telling: Telling | None = None, progress: Progress | None = None
) -> DemoResult:
    """Run to the end, or go on where an interrupted run stopped; `telling` makes a listener of the journal."""
    with open_demo(options, folder, telling=telling, progress=progress) as demo:
        return _run(demo, options.epochs)


def run_scene(scene: Scene, folder: Path, *, epochs: int, telling: Telling | None = None) -> DemoResult:
    """The same for a scene of one's own."""
    with open_scene(scene, folder, telling=telling) as demo:
        return _run(demo, epochs)


def _run(demo: Demo, epochs: int) -> DemoResult:
    demo.acquirer.run(epochs)
    ledger = LedgerReader(demo.trading).read()
    result = summarise(demo, ledger)
    if demo.scene.ending is not None:
        first, last = _model(demo, 0), _model(demo, _standing(demo, result.epochs[-1].epoch))
        result = replace(result, told=demo.scene.ending(first, last, demo.folder))
    return _reported(demo, ledger, result)


def to_json(result: DemoResult) -> Json:
    """The documented JSON form."""
    return asdict(result)


def summarise(demo: Demo, ledger: Ledger) -> DemoResult:
    """Collect what happened."""
    steps = by_epoch(demo.acquirer.journal.entries())
    epochs = [_epoch(demo, ledger, number, steps[number]) for number in range(1, demo.acquirer.finished() + 1)]
    last = demo.acquirer.model_file(_standing(demo, epochs[-1].epoch))
    unclaimable, start = sum(epoch.unclaimable for epoch in epochs), _quality(demo, 0)
    return DemoResult(
        epochs=epochs,
        providers={seller.name: seller.behaviour for seller in demo.scene.sellers},
        deposited=sum(state.deposit for state in ledger.states.values()),
        paid_out=sum(sum(epoch.paid.values()) for epoch in epochs),
        refunded=sum(epoch.refunded for epoch in epochs),
        unclaimable=unclaimable,
        left_in_contract=ledger.node.balance - unclaimable,
        measure=next(iter(start)),
        mta_start=next(iter(start.values())),
        quality_start=start,
        model_hash=hashlib.sha256(last).hexdigest(),
        folder=str(demo.folder),
    )


def _reported(demo: Demo, ledger: Ledger, result: DemoResult) -> DemoResult:
    """Write the result, then the report on it, while the chain is open."""
    write_file(demo.folder / RESULT, json.dumps(to_json(result), indent=2))
    tested = {epoch.epoch: epoch.mta for epoch in result.epochs}
    beside = Beside(start=result.mta_start, tested=tested, behaviours=result.providers)
    report = write_report(demo.folder, demo.folder / "report.html", ledger=ledger, beside=beside)
    return replace(result, report=str(report))


def _epoch(demo: Demo, ledger: Ledger, number: int, steps: Steps) -> EpochResult:
    names, state, over = demo.names, ledger.states[number], _must(steps.one(Over))
    offers, selected, posted = steps.one(Offers), steps.one(Selected), steps.one(ModelPosted)
    judged = selected.judged if selected else {}
    caught = {r.subject: r for r in demo.acquirer.journal.remarks() if r.epoch == number and r.kind in OFFENCES}
    prices, paid = steps.prices(), ledger.paid(number)
    quality = _quality(demo, _standing(demo, number))
    return EpochResult(
        epoch=number,
        mta=next(iter(quality.values())),
        quality=quality,
        phase=over.phase,
        asks={names[a]: shown.ask for a, shown in (offers.shown if offers else {}).items()},
        prices={names[a]: price for a, price in prices.items()},
        deliveries={names[a]: str(how) for a, how in ledger.deliveries(number).items()},
        weights={names[a]: weight / WHOLE for a, weight in (posted.weights if posted else {}).items()},
        bonus={names[a]: amount - prices[a] for a, amount in paid.items() if amount > prices[a]},
        paid={names[a]: amount for a, amount in paid.items()},
        dropped=[names[a] for a, one in judged.items() if one.role == Role.DROPPED and a not in caught],
        caught={names[a]: f"{remark.kind}: {remark.detail}" for a, remark in caught.items()},
        reasons={names[a]: one.words for a, one in judged.items()},
        added=_added(names, judged, posted.weights if posted else {}),
        refunded=ledger.refunded(number),
        unclaimable=state.penalty if state.phase is Phase.FAILED else 0,
        verified=state.phase is Phase.SETTLED and _verified(demo, number),
        gas=_gas(ledger, number),
        seconds={name: round(spent, 3) for name, spent in steps.seconds().items()},
    )


def _added(names: Mapping[str, str], judged: Mapping[str, Judged], weights: Mapping[str, int]) -> dict[str, Appraisal]:
    found = {names[a]: judged[a].value for a in weights if a in judged}
    return {name: value for name, value in found.items() if value is not None}


def _must(over: Over | None) -> Over:
    if over is None:
        raise MarketError("an epoch of the demo is not over: go on with it first (--resume)")
    return over


def _verified(demo: Demo, epoch: int) -> bool:
    demo.settler.check(demo.trading, demo.acquirer.model_file(epoch), epoch=epoch)  # raises where it is not
    return True


def _quality(demo: Demo, epoch: int) -> Quality:
    return demo.acquirer.task.quality(_model(demo, epoch), demo.scene.test)


def _model(demo: Demo, epoch: int) -> Vector:
    return np.asarray(demo.settler.floats(demo.acquirer.model_file(epoch)), np.float32)


def _standing(demo: Demo, epoch: int) -> int:
    """The epoch whose model is the global one after `epoch`."""
    state = demo.trading.read_epoch(epoch)
    return epoch if state.phase.stands else state.base


def _gas(ledger: Ledger, epoch: int) -> dict[str, int]:
    """Gas by contract function, all parties together."""
    used: dict[str, int] = {}
    for one in ledger.transactions:
        if one.epoch == epoch:
            used[one.function] = used.get(one.function, 0) + one.gas
    return used
