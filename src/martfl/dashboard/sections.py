"""A story as sections of HTML. The report shows all of them; the page shows the same and replaces those that change."""

from collections.abc import Mapping

from martfl.dashboard import costs, people
from martfl.dashboard.charts import line_chart, score_chart
from martfl.dashboard.finding import finder, traits
from martfl.dashboard.markup import Html, h, join, section
from martfl.dashboard.people import role_badge
from martfl.dashboard.story import STAGES, Alarm, EpochStory, Story, Turn
from martfl.dashboard.words import (
    DELIVERY_WORDS,
    STAGE_WORDS,
    label,
    moment,
    money,
    party_link,
    percent,
    plural,
    role_of,
    short,
    transaction_link,
    verdict,
)
from martfl.valuation import brief

MOST_ALARMS = 60
NUMBERS = ("asked", "bought at", "score", "weight", "bonus", "paid")
DECISIONS = ("provider", "decision", "asked", "bought at", "delivery", "score", "weight", "bonus", "paid")
CLASSES = {**dict.fromkeys(NUMBERS, "number"), "delivery": "delivery"}
POSTED = ("buy", "accept", "publish_model", "verify_aggregation")  # transactions that an epoch's line links to

MEASURES = {
    "accuracy": "the share of examples that the global model gets right",
    "likelihood": "how likely the global model finds each word of a text, after those before it",
    "r2": "the share of the variance that the global model explains",
}


def sections(story: Story, *, detailed: int | None = None) -> dict[str, Html]:
    """Section by name, in reading order; `detailed` limits how many of the latest epochs are shown in full."""
    shown = story.epochs if detailed is None else story.epochs[-detailed:]
    epochs = {f"epoch-{epoch.number}": _epoch(story, epoch, latest=epoch is shown[-1]) for epoch in reversed(shown)}
    return {
        "summary": _summary(story),
        "alarms": _alarms(story),
        "timeline": _timeline(story),
        **({"find": found} if (found := finder(story)) else {}),
        "providers": people.overview(story),
        "accuracy": _accuracy(story),
        "decisions": _decisions(story, len(shown)),
        **epochs,
        "money": costs.money_flow(story),
        "costs": costs.costs(story),
        "checks": costs.checks(story),
        "views": people.views(story, latest=detailed),
        "transactions": costs.transactions(story),
        "market": _market(story),
    }


NAVIGATION: Mapping[str, str] = {
    "summary": "In short",
    "timeline": "Epochs",
    "providers": "Who was paid",
    "accuracy": "Accuracy",
    "decisions": "Decisions",
    "money": "Money",
    "costs": "Costs",
    "checks": "Checks",
    "views": "For providers",
    "transactions": "Transactions",
}


def navigation() -> Html:
    """Links to the sections."""
    links = [h("li", h("a", words, href=f"#{name}")) for name, words in NAVIGATION.items()]
    return h("nav", h("ul", links), aria_label="Sections")


def _summary(story: Story) -> Html:
    done = [epoch for epoch in story.epochs if epoch.over]
    now, start, words = _accuracies(story)
    paid = sum(epoch.paid for epoch in story.epochs)
    winners = sum(story.paid_to(address) > 0 for address in story.parties)
    grave = sum(alarm.grave for alarm in story.alarms)
    tiles = [
        ("epochs over", f"{len(done)} of {len(story.epochs)}" if len(done) < len(story.epochs) else str(len(done))),
        (words, f"{percent(start).removesuffix(' %')} → {percent(now)}"),
        ("paid to providers", money(story, paid)),
        ("providers paid", f"{winners} of {len(story.parties)}"),
        ("alarms", str(grave)),
    ]
    grid = h("dl", [h("div", h("dt", name), h("dd", value)) for name, value in tiles], class_="tiles")
    return section("summary", "In short", grid, h("p", _in_words(story, paid, winners, grave)))


def _in_words(story: Story, paid: int, winners: int, grave: int) -> str:
    now, start, words = _accuracies(story)
    caught = {turn.provider for epoch in story.epochs for turn in epoch.turns if turn.offence}
    parts = [
        f"{plural(len(story.parties), 'provider')} offered updates of a model to one acquirer over "
        f"{plural(len(story.epochs), 'epoch')}.",
        f"The {words} went from {percent(start)} to {percent(now)}." if now is not None else "",
        f"{money(story, paid)} went to {plural(winners, 'provider')}; what was not bought, nobody has read.",
        f"{plural(len(caught), 'provider was', 'providers were')} caught cheating: no weight, no bonus."
        if caught
        else "",
        "No alarm was raised." if not grave else "",
    ]
    return " ".join(part for part in parts if part)


