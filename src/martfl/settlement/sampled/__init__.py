"""Settlement by sampling and Groth16, as in the paper (§5.1)."""
