"""What a test types besides what a page shows: options that make it small, and places of its own.

A command takes the last of two values for an option, so these are put behind what the page says. `$NAME` comes from
the terminal's environment. What no test can do stands in `EXEMPT`, with its reason.
"""

import os
import re
import shlex

LAB = r"(martfl lab|python -m martfl\.lab)"
# On noise in the datasets' own formats, for one rule; published results stay as they are.
TINY = "--device cpu --jobs 1 --rounds 1 --seeds 0 --out runs --set participants=4 --set root_rows=20"
TINY_RUN = f"{TINY} --only rule=fltrust"
ONE_DATASET = "--only dataset=trec"
SMALLER = {  # the whole command line → what is put behind it; the first that matches
    r"martfl demo": "--providers 2 --epochs 1 --malicious 0 --attack none --out runs/demo",
    r"martfl demo --task hospitals .*": "--epochs 1",
    r"martfl bench selection": "--providers 30",
    r"martfl bench scoring .*": "--parameters 8192 --repeats 1",
    r"martfl bench scoring-privacy .*": "--parameters 16384 --sketch 4096 --epochs 6",
    r"martfl bench settlement .*": "--parameters 240 --providers 3 --samples 4",
    r"martfl ceremony start .*": "--providers 1 --samples 1",
    r"martfl bench payment .*": "--rounds 2 --seeds 1 --participants 8 --groups 0 --figure runs/payment.png",
    r"martfl bench valuation .*": "--datasets digits --rounds 2 --participants 8",
    r"martfl bench separation .*": "--datasets digits --cases backdoor --seeds 20,21 --epochs 1",
    r"python -m martfl\.bench\.payment_markets .*": "--datasets digits --seeds 11 --rounds 2 --seconds 0",
    r"martfl bench gas .*": "--providers 3 --samples 4",
    r"martfl bench market .*--parameters .*": "--parameters 20000 --providers 2",
    r"martfl bench market .*": "--providers 2",
    r"martfl bench lab .*": "--device cpu --datasets digits --rounds 1 --repeats 1",
    r"python -m martfl\.lab bench .*": "--device cpu --datasets digits --rounds 1",
    r"martfl lab plan .* --run .*": "--device cpu --jobs 1 --seconds 0",
    rf"{LAB} run \S+biased\S+ --data DATA --device cuda --seeds 0,1,2": f"{TINY_RUN} --only biased=0.2 {ONE_DATASET}",
    rf"{LAB} run experiments/\S*biased\S* .*": f"{TINY_RUN} --only biased=0.2",
    rf"{LAB} run experiments/quantisation.*": f"{TINY} {ONE_DATASET}",
    rf"{LAB} run experiments/selection-budget.*": f"{TINY} --only rule=oracle --only root=biased",
    rf"{LAB} run experiments/selection-poisoned-root.*": f"{TINY_RUN} --only attack=none --only root_poisoned=0.1",
    rf"{LAB} run experiments/selection-strong.*": f"{TINY_RUN} --only malicious=0.2",
    rf"{LAB} run experiments/selection-noniid.*": TINY_RUN,
    rf"{LAB} run experiments/sketch.*": f"{TINY} --only attack=sybil {ONE_DATASET}",
    rf"{LAB} run experiments/.* --only rule=.*": f"{TINY} --only malicious=0.3",
    rf"{LAB} run experiments/.*": f"{TINY_RUN} --only malicious=0.3",
    r"martfl lab run --rule .*": "--rounds 1",
    r"martfl dashboard .*": "--port $PAGE_PORT",
    r"martfl acquirer run .*": "--host 127.0.0.1 --port $LINK_PORT",
    r"anvil .*": "--port $NODE_PORT",
}
EXEMPT = {  # the beginning of a command line → why no test types it
    "git clone": "the checkout under test is the clone",
    "python3 -m venv": "installs from the network; what it installs is what runs the tests",
    "make test": "is the run of all tests",
    "make tools": "installs system packages",
    "make wheel": "tests/cli/test_extras.py runs what it runs",
    "make docs": "tests/docs/test_site.py runs what it runs",
    "make long": "is the run of the long tests",
    "make lock": "asks the public registry; tests/docs/test_lock.py reads what it wrote",
    "make check": "the same by its other name",
    "make lint": "a part of it",
    "pytest": "the same for some tests",
    "pip install": "installs from the network; what it installs is what runs the tests",
    "python -m martfl.lab.adapters": "needs a language model; tests/tasks/test_adapter_runs.py has a small one",
    "martfl bench adapters": "needs a language model; tests/tasks/test_adapter_bench.py has a small one",
    "PYTHONPATH=src python -m martfl.lab run": "is martfl lab run by its other name",
    "martfl demo --task lora": "needs a language model; tests/tasks/test_lora_market.py runs it with a small one",
    "martfl lab run experiments/untargeted.toml --ray": "needs a cluster, which tests/lab/cluster starts",
}


def is_exempt(line: str) -> bool:
    """Whether tests leave this line out."""
    return line.startswith(tuple(EXEMPT))


def shrink(command: list[str]) -> list[str]:
    """The command with what makes it small."""
    line = shlex.join(command)
    extra = next((more for pattern, more in SMALLER.items() if re.fullmatch(pattern, line)), "")
    return [*command, *os.path.expandvars(extra).split()]
