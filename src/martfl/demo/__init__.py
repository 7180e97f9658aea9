"""The whole market on one machine: an embedded chain, real providers, some of which attack, and a story at the end."""

from martfl.demo.build import DemoOptions, open_demo
from martfl.demo.result import DemoResult, EpochResult, run_demo

__all__ = ["DemoOptions", "DemoResult", "EpochResult", "open_demo", "run_demo"]
