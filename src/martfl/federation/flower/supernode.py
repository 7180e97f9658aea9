"""`python -m martfl.federation.flower.supernode …`: Flower's SuperNode, tied to its parent."""


def main() -> None:
    """Start the SuperNode with the command line's options."""
    from martfl.federation.flower.private import run_supernode
    from martfl.federation.flower.processes import watch_parent

    watch_parent()
    run_supernode()


if __name__ == "__main__":
    main()
