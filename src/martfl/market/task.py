"""What a market wants of the task that its terms name: the layout that everybody means."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from martfl.market.errors import MarketError
from martfl.market.terms import Terms
from martfl.tasks.layout import Layout
from martfl.tasks.loading import load_entry
from martfl.tasks.protocol import Task, as_task

Floats = NDArray[np.floating[Any]]


def make_task(terms: Terms) -> Task:
    """The task that the terms name, with the layout that they state."""
    return check_task(terms, as_task(load_entry(terms.task.entry)(**terms.task.options)))


def check_task(terms: Terms, task: Task) -> Task:
    """The task, where its layout is the terms' own; an error names the first tensor that differs."""
    stated = terms.task.layout
    if stated and task.layout.hash != stated:
        difference = Layout.from_table(terms.layout).difference(task.layout) if terms.layout else None
        why = difference or f"its hash is {task.layout.hash}, the terms state {stated}"
        raise MarketError(f"this task's layout is not the market's: {why}")
    return task
