"""The gas report for people: tables, and gas against the number of samples as a figure."""

from collections.abc import Iterable
from pathlib import Path

from rich.table import Table

from martfl.bench.gas import GasReport, paper_gas
from martfl.bench.gas_terms import LENET
from martfl.errors import InputError
from martfl.tables import table


def tables(report: GasReport) -> Iterable[Table]:
    """Exact settlement, totals, code, sampled settlement."""
    rows: list[tuple[object, ...]] = [
        (name, f"{gas:,}", f"{report.exact_first[name]:,}", f"{paper:,}" if (paper := paper_gas(name)) else "")
        for name, gas in report.exact.items()
    ]
    heads = ["function", "gas", "first epoch", "paper"]
    yield table(f"Exact settlement, {report.providers} providers", heads, rows)
    yield _totals(report)
    sizes: list[tuple[object, ...]] = [
        (name, f"{code.bytes:,}", f"{code.room:,}") for name, code in report.code.items()
    ]
    yield table("Code", ["contract", "bytes", "room"], sizes)
    if report.sampled is not None:
        yield from _sampled(report)


def _totals(report: GasReport) -> Table:
    sums, prices = report.on_chain, report.dollars
    at = f"at {prices['gas_price_gwei']:g} gwei, coin at ${prices['coin']:,.0f}"
    rows: list[tuple[object, ...]] = [
        ("deployment, gas", f"{report.deployment:,}"),
        ("epoch of all parties, commitments and claims relayed, gas", f"{report.epoch:,}"),
        ("the same in a contract's first epoch, gas", f"{report.epoch_first:,}"),
        ("one provider that does without relays, gas", f"{report.per_provider:,}"),
        (f"epoch, dollars {at}", f"{prices['epoch']:.2f}"),
        ("one provider, dollars", f"{prices['provider']:.4f}"),
        ("summing updates on chain, gas a parameter and provider", f"{sums.plain_per_parameter:,.0f}"),
        ("the same, ten parameters in a slot", f"{sums.packed_per_parameter:,.0f}"),
        (f"times our epoch at {LENET:,} parameters", f"{sums.plain_ratio:,.0f}"),
        ("the same, ten parameters in a slot", f"{sums.packed_ratio:,.0f}"),
    ]
    return table("In all", ["", ""], rows)


def _sampled(report: GasReport) -> Iterable[Table]:
    sampled = report.sampled
    assert sampled is not None
    rows: list[tuple[object, ...]] = [(name, f"{gas:,}") for name, gas in sampled.functions.items()]
    rows += [
        ("delay function alone, Prague", f"{sampled.vdf_prague:,}"),
        ("delay function alone, Osaka's price", f"{sampled.vdf_osaka:,}"),
        ("submit_randomness, optimistic", f"{sampled.submit_optimistic:,}"),
        ("Groth16 alone", f"{sampled.groth16:,}"),
    ]
    title = (
        f"Sampled settlement, {report.providers} providers, {sampled.samples[-1]} of {sampled.parameters:,} parameters"
    )
    yield table(title, ["function", "gas"], rows)
    counts: list[tuple[object, ...]] = [
        (count, f"{gas['commit_inputs']:,}", f"{gas['verify_aggregation']:,}")
        for count, gas in sampled.by_samples.items()
    ]
    yield table("Gas by number of samples", ["samples", "commit_inputs", "verify_aggregation"], counts)


def draw(report: GasReport, path: Path) -> None:
    """The paper's Fig. 10: gas against the number of samples."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    if report.sampled is None:
        raise InputError("the figure needs at least one number of samples")
    by_samples = report.sampled.by_samples
    figure, axes = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    for name in ("commit_inputs", "verify_aggregation"):
        axes.plot(list(by_samples), [gas[name] / 1e6 for gas in by_samples.values()], marker="o", label=name)
    axes.set(xlabel="samples", ylabel="gas (millions)", ylim=(0, None))
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