def _accuracies(story: Story) -> tuple[float | None, float | None, str]:
    tested = [epoch.tested for epoch in story.epochs if epoch.tested is not None]
    if tested and story.start_tested is not None:
        return tested[-1], story.start_tested, f"{story.measure} on test data"
    measured = [epoch.accuracy for epoch in story.epochs if epoch.accuracy is not None]
    return (measured[-1] if measured else None), story.start_accuracy, f"{story.measure} on root data"


def _alarms(story: Story) -> Html:
    if not story.alarms:
        return section("alarms", "Alarms", h("p", "None: nobody was late, silent, or caught.", class_="calm"))
    shown = [_alarm(story, alarm) for alarm in story.alarms[:MOST_ALARMS]]
    more = len(story.alarms) - len(shown)
    rest = h("p", f"… and {plural(more, 'earlier one')}.") if more > 0 else None
    note = h("p", "A coloured edge marks an offence or a failure; a grey one is only worth knowing.")
    return section("alarms", "Alarms", note, h("ul", shown, class_="alarms"), rest)


def _alarm(story: Story, alarm: Alarm) -> Html:
    who = [party_link(story, alarm.subject), ": "] if alarm.subject else []
    where = h("a", f"epoch {alarm.epoch}", href=f"#in-epoch-{alarm.epoch}")
    kind = "grave" if alarm.grave else "mild"
    return h("li", h("strong", alarm.kind), " · ", where, " · ", who, h("bdi", alarm.text), class_=kind)


def _timeline(story: Story) -> Html:
    if not story.epochs:
        return section("timeline", "Epochs", h("p", "No epoch has been opened yet.", class_="empty"))
    note = h("p", "Each epoch goes through the same stages; a filled step is done. Deadlines are in the chain's time.")
    rows = [_stages(story, epoch) for epoch in reversed(story.epochs[-12:])]
    hidden = len(story.epochs) - len(rows)
    rest = h("p", f"{plural(hidden, 'earlier epoch')} not shown here.") if hidden > 0 else None
    return section("timeline", "Epochs", note, h("ol", rows, class_="timeline", reversed=True), rest, _node(story))


def _stages(story: Story, epoch: EpochStory) -> Html:
    at = STAGES.index(epoch.stage)
    steps = [
        h("li", h("span", stage), class_="done" if number < at or epoch.over else "now" if number == at else "todo")
        for number, stage in enumerate(STAGES[:-1])
    ]
    bad = epoch.over and epoch.outcome != "SETTLED"
    state = h("span", verdict(epoch), class_="badge bad" if bad else "badge good" if epoch.over else "badge")
    due = "" if epoch.over or not epoch.deadline else f" · deadline {moment(epoch.deadline)}"
    when = f"opened {moment(epoch.opened)}{due}"
    head = h("p", h("a", f"Epoch {epoch.number}", href=f"#in-epoch-{epoch.number}"), " ", state, " ", h("small", when))
    return h("li", head, h("ol", steps, class_="stages", aria_label=f"Stages of epoch {epoch.number}"))


def _node(story: Story) -> Html | None:
    if story.node is None:
        return None
    node, held = story.node, money(story, story.node.balance)
    phases = ", ".join(f"epoch {number}: {phase.lower()}" for number, phase in list(node.phases.items())[-6:])
    words = (
        f"On chain at block {node.block:,} ({moment(node.time)}): the contract holds {held}; {phases or 'no epochs'}."
    )
    return h("p", words, class_="note")


def _accuracy(story: Story) -> Html:
    root = [(0.0, story.start_accuracy), *((float(e.number), e.accuracy) for e in story.epochs)]
    test = [(0.0, story.start_tested), *((float(e.number), e.tested) for e in story.epochs)]
    series = {
        "on test data, which no party sees": [(x, y) for x, y in test if y is not None],
        "on the acquirer's root data": [(x, y) for x, y in root if y is not None],
    }
    drawn = {name: points for name, points in series.items() if len(points) > 1 or name.startswith("on the")}
    drawn = {name: points for name, points in drawn.items() if points}
    title = f"{story.measure.capitalize()} of the global model after each epoch"
    meaning = MEASURES.get(story.measure, f"how good the global model is, by its {story.measure}")
    note = f"What the money bought: {meaning}. Epoch 0 is the model before the first purchase. "
    note += "An epoch that does not settle leaves the model as it was."
    chart = line_chart(drawn, title=title, x="epoch", y=story.measure, unit="%")
    return section("accuracy", f"{story.measure.capitalize()} by epoch", h("p", note), chart)


def _decisions(story: Story, shown: int) -> Html:
    words = (
        "Every provider names what it asks. A score is the cosine between its update and a baseline of the acquirer's, "
        "computed under encryption: before it buys, the acquirer learns these few numbers and nothing else. The rule "
        f"“{story.rule or 'of the terms'}” decides from them whom to buy, and from what was bought who is in the "
        f"model, {_weighed(story)} Scores are shown to two decimals, and once the epoch is over. Height is weight: "
        "points at the bottom are not part of the model."
    )
    hidden = len(story.epochs) - shown
    rest = h("p", f"The latest {shown} epochs are shown in full.", class_="note") if hidden > 0 else None
    return section("decisions", "Scores and decisions", h("p", words), rest)


