"""A whole market in a folder, as a program of its own, for tests that kill it: `whole_market.py FOLDER EPOCHS`.

Started again on the same folder it goes on. It prints each step and waits for a line on its standard input before it
takes the next one; at its end it prints what came of it as JSON.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from whole import Market, Setting

from conftest import PLAIN


def announce(epoch: int, step: str, text: str) -> None:
    sys.stdout.write(f"{epoch} {step}\n")
    sys.stdout.flush()
    sys.stdin.readline()


def main() -> None:
    folder, epochs = Path(sys.argv[1]), int(sys.argv[2])
    market = Market(Setting(folder, providers=3, terms=PLAIN))
    market.acquirer.tell = announce
    market.run(epochs)
    ends = [market.outcome(epoch) for epoch in range(1, epochs + 1)]
    left = market.chain.balance(market.trading.address)
    sys.stdout.write(json.dumps({"ends": ends, "left": left}) + "\n")
    market.close()


if __name__ == "__main__":
    main()
