"""The whole market on one machine: an embedded chain, real providers, some of which attack, and a story at the end."""

from martfl.demo.options import DemoOptions
from martfl.demo.own import simulate
from martfl.demo.result import DemoResult, EpochResult, run_demo, run_scene
from martfl.demo.scene import Scene, Seller

__all__ = ["DemoOptions", "DemoResult", "EpochResult", "Scene", "Seller", "run_demo", "run_scene", "simulate"]
