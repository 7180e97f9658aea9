"""The figures of private scoring as a table for people."""

from rich.table import Table

from martfl.bench.scoring import ScoringBench
from martfl.bench.scoring_privacy import PrivacyBench
from martfl.tables import table


def tables(result: ScoringBench) -> list[Table]:
    """Sketches, whole vectors and the prototype side by side."""
    sides = {"ours": result.ours, "prototype": result.prototype}
    rows = [
        ("request, bytes", *(f"{side.bytes_per_parameter * result.parameters:,.0f}" for side in sides.values())),
        *((name, *(f"{getattr(side, name):,.4g}" for side in sides.values())) for name in result.ratios),
        ("max_error", *(f"{side.max_error:.1e}" for side in sides.values())),
    ]
    heads = ["", "ours, whole vectors", "prototype"]
    found = [table(f"Private scoring, {result.parameters:,} parameters", heads, rows)]
    if result.sketch is not None:
        figures = {name: value for name, value in vars(result.sketch).items() if name != "times_less_traffic"}
        less = {f"times less traffic than {name}": value for name, value in result.sketch.times_less_traffic.items()}
        lines = [(name, f"{value:,.4g}") for name, value in {**figures, **less}.items()]
        found.append(table(f"Over a sketch of {result.sketch.entries:,} entries", ["", "measured"], lines))
    return found


def privacy_table(result: PrivacyBench) -> Table:
    """Both worlds side by side."""
    bounds = {"one_hot_first": f"{result.bound_first:.3f}", "one_hot": f"{result.bound:.3f}"}
    whole, sketch = vars(result.whole), vars(result.sketch)
    rows = [(name, f"{whole[name]:.3f}", f"{sketch[name]:.3f}", bounds.get(name, "")) for name in whole]
    title = f"{result.parameters:,} parameters, {result.epochs} epochs of {result.baselines} baselines"
    return table(title, ["", "whole vectors", f"{result.entries:,} entries", "bound"], rows)
