"""The whole market on one machine: an embedded chain, real providers, some of which attack, and a story at the end."""

from martfl.demo.cast import DemoOptions
from martfl.demo.result import DemoResult, EpochResult, run_demo

__all__ = ["DemoOptions", "DemoResult", "EpochResult", "run_demo"]
