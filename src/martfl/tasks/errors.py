"""What can be wrong with a task, its data or its vectors."""

from martfl.errors import InputError


class TaskError(InputError):
    """A task, its data or what it gave breaks a stated rule."""


class LayoutError(TaskError):
    """A vector or a task is of another layout than the market's."""