def _weighed(story: Story) -> str:
    if story.value in ("", "none"):
        return "and at which weight."
    return (
        "and the weights, and with them the bonus, go by what each update adds; what it added to the model's goodness "
        "on a row of the acquirer's data stands beside it, with the range in which it lies nine times in ten."
    )


def _epoch(story: Story, epoch: EpochStory, *, latest: bool) -> Html:
    names = {turn.provider: label(story, turn.provider) for turn in epoch.turns}
    bought = sum(turn.price is not None for turn in epoch.turns)
    weighed = sum(turn.weight > 0 for turn in epoch.turns)
    counts = f"{bought} of {plural(len(epoch.turns), 'provider')} bought, {weighed} in the model"
    line = counts if bought or epoch.over else verdict(epoch)
    inside = f"in-epoch-{epoch.number}"  # within the closed part, so that a link to it opens the epoch
    note = h("p", _facts(story, epoch), h("a", "Link to this epoch", href=f"#{inside}"), id=inside)
    title = h("summary", h("span", f"Epoch {epoch.number}: {line}"))
    inner = h("details", title, note, score_chart(epoch, names), _decided(story, epoch), open=latest)
    return h("section", inner, id=f"epoch-{epoch.number}", aria_label=f"Epoch {epoch.number}")


def _facts(story: Story, epoch: EpochStory) -> list[Html]:
    """What there is to say about an epoch as a whole."""
    said = []
    if epoch.baselines:
        said.append(join([f"{plural(epoch.baselines, 'encrypted baseline')} sent. "]))
    if epoch.model:
        said.append(join(["New model: ", h("code", short(epoch.model), title=epoch.model), ". "]))
    posted = [one for one in epoch.transactions if one.function in POSTED]
    links = [join([one.function.replace("_", " "), " ", transaction_link(story, one.hash), " "]) for one in posted]
    return [*said, join(["On chain: ", links])] if links else said


def _decided(story: Story, epoch: EpochStory) -> Html | None:
    """A line for each provider, and under it why."""
    turns = sorted((t for t in epoch.turns if t.committed), key=lambda t: (-t.weight, -(t.price or 0), -(t.ask or 0)))
    if not turns:
        return None
    head = h("tr", [h("th", name, scope="col", class_=CLASSES.get(name)) for name in DECISIONS])
    rows = [row for turn in turns for row in _turn(story, turn)]
    return h("table", h("thead", head), h("tbody", rows), class_="cards decided")


def _turn(story: Story, turn: Turn) -> list[Html]:
    def amount(value: int | None) -> str:
        return money(story, value) if value else "–"

    values = {
        "asked": amount(turn.ask),
        "bought at": amount(turn.price),
        "score": "–" if turn.score is None else f"{turn.score:.2f}",
        "weight": percent(turn.weight) if turn.weight else "–",
        "bonus": amount(turn.bonus),
        "paid": amount(turn.paid),
    }
    cells = {name: h("td", value, class_="number", data_label=name) for name, value in values.items()}
    delivery = h("td", DELIVERY_WORDS[turn.delivery] or "–", class_="delivery", data_label="delivery")
    order = [cells["asked"], cells["bought at"], delivery, *(cells[name] for name in NUMBERS[2:])]
    why = f"{turn.offence}: {turn.evidence}" if turn.offence and turn.evidence else turn.offence or turn.reason
    why += f"; its update added {brief(turn.value)}" if turn.value else ""
    name, role = h("th", party_link(story, turn.provider), scope="row"), h("td", role_badge(role_of(turn)))
    who = traits(label(story, turn.provider), turn.provider, [turn])
    first = h("tr", name, role, order, class_="told" if why else None, **who)
    return [first, h("tr", h("td", h("bdi", why), class_="why", colspan=len(DECISIONS)), **who)] if why else [first]


def _market(story: Story) -> Html:
    facts = [
        ("contract", story.contract or "–"),
        ("chain id", str(story.chain_id) if story.chain_id else "–"),
        ("acquirer", story.acquirer or "–"),
        ("selection rule", story.rule or "–"),
        ("weights go by", "what updates add" if story.value == "information" else "the rule"),
        ("settlement", story.scheme or "–"),
        ("model parameters", f"{story.parameters:,}" if story.parameters else "–"),
        ("ask, where a provider names none", money(story, story.ask)),
        ("stages", "; ".join(f"{stage}: {STAGE_WORDS[stage]}" for stage in STAGES[:-1])),
    ]
    rows = [h("div", h("dt", name), h("dd", value)) for name, value in facts]
    return section("market", "The market", h("dl", rows, class_="facts"))
