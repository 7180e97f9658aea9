"""snarkjs' JSON forms of proofs, verifying keys and public inputs, so that a stranger's verifier can check them.

Numbers are decimal strings, points projective with z = 1; G2 coordinates are pairs [c_0, c_1].
"""

from collections.abc import Sequence

from martfl.settlement.sampled import curve
from martfl.settlement.sampled.curve import Point
from martfl.settlement.sampled.groth16 import Proof, VerifyingKey
from martfl.values import Json


def proof_to_json(proof: Proof) -> Json:
    """proof.json."""
    points = {"pi_a": _g1(proof.a), "pi_b": _g2(proof.b), "pi_c": _g1(proof.c)}
    return {**points, "protocol": "groth16", "curve": "bn128"}


def key_to_json(key: VerifyingKey) -> Json:
    """verification_key.json."""
    return {
        "protocol": "groth16",
        "curve": "bn128",
        "nPublic": len(key.ic) - 1,
        "vk_alpha_1": _g1(key.alpha_1),
        "vk_beta_2": _g2(key.beta_2),
        "vk_gamma_2": _g2(key.gamma_2),
        "vk_delta_2": _g2(key.delta_2),
        "IC": [_g1(point) for point in key.ic],
    }


def public_to_json(public_inputs: Sequence[int]) -> list[str]:
    """public.json."""
    return [str(x) for x in public_inputs]


def _g1(point: Point) -> list[str]:
    x, y = curve.coordinates(point, group=1)
    return [str(x), str(y), "1"]


def _g2(point: Point) -> list[list[str]]:
    x0, x1, y0, y1 = curve.coordinates(point, group=2)
    return [[str(x0), str(x1)], [str(y0), str(y1)], ["1", "0"]]
