"""Who is paid what: markets of sellers that differ, split, copy and cheat, and every way to pay beside the others."""
