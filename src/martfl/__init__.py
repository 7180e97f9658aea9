"""martfl: a marketplace where organisations buy and sell model updates instead of raw data."""

__version__ = "0.2.0"
