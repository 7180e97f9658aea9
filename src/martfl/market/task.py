"""What a market wants of the task that its terms name: permission to run its code, and the layout that everybody means.

Terms come from strangers: nothing is imported or called unless it is one of the built-in tasks, or of a module that
whoever joins has allowed by name.
"""

from collections.abc import Collection

from martfl.market.errors import MarketError
from martfl.market.terms import Terms
from martfl.tasks.errors import TaskError
from martfl.tasks.layout import Layout
from martfl.tasks.loading import load_entry
from martfl.tasks.protocol import Task, as_task
from martfl.values import Settings

BUILT_IN = frozenset(
    {"martfl.lab.task:digits", "martfl.lab.task:fmnist", "martfl.tasks.hospitals:heart", "martfl.tasks.lora_task:lora"}
)


def make_task(terms: Terms, *, allowed: Collection[str] = ()) -> Task:
    """The task that the terms name, with the layout that they state.

    Examples:
        >>> from pathlib import Path
        >>> from martfl.market.terms import load_terms
        >>> make_task(load_terms(Path('market/market.toml'))).layout.size
        2410
    """
    return check_task(terms, load_task(terms.task.entry, terms.task.options, allowed=allowed))


def load_task(entry: str, options: Settings, *, allowed: Collection[str] = ()) -> Task:
    """The task that terms name: a built-in one, or of a module that is allowed.

    Examples:
        >>> load_task('martfl.lab.task:digits', {}).layout.size
        2410
        >>> load_task('stranger:Task', {})
        Traceback (most recent call last):
            ...
        martfl.market.errors.MarketError: the task 'stranger:Task' is code of the ...
    """
    module = entry.partition(":")[0]
    if entry not in BUILT_IN and module not in allowed:
        raise MarketError(
            f"the task {entry!r} is code of the module {module!r}, which must be allowed before it runs here: read it, "
            f"then say --allow-task {module}"
        )
    try:
        return as_task(load_entry(entry)(**options))
    except TypeError as error:
        raise MarketError(f"the task {entry!r} does not take these options: {error}") from error
    except TaskError as error:
        raise MarketError(f"{entry!r} must make a task: {error}") from error


def check_task(terms: Terms, task: Task) -> Task:
    """The task, where its layout is the terms' own; an error names the first tensor that differs.

    Examples:
        >>> from martfl.market.terms import read_terms
        >>> task = load_task('martfl.lab.task:digits', {})
        >>> stated = {'entry': 'martfl.lab.task:digits', 'layout': task.layout.hash}
        >>> check_task(read_terms({'name': 'digits', 'task': stated}), task) is task
        True
    """
    stated = terms.task.layout
    if stated and task.layout.hash != stated:
        difference = Layout.from_table(terms.layout).difference(task.layout) if terms.layout else None
        why = difference or f"its hash is {task.layout.hash}, the terms state {stated}"
        raise MarketError(f"this task's layout is not the market's: {why}")
    return task
