"""`python -m martfl`."""

from martfl.cli import main

main()
