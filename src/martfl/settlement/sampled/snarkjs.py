"""snarkjs' JSON forms of proofs, verifying keys and public inputs, so that a stranger's verifier can check them.

Numbers are decimal strings, points projective with z = 1; G2 coordinates are pairs [c_0, c_1].
"""

from collections.abc import Sequence
from typing import Any

from martfl.settlement.errors import PointError, SettlementError
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.curve import BASE_FIELD, Group, Point
from martfl.settlement.sampled.groth16 import Proof, VerifyingKey
from martfl.values import Json

_TWIST_B = (  # 3 / (9 + u), the constant of the curve that G2 lies on
    19485874751759354771024239261021720505790618469301721065564631296452457478373,
    266929791119991161246907387137283842545076965332900288569378510910307636690,
)


def proof_to_json(proof: Proof) -> Json:
    """proof.json."""
    points = {"pi_a": _g1(proof.a), "pi_b": _g2(proof.b), "pi_c": _g1(proof.c)}
    return {**points, "protocol": "groth16", "curve": "bn128"}


def proof_from_json(data: Json) -> Proof:
    """The inverse, for a foreign file: coordinates are checked before the library sees them."""
    _check_kind(data)
    return Proof(_read(data, "pi_a", group=1), _read(data, "pi_b", group=2), _read(data, "pi_c", group=1))


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


def key_from_json(data: Json) -> VerifyingKey:
    """The inverse of `key_to_json`."""
    _check_kind(data)
    points = data.get("IC")
    if not isinstance(points, list) or len(points) != data.get("nPublic", -1) + 1:
        raise SettlementError("IC has one point more than nPublic")
    ic = tuple(_point(p, name="IC", group=1) for p in points)
    beta, gamma, delta = (_read(data, name, group=2) for name in ("vk_beta_2", "vk_gamma_2", "vk_delta_2"))
    return VerifyingKey(_read(data, "vk_alpha_1", group=1), beta, gamma, delta, ic)


def public_to_json(public_inputs: Sequence[int]) -> list[str]:
    """public.json."""
    return [str(x) for x in public_inputs]


def _g1(point: Point) -> list[str]:
    x, y = curve.coordinates(point, group=1)
    return [str(x), str(y), "1"]


def _g2(point: Point) -> list[list[str]]:
    x0, x1, y0, y1 = curve.coordinates(point, group=2)
    return [[str(x0), str(x1)], [str(y0), str(y1)], ["1", "0"]]


def _check_kind(data: Json) -> None:
    kind = (data.get("protocol"), data.get("curve"))
    if kind != ("groth16", "bn128"):
        raise SettlementError(f"protocol groth16 on curve bn128, got {kind}")


def _read(data: Json, name: str, *, group: Group) -> Point:
    if name not in data:
        raise SettlementError(f"{name} is missing")
    return _point(data[name], name=name, group=group)


def _point(raw: Any, *, name: str, group: Group) -> Point:
    one = "1" if group == 1 else ["1", "0"]
    try:
        x, y, z = raw
        flat = [int(c) for c in ([x, y] if group == 1 else [*x, *y])]
    except (TypeError, ValueError):
        raise PointError(f"{name} is not a G{group} point in snarkjs' form: {raw!r}") from None
    if z != one or len(flat) != 2 * group or any(not 0 <= c < BASE_FIELD for c in flat) or not _on_curve(flat):
        raise PointError(f"{name} is not a point of G{group}")
    return _checked(flat, name=name, group=group)


def _checked(flat: list[int], *, name: str, group: Group) -> Point:
    """G1 has no other subgroup; in G2 the order is checked through the compressed form, which refuses politely."""
    if group == 1:
        return curve.from_coordinates(flat, group=1)
    x0, x1, y0, y1 = flat
    larger = (y1, y0) > (-y1 % BASE_FIELD, -y0 % BASE_FIELD)  # arkworks' sign flag
    data = bytearray(x0.to_bytes(32, "little") + x1.to_bytes(32, "little"))
    data[-1] |= 0x80 if larger else 0
    try:
        return curve.decompress(bytes(data), group=2)
    except PointError:
        raise PointError(f"{name} is not in the subgroup of G2") from None


def _on_curve(flat: list[int]) -> bool:
    p = BASE_FIELD
    if len(flat) == 2:
        x, y = flat
        return (y * y - x * x * x - 3) % p == 0
    first, second = (flat[0], flat[1]), (flat[2], flat[3])
    cube = _times(_times(first, first), first)
    square = _times(second, second)
    return all((s - c - b) % p == 0 for s, c, b in zip(square, cube, _TWIST_B, strict=True))


def _times(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (a[0] * b[0] - a[1] * b[1]) % BASE_FIELD, (a[0] * b[1] + a[1] * b[0]) % BASE_FIELD
