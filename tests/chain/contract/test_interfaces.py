"""The interfaces say what the contracts do, no more and no less; the sources keep the rules that keep them readable."""

import re

import pytest
from vyper.compiler import compile_from_file_input
from vyper.compiler.input_bundle import FilesystemInputBundle

from martfl.chain.compile import MAX_CODE_BYTES, SOURCES, compiled

PROMISES = {
    "exact": ("ITrading", "IExact"),
    "sampled": ("ITrading", "ISampled"),
    "prover": ("IProver",),
    "judge": ("IJudge",),
}
FILES = sorted(SOURCES.glob("*.vy"))
INTERFACES = sorted((SOURCES / "interfaces").glob("*.vyi"))


def entries(abi) -> dict[tuple[str, str], dict]:
    return {(entry["type"], entry["name"]): entry for entry in abi if entry["type"] in ("function", "event")}


def interface(name: str) -> dict[tuple[str, str], dict]:
    bundle = FilesystemInputBundle([SOURCES])
    file = bundle.load_file(SOURCES / "interfaces" / f"{name}.vyi")
    return entries(compile_from_file_input(file, input_bundle=bundle, output_formats=["abi"])["abi"])


@pytest.mark.parametrize("contract", PROMISES)
def test_interfaces_are_what_the_compiler_derives(contract):
    promised = {key: entry for name in PROMISES[contract] for key, entry in interface(name).items()}
    kept = entries(compiled(contract).abi)
    assert set(promised) == set(kept)
    assert promised == kept


def test_every_interface_is_implemented_and_checked_by_the_compiler():
    assert {file.stem for file in INTERFACES} == {name for names in PROMISES.values() for name in names}
    for contract, names in PROMISES.items():
        text = (SOURCES / f"{contract}.vy").read_text()
        for name in names:
            assert f"implements: {name}\n" in text


def test_no_contract_describes_another_in_its_own_words():
    for file in FILES:
        assert not re.search(r"^interface ", file.read_text(), re.M), file.name


def functions(text: str) -> list[tuple[str, str, str]]:
    """(decorators, signature, body) of every function."""
    found = re.findall(r"((?:^@\w+\n)+)(def \w+\((?:.|\n)*?\)(?: -> [^\n]+)?:\n)((?:(?:    [^\n]*)?\n)*)", text, re.M)
    return [(decorators, signature, body) for decorators, signature, body in found]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_external_function_is_documented(file):
    for decorators, signature, body in functions(file.read_text()):
        if "@external" not in decorators:
            continue
        notes = re.match(r'\s*"""((?:.|\n)*?)"""', body)
        assert notes, f"{signature} has no notes"
        arguments = re.findall(r"(\w+):", signature.split("(", 1)[1].rsplit(")", 1)[0])
        assert re.findall(r"@param (\w+)", notes[1]) == arguments, signature
        assert ("@return" in notes[1]) == (" -> " in signature), signature
        assert "@notice" in notes[1]


def test_functions_are_found():
    names = {
        file.stem: sum("@external" in decorators for decorators, _, _ in functions(file.read_text())) for file in FILES
    }
    assert {name: count for name, count in names.items() if count} == {
        "claims": 2,
        "exact": 4,
        "exchange": 7,
        "judge": 1,
        "prover": 9,
        "register": 4,
        "sampled": 8,
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_unchecked_operation_has_its_bound_beside_it(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if "unsafe_" in line.split("#")[0]:
            assert "#" in line, f"{file.name}:{number}: {line.strip()}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_module_writes_anothers_storage(file):
    modules = "|".join(other.stem for other in FILES)
    for number, line in enumerate(file.read_text().splitlines(), 1):
        code = line.split("#")[0]
        wrote = re.match(rf"\s*({modules})\.\w+(\[[^=]*\])*(\.\w+)*\s*([-+*|&^%]|//|<<|>>)?=(?!=)", code)
        assert not wrote, f"{file.name}:{number}: {line.strip()}"


@pytest.mark.parametrize("file", [*FILES, *INTERFACES], ids=lambda file: file.stem)
def test_sources_are_short(file):
    lines = file.read_text().splitlines()
    assert len(lines) <= 350
    assert max(map(len, lines)) <= 132 or file.stem in ("leaves", "vdf")  # constants of 128 and 256 bytes


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_precompile_is_given_a_fixed_amount_of_gas(file):
    calls = re.findall(r"raw_call\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", file.read_text())
    for call in calls:
        target = re.match(r"raw_call\(\s*([\w.]+)", call)[1]
        assert "gas=" not in call or target in ("to", "token"), call


@pytest.mark.parametrize("name", PROMISES)
def test_code_fits_with_its_immutables(name):
    assert len(compiled(name).runtime) + 32 * 28 <= MAX_CODE_BYTES
