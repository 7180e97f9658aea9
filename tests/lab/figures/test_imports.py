"""The lab imports with numpy, scipy, scikit-learn, pillow and torch alone: matplotlib only when a figure is drawn."""

import subprocess
import sys

SCRIPT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"matplotlib", "typer", "rich", "web3", "tenseal", "flwr", "vyper", "gmpy2"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
import martfl.lab.rules, martfl.lab.paper, martfl.lab.tables, martfl.lab.figures, martfl.lab.render
from martfl.lab.figures import figure_spec
assert figure_spec({"kind": "bars", "metrics": ["mta"], "lines": "rule"}).kind == "bars"
"""


def test_rules_tables_and_figures_import_without_the_rest() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
