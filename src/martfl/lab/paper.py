"""The paper's own figures, to be set beside ours: martFL (Li, Liu, Li, Xu; ACM CCS 2023), Tables 1, 2, 3, 4, 6 and 7.

Percentages as printed. "Ours" of the paper is `martfl` here. Its Figures 2, 5 to 8 and 11 print no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from martfl.errors import InputError
from martfl.values import Settings


@dataclass(frozen=True)
class Cell:
    """One printed number: for which settings, of which metric."""

    where: Settings
    metric: str
    mean: float
    deviation: float | None = None


# dataset rule, then for 20, 30 and 40 % biased providers: MTA ± deviation, DAC
# (martFL's DAC on CIFAR is printed with the very digits of TREC, so that one of the two is likely a slip)
TABLE1 = """
trec    cffl    76.87 6.87 100.00  81.53 0.90 100.00  79.07 3.24 100.00
trec    fltrust 67.40 4.76  36.52  72.60 1.07  46.47  71.73 1.09  40.15
trec    martfl  88.80 1.72  53.63  87.53 1.15  53.88  87.20 0.49  51.79
ag-news cffl    44.09 1.95 100.00  43.39 1.57 100.00  45.58 1.46 100.00
ag-news fltrust 44.09 1.43  11.52  45.19 0.39  10.35  43.65 0.90  11.89
ag-news martfl  79.71 2.15  36.30  75.89 1.30  38.99  78.04 1.08  41.15
fmnist  cffl    88.37 0.55 100.00  88.48 0.25 100.00  88.02 0.32 100.00
fmnist  fltrust 87.33 0.48  32.64  87.26 0.38  33.57  87.28 0.39  46.04
fmnist  martfl  88.22 0.26  35.14  88.88 0.27  30.06  87.71 0.43  39.60
cifar10 cffl    63.34 0.22 100.00  62.38 0.33 100.00  60.85 0.80 100.00
cifar10 fltrust 10.00 0.00   7.59  11.42 1.00  10.79  14.25 1.99   1.30
cifar10 martfl  64.24 0.06  53.63  63.79 0.28  53.88  62.60 0.37  51.79
"""

# rule, then for TREC, AG News, FMNIST and CIFAR: MTA ± deviation, DAC
TABLE2 = """
cffl    85.47 0.68 100.00  78.79 1.03 100.00  89.22 0.15 100.00  65.38 0.50 100.00
fltrust 87.40 0.71  46.65  80.94 1.26  66.11  89.40 0.20  51.62  70.66 0.45  39.44
martfl  87.67 0.57  44.38  83.35 1.54  65.61  89.88 0.15  45.27  70.28 0.27  34.89
"""

# dataset attack rule, then the DAC for 30, 40, 50, 60, 70 and 80 % malicious providers
TABLE3 = """
trec    free-rider       fltrust 99.22 84.38 36.18 31.40 24.22 13.68
trec    free-rider       martfl  87.32 68.32 46.58 31.54 20.26 12.02
trec    sign-randomizing fltrust 61.64 53.32 42.82 33.50 26.18 16.06
trec    sign-randomizing martfl  67.44 57.28 40.30 37.98 22.82 17.40
trec    backdoor         fltrust 80.54 68.60 72.24 67.38 53.72 45.62
trec    backdoor         martfl  53.76 51.50 46.60 39.60 29.64 41.86
trec    label-flipping   fltrust 83.06 81.24 65.28 70.66 58.04 53.46
trec    label-flipping   martfl  61.12 52.40 47.92 56.44 30.02 24.96
trec    sybil            fltrust 67.20 62.64 66.72 66.98 70.40 77.92
trec    sybil            martfl  53.76 48.10 48.68 44.90 50.62 60.66
cifar10 free-rider       fltrust 72.22 63.24 51.09 48.56 35.82 20.71
cifar10 free-rider       martfl  68.02 60.36 45.91 46.49 33.02 22.13
cifar10 sign-randomizing fltrust 59.76 53.82 47.24 40.29 33.33 25.93
cifar10 sign-randomizing martfl  76.73 63.38 57.60 52.18 46.16 30.73
cifar10 backdoor         fltrust 72.29 72.20 68.27 73.09 69.67 73.64
cifar10 backdoor         martfl  60.93 60.64 54.44 54.56 70.62 49.27
cifar10 label-flipping   fltrust 74.62 74.38 72.69 72.76 70.42 66.42
cifar10 label-flipping   martfl  65.98 60.73 63.07 56.27 54.42 44.58
cifar10 sybil            fltrust 61.29 65.38 68.42 70.20 64.38 61.33
cifar10 sybil            martfl  56.00 50.53 48.27 44.20 40.36 39.33
"""

# dataset, then MTA ± deviation of the integer model, MTA lost; F1 ± deviation, F1 lost (a negative loss is a gain)
TABLE4 = """
trec    88.60 0.28 -0.93  87.58 0.37 -0.65
ag-news 82.61 0.65  0.74  82.54 0.65  0.64
fmnist  90.07 0.07 -0.20  90.03 0.07 -0.20
cifar10 69.74 0.62  0.54  69.74 0.69  0.53
"""

# rule, then TREC: backdoor MTA, ASR, random signs MTA; FMNIST: label flipping MTA, ASR, free rider MTA
TABLE6 = """
FLTrust-1/3 48.60 12.02 57.08  74.71 18.96 70.71
FLTrust-1/2 58.84  9.01 57.48  87.11  4.69 86.52
FLTrust-2/3 81.53  9.43 83.16  87.97  5.37 86.38
Krum-10     70.11 41.58 32.08  88.43  5.12 87.69
Krum-30     61.64 68.27 38.24  86.44 13.43 86.60
Krum-50     64.16 67.04 85.08  80.64 32.20 79.16
Krum-70     72.64 36.23 78.64  85.97  4.95  8.19
martFL-1/3  83.71  7.75 76.36  87.94  3.41 81.19
martFL-1/2  83.38  8.43 75.36  88.23  4.48 84.34
martFL-2/3  84.08  7.55 79.96  88.65  3.94 88.18
"""

# attack, root dataset, type of bias, then how often the baseline is correct on TREC, AG News, FMNIST and CIFAR
TABLE7 = """
none             biased   I  80.00  70.00  98.80  95.67
none             biased   II 88.33  98.67 100.00 100.00
none             unbiased II 95.67 100.00  99.67  99.67
backdoor         biased   I  65.33  58.00  96.67  95.00
backdoor         biased   II 80.33  93.00  95.33 100.00
backdoor         unbiased II 79.00  84.00 100.00 100.00
sign-randomizing biased   I  64.67  62.67  98.67  99.00
sign-randomizing biased   II 96.00  88.67  99.00  89.50
sign-randomizing unbiased II 95.67  99.67  99.33  91.50
"""

DATASETS = ("trec", "ag-news", "fmnist", "cifar10")


def _lines(block: str, names: int) -> list[tuple[list[str], list[float]]]:
    """Every line as its leading names and the numbers after them."""
    split = [line.split() for line in block.strip().splitlines()]
    return [(line[:names], [float(number) for number in line[names:]]) for line in split]


def _accuracy_and_cost(where: Settings, numbers: list[float]) -> list[Cell]:
    return [Cell(where, "mta", numbers[0], numbers[1]), Cell(where, "dac", numbers[2])]


def _table1() -> list[Cell]:
    cells = []
    for (dataset, rule), numbers in _lines(TABLE1, 2):
        for position, biased in enumerate((0.2, 0.3, 0.4)):
            where = {"dataset": dataset, "rule": rule, "biased": biased}
            cells += _accuracy_and_cost(where, numbers[3 * position : 3 * position + 3])
    return cells


def _table2() -> list[Cell]:
    cells = []
    for (rule,), numbers in _lines(TABLE2, 1):
        for position, dataset in enumerate(DATASETS):
            cells += _accuracy_and_cost({"dataset": dataset, "rule": rule}, numbers[3 * position : 3 * position + 3])
    return cells


def _table3() -> list[Cell]:
    return [
        Cell({"dataset": dataset, "attack": attack, "rule": rule, "malicious": malicious}, "dac", number)
        for (dataset, attack, rule), numbers in _lines(TABLE3, 3)
        for malicious, number in zip((0.3, 0.4, 0.5, 0.6, 0.7, 0.8), numbers, strict=True)
    ]


def _table4() -> list[Cell]:
    cells = []
    for (dataset,), (mta, mta_deviation, mta_loss, f1, f1_deviation, f1_loss) in _lines(TABLE4, 1):
        where = {"dataset": dataset}
        cells += [Cell(where, "mta", mta, mta_deviation), Cell(where, "quantisation_loss", mta_loss)]
        cells += [Cell(where, "f1", f1, f1_deviation), Cell(where, "f1_loss", f1_loss)]
    return cells


def _table6() -> list[Cell]:
    columns = (
        ("trec", "backdoor", "mta"), ("trec", "backdoor", "asr"), ("trec", "sign-randomizing", "mta"),
        ("fmnist", "label-flipping", "mta"), ("fmnist", "label-flipping", "asr"), ("fmnist", "free-rider", "mta"),
    )  # fmt: skip
    return [
        Cell({"rule": rule, "dataset": dataset, "attack": attack}, metric, number)
        for (rule,), numbers in _lines(TABLE6, 1)
        for (dataset, attack, metric), number in zip(columns, numbers, strict=True)
    ]


def _table7() -> list[Cell]:
    return [
        Cell({"attack": attack, "root": root, "bias_type": bias, "dataset": dataset}, "baseline_correctness", number)
        for (attack, root, bias), numbers in _lines(TABLE7, 3)
        for dataset, number in zip(DATASETS, numbers, strict=True)
    ]


_TABLES = {
    "table1": _table1, "table2": _table2, "table3": _table3, "table4": _table4, "table6": _table6, "table7": _table7,
}  # fmt: skip
TABLES = tuple(_TABLES)


@cache
def cells(table: str) -> tuple[Cell, ...]:
    """Every printed number of one table."""
    if table not in _TABLES:
        raise InputError(f"no published table {table!r}: choose one of {', '.join(TABLES)}")
    return tuple(_TABLES[table]())


def published(table: str, metric: str, settings: Settings) -> Cell | None:
    """The printed number that fits the settings given; none where the paper has none, or where several fit."""
    fitting = [cell for cell in cells(table) if cell.metric == metric and _fits(cell, settings)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(cell: Cell, settings: Settings) -> bool:
    return all(key in settings and settings[key] == value for key, value in cell.where.items())
