"""`write_report`: a market's story in one HTML file that opens from disk and asks nobody for anything."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from martfl.dashboard.document import standalone
from martfl.dashboard.ledger import Ledger, ledger_in
from martfl.dashboard.reading import journal_folder, read_story
from martfl.dashboard.sections import navigation, sections
from martfl.dashboard.story import Story
from martfl.dashboard.words import moment


def write_report(
    folder: Path, out: Path, *, ledger: Ledger | None = None, extra: Mapping[str, Any] | None = None
) -> Path:
    """The report on the market whose acquirer's journal lies in `folder` (or in its folder `acquirer`).

    With `ledger` it covers everybody's transactions; without one it looks for an embedded chain beside the journal.
    """
    story = read_story(folder, ledger=ledger, extra=extra)
    if ledger is None and (found := ledger_in(journal_folder(folder).parent, story.contract)) is not None:
        story = read_story(folder, ledger=found, extra=extra)
    return write_file(out, render_report(story))


def render_report(story: Story) -> str:
    """The document."""
    subtitle = f"A market for model updates. Written {moment(time.time())}."
    return standalone(story.name, *sections(story).values(), navigation=navigation(), subtitle=subtitle)


def write_file(out: Path, text: str) -> Path:
    """All of it or nothing: whoever looks at the old file while the new one is written sees the old one."""
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = out.with_name(f".{out.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(out)
    return out
