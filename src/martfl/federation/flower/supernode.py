"""`python -m martfl.federation.flower.supernode …`: Flower's SuperNode, tied to its parent."""


def main() -> None:
    """Start the SuperNode with the command line's options."""
    from flwr.supernode.cli import flower_supernode

    from martfl.federation.flower.processes import watch_parent

    watch_parent()
    flower_supernode()


if __name__ == "__main__":
    main()
