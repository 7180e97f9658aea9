"""Benchmarks: each prints what it measured in that run, beside its peer in the same run."""
