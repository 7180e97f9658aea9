"""The errors that martfl raises on purpose; every message states the rule and the value received."""


class MartflError(Exception):
    """Base of every error that a caller is expected to handle."""


class InputError(MartflError, ValueError):
    """A value breaks a stated rule."""
