"""`python -m martfl.federation.flower.supernode …`: Flower's SuperNode, tied to its parent."""


def main() -> None:
    """Start the SuperNode with the command line's options."""
    from flwr.supercore.app_utils import start_parent_process_monitor
    from flwr.supernode.cli import flower_supernode

    from martfl.federation.flower.processes import watch_parent

    watch_parent(start_parent_process_monitor)
    flower_supernode()


if __name__ == "__main__":
    main()
