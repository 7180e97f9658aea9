"""`write_report`: a market's story in one HTML file that opens from disk and asks nobody for anything."""

import os
import time
from dataclasses import replace
from pathlib import Path

from martfl.dashboard import people
from martfl.dashboard.document import standalone
from martfl.dashboard.ledger import Ledger, ledger_in
from martfl.dashboard.markup import section
from martfl.dashboard.reading import Beside, journal_folder, read_story
from martfl.dashboard.sections import navigation, sections
from martfl.dashboard.story import EpochStory, Story
from martfl.dashboard.words import moment
from martfl.errors import InputError


def write_report(
    folder: Path,
    out: Path,
    *,
    ledger: Ledger | None = None,
    beside: Beside | None = None,
    provider: str | None = None,
) -> Path:
    """The report on the market whose acquirer's journal lies in `folder` (or in its folder `acquirer`).

    With `ledger` it covers everybody's transactions; without one it looks for an embedded chain beside the journal.
    With `provider` (an address) it holds only what concerns that provider, and can be handed to it.
    """
    story = read_story(folder, ledger=ledger, beside=beside)
    if ledger is None and (found := ledger_in(journal_folder(folder).parent, story.contract)) is not None:
        story = read_story(folder, ledger=found, beside=beside)
    return write_file(out, render_report(story) if provider is None else render_for(story, provider))


def render_report(story: Story) -> str:
    """The document."""
    subtitle = f"A market for model updates. Written {moment(time.time())}."
    return standalone(story.name, *sections(story).values(), navigation=navigation(), subtitle=subtitle)


def render_for(story: Story, provider: str) -> str:
    """The document for one provider: nothing in it tells of another."""
    known = {address.lower(): address for address in story.parties}
    if provider.lower() not in known:
        raise InputError(f"no provider has the address {provider}; there are {len(known)}")
    address = known[provider.lower()]
    alone = only(story, address)
    view = section("views", "Your updates", people.view(alone, address, opened=True))
    parts = [view, *(sections(alone)[name] for name in ("accuracy", "market"))]
    subtitle = f"What happened to your updates, and why. Written {moment(time.time())}."
    return standalone(story.name, *parts, subtitle=subtitle)


def only(story: Story, address: str) -> Story:
    """The story with one provider left in it."""

    def cut(epoch: EpochStory) -> EpochStory:
        return replace(epoch, turns=tuple(t for t in epoch.turns if t.provider == address), transactions=(), checks=())

    kept = {address: story.parties[address]}
    return replace(story, parties=kept, epochs=tuple(cut(epoch) for epoch in story.epochs), alarms=())


def write_file(out: Path, text: str) -> Path:
    """All of it or nothing: whoever looks at the old file while the new one is written sees the old one."""
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = out.with_name(f".{out.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(out)
    return out
