"""Pages of the repository, their fenced blocks, and the command lines that they show.

The words after a fence's language say how a block is meant, and are not seen by readers:

    ```sh                       typed in the page's folder
    ```sh until stopped         goes on until Ctrl-C
    ```sh buyer                 typed on a machine of docs/deploy.md: buyer, seller1, seller2, sellers, all
    ```toml buyer market.toml   a file on that machine; without a machine in the page's folder
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
MACHINES = {"buyer": ["buyer"], "seller1": ["seller1"], "seller2": ["seller2"], "sellers": ["seller1", "seller2"]}
MACHINES["all"] = ["buyer", "seller1", "seller2"]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
TYPED = re.compile(
    r"(?:[A-Z_]+=\S+ )?(?:martfl|make|python3?|pytest|pip|git|curl|export|node_modules/\S+|ExecStart=\S*martfl) .*"
)
RUN_LANGUAGES = ("sh", "python")


@dataclass(frozen=True)
class Block:
    """A fenced block, and the line of its page that it begins in."""

    line: int
    language: str
    text: str
    words: tuple[str, ...] = ()

    @property
    def machines(self) -> list[str]:
        """Where it is typed: machines of the deployment, or none."""
        return [machine for word in self.words for machine in MACHINES.get(word, [])]

    @property
    def goes_on(self) -> bool:
        """Whether it runs until it is stopped."""
        return "until" in self.words

    @property
    def file(self) -> str | None:
        """The file that this block is, if it is one."""
        return next((word for word in self.words if "." in word), None)

    def lines(self) -> list[str]:
        """Command lines, continued ones joined, comments and what is fed to a command left out."""
        text = re.sub(r"<<'(\w+)'(.*?)\n.*?^\1$", r"\2", self.text, flags=re.MULTILINE | re.DOTALL)
        joined = text.replace("\\\n", " ").splitlines()
        return [" ".join(re.sub(r"\s#\s.*", "", line).split()) for line in joined if line.strip()]


@dataclass(frozen=True)
class Page:
    """A Markdown page of the repository."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def blocks(self) -> list[Block]:
        return [
            Block(self.text.count("\n", 0, m.start()) + 1, m[1], m[3], tuple(m[2].split()))
            for m in FENCE.finditer(self.text)
        ]

    def prose(self) -> str:
        return FENCE.sub("", self.text)

    def run(self) -> list[Block]:
        """The blocks that tests run, or write."""
        return [block for block in self.blocks() if block.language in RUN_LANGUAGES or block.file]

    def shown(self) -> set[str]:
        """Every command line that stands in a block of any kind."""
        blocks = [block for block in self.blocks() if block.language in ("", "sh", "text", "ini")]
        blocks += [Block(0, "", re.sub("^ {4}", "", m[0], flags=re.MULTILINE)) for m in INDENTED.finditer(self.prose())]
        return {line for block in blocks for line in block.lines() if TYPED.fullmatch(line)}

    def named(self) -> set[str]:
        """Commands that are named within a sentence."""
        spans = (span.strip() for span in SPAN.findall(self.prose()))
        return {span for span in spans if re.match(r"(?:PYTHONPATH=src )?(?:martfl [a-z]|python -m|make [a-z])", span)}


def read_pages() -> list[Page]:
    """README, CONTRIBUTING and everything in docs and experiments."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "experiments" / "README.md"]
    return [Page(path, path.read_text(encoding="utf-8")) for path in sorted(paths)]


PAGES = read_pages()
