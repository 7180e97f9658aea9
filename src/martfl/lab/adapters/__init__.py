"""Experiments with adapters of a language model: sellers are plays, texts are poisoned, rules are the lab's own."""
