"""`martfl doctor` finds what is wrong before money is at stake, and says what to do."""

import json
import re
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from martfl import extras
from martfl.cli import app
from martfl.doctor import network
from martfl.doctor.machine import machine
from martfl.federation.flower.certificates import make_certificates
from martfl.federation.invitation import Invitation

ANVIL = Path(__file__).parents[2] / "node_modules" / ".bin" / "anvil"
TERMS = '[task]\nentry = "martfl.lab.task:digits"\n[chain]\nprofile = "ours"\n'


def doctor(*words):
    """Exit code, and findings by what was looked at."""
    done = CliRunner().invoke(app, ["doctor", *map(str, words), "--json"], catch_exceptions=False)
    return done.exit_code, {one["what"]: one for one in json.loads(done.stdout)}


def test_a_machine_that_runs_the_tests_is_well(tmp_path, monkeypatch):
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path))
    code, found = doctor()
    assert code == 0 and found["Python"]["verdict"] == "ok"
    assert found["libraries, lab"]["found"] == "installed"


def test_every_trouble_has_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(extras.EXTRA_OF, "no_such_library", "provider")
    found = {one.what: one for one in machine(folder=tmp_path, cache=tmp_path)}
    sick = found["libraries, provider"]
    assert (sick.verdict, sick.found) == ("warn", "not installed: no_such_library")
    assert sick.remedy == "to sell: pip install 'martfl[provider]'"


def test_people_read_lines_with_arrows(tmp_path):
    done = CliRunner().invoke(app, ["doctor", "--tls", str(tmp_path)])
    assert done.exit_code == 1
    assert re.search(r"^FAIL TLS .*\n(.*\n)* +→ make new ones: martfl acquirer certificate", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1].endswith(" 1 failed")


# --- the network -----------------------------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_found():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        number = other.getsockname()[1]
        assert network.port("127.0.0.1", number).verdict == "fail"
    assert network.port("127.0.0.1", number).verdict == "ok"


def test_certificates_are_looked_at(tmp_path):
    made = make_certificates(tmp_path / "tls", hosts=["buyer.example"])
    assert [one.verdict for one in network.certificates(tmp_path / "tls")] == ["ok", "ok"]
    made.key.chmod(0o644)
    assert [one.verdict for one in network.certificates(tmp_path / "tls")] == ["ok", "fail"]
    make_certificates(tmp_path / "old", hosts=["buyer.example"], days=3)
    assert next(network.certificates(tmp_path / "old")).verdict == "warn"


@pytest.fixture
def buyer(tmp_path):
    """A machine that answers TLS for localhost; its place, and its authority."""
    made = make_certificates(tmp_path / "tls", hosts=["localhost"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                    context.wrap_socket(connection, server_side=True).close()
                except ssl.SSLError:
                    continue
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield f"localhost:{listening.getsockname()[1]}", made.authority.read_text()


def test_the_buyer_is_reached_as_a_seller_would(buyer, tmp_path):
    place, authority = buyer
    answer = network.reach(Invitation(superlink=place, chain_id=1, authority=authority))
    assert answer.verdict == "ok" and "proves who it is" in answer.found
    other = make_certificates(tmp_path / "other", hosts=["localhost"]).authority.read_text()
    refused = network.reach(Invitation(superlink=place, chain_id=1, authority=other))
    assert refused.verdict == "fail" and "new invitation" in refused.remedy


def test_a_buyer_that_is_away_is_no_failure():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        away = network.reach(Invitation(superlink=f"127.0.0.1:{probe.getsockname()[1]}", chain_id=1, insecure=True))
    assert away.verdict == "warn" and "You may join and wait" in away.remedy


# --- the chain -------------------------------------------------------------------------------------------------------


@pytest.fixture
def node(request):
    """`node("prague")`: the URL of an anvil under these rules."""
    if not ANVIL.exists():
        pytest.skip("anvil is not installed (npm install)")
    running = []

    def start(rules):
        command = [str(ANVIL), "--port", "0", "--hardfork", rules, "--accounts", "1"]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        for line in running[-1].stdout:
            if found := re.search(r"Listening on (127\.0\.0\.1:\d+)", line):
                return f"http://{found[1]}"
        raise RuntimeError("anvil did not start")

    yield start
    for process in running:
        process.kill()
        process.wait()


def site(folder, url, chain_id=31337):
    (folder / "martfl.toml").write_text(f'[chains.ours]\nrpc = "{url}"\nchain_id = {chain_id}\n')
    (folder / "market.toml").write_text(f'name = "looked at"\n{TERMS}')
    return folder / "market.toml", "--config", folder / "martfl.toml"


@pytest.mark.anvil
def test_a_good_chain_and_an_empty_wallet(tmp_path, node):
    code, found = doctor(*site(tmp_path, node("prague")), "--keystore", "0x" + "11" * 20)
    assert {found[what]["verdict"] for what in ("chain", "rules of the chain", "clock")} == {"ok"}
    assert found["balance"]["verdict"] == "warn" and "ETH more" in found["balance"]["remedy"]
    assert code == 0


@pytest.mark.anvil
def test_old_rules_and_a_wrong_id_are_found(tmp_path, node):
    url = node("cancun")
    code, found = doctor(*site(tmp_path, url))
    assert code == 1 and "older than Prague" in found["rules of the chain"]["found"]
    code, found = doctor(*site(tmp_path, url, chain_id=5))
    assert code == 1 and "serves chain 31337, expected 5" in found["chain"]["found"]


def test_a_chain_that_nobody_named(tmp_path):
    (tmp_path / "empty.toml").write_text("")
    code, found = doctor("--chain", "ours", "--config", tmp_path / "empty.toml")
    assert code == 1 and "write a table [chains.ours]" in found["chain"]["remedy"]


def test_the_embedded_chain_is_well():
    code, found = doctor("--chain", "local")
    assert code == 0 and "Prague" in found["rules of the chain"]["found"]
