"""Draw the rooms of the package from its imports: prints the diagram of docs/architecture.md."""

import sys
from pathlib import Path

from grimp import build_graph

SOURCES = Path(__file__).parents[1] / "src" / "martfl"
ROOMS = sorted(path.name for path in SOURCES.iterdir() if (path / "__init__.py").exists())


def arrows() -> list[tuple[str, str]]:
    """(room, room that it imports from), without those that follow from others."""
    graph = build_graph("martfl", cache_dir=None)
    found = {
        (room, other)
        for room in ROOMS
        for other in ROOMS
        if room != other
        and graph.direct_import_exists(importer=f"martfl.{room}", imported=f"martfl.{other}", as_packages=True)
    }
    return sorted(arrow for arrow in found if not _follows(arrow, found))


def _follows(arrow: tuple[str, str], found: set[tuple[str, str]]) -> bool:
    start, end = arrow
    reached, ways = set(), [other for room, other in found if room == start and other != end]
    while ways:
        room = ways.pop()
        if room not in reached:
            reached.add(room)
            ways += [other for one, other in found if one == room]
    return end in reached


def diagram() -> str:
    """A Mermaid flow chart, top room first."""
    return "\n".join(["flowchart TD", *(f"    {room} --> {other}" for room, other in arrows())])


if __name__ == "__main__":
    sys.stdout.write(diagram() + "\n")
