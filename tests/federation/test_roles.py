"""What the commands are made of: files, certificates, the gate, and the words they print."""

import asyncio
import ssl
import subprocess
import sys
import time
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from cryptography import x509
from typer.testing import CliRunner

from martfl.cli import acquirer, provider
from martfl.errors import InputError
from martfl.federation import compose
from martfl.federation.flower.apps import make_client_app
from martfl.federation.flower.certificates import make_certificates
from martfl.federation.flower.narrate import describe
from martfl.federation.flower.processes import Child, start_superlink
from martfl.federation.flower.records import route
from martfl.federation.flower.superlink import Gate
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.errors import JournalError, MarketError, TermsError
from martfl.market.steps import Appraised
from martfl.valuation import Appraisal, statement

TOML = 'name = "m"  # mine\n\n[chain]  # where\nprofile = "x"\n{}\n[task]\nentry = "a:b"\n'


@pytest.mark.parametrize("middle", ["", 'contract = "old"\n', '# a note\ncontract="old"\nsince = 3\n\n'])
def test_values_are_set_and_the_rest_stays(middle):
    text = compose.set_values(TOML.format(middle), "chain", {"contract": "0xab", "since": 7})
    read = tomllib.loads(text)
    assert read["chain"] == {"profile": "x", "contract": "0xab", "since": 7}
    assert read["task"] == {"entry": "a:b"}
    assert "# mine" in text and "# where" in text and ("# a note" in text) == ("# a note" in middle)


def test_a_missing_section_is_added():
    assert tomllib.loads(compose.set_values('name = "m"\n', "chain", {"since": 1}))["chain"] == {"since": 1}


def test_certificates_serve_the_named_hosts_and_this_machine(tmp_path):
    made = make_certificates(tmp_path, hosts=["market.example", "10.0.0.5"])
    names = x509.load_pem_x509_certificate(made.certificate.read_bytes()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == ["market.example", "localhost"]
    assert [str(ip) for ip in names.value.get_values_for_type(x509.IPAddress)] == ["10.0.0.5", "127.0.0.1"]
    assert made.key.stat().st_mode & 0o077 == 0
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made.certificate, made.key)  # the key is the certificate's
    with pytest.raises(InputError, match="exists already"):
        make_certificates(tmp_path, hosts=["other"])


@pytest.mark.parametrize(
    ("path", "client", "passed"),
    [
        ("/v1/fleet/pull-messages", "203.0.113.9", True),
        ("/health", "203.0.113.9", True),
        ("/v1/control/start-run", "203.0.113.9", False),
        ("/v1/runtime/acquire-task", "203.0.113.9", False),
        ("/v1/fleet", "203.0.113.9", False),
        ("/docs", "::ffff:203.0.113.9", False),
        ("/v1/control/start-run", "127.0.0.1", True),
        ("/v1/control/start-run", "::1", True),
        ("/v1/control/stop-run", "not an address", False),
    ],
)
def test_the_gate_keeps_control_and_runtime_for_this_machine(path, client, passed):
    sent = []

    async def app(scope, receive, send):
        sent.append("passed")

    async def send(event):
        sent.append(event.get("status"))

    asyncio.run(Gate(app)({"type": "http", "path": path, "client": (client, 1)}, None, send))
    assert (sent == ["passed"]) is passed
    assert passed or sent[0] == 403


def test_a_role_needs_a_contract_and_a_chain_that_all_can_reach(tmp_path, market, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, wallet = tmp_path / "market.toml", market().buyer
    file.write_text('name = "m"\n[task]\nentry = "tiny_task:task"\n')
    with (
        pytest.raises(TermsError, match="must name the market's contract"),
        compose.open_place(file, account=wallet, role="provider", folder=tmp_path / "role"),
    ):
        pass
    file.write_text(compose.set_values(file.read_text(), "chain", {"contract": "0x" + "11" * 20}))
    with (
        pytest.raises(InputError, match="a chain that all can reach"),
        compose.open_place(file, account=wallet, role="provider", folder=tmp_path / "role"),
    ):
        pass


def test_a_chain_on_which_nothing_counts_within_the_margin_is_not_traded_on(tmp_path, market):
    file, config, wallet = tmp_path / "market.toml", tmp_path / "martfl.toml", market().buyer
    deadlines = "[deadlines]\nmargin = 100\n"
    chain = f'[chain]\nprofile = "slow"\ncontract = "0x{"11" * 20}"\n'
    file.write_text(f'name = "m"\n[task]\nentry = "tiny_task:task"\n{deadlines}{chain}')
    config.write_text('[chains.slow]\nrpc = "http://127.0.0.1:1"\nchain_id = 1\nconfirmations = 10\nblock_time = 12\n')
    with (
        pytest.raises(InputError, match=r"\[chains.slow\] 10 confirmations, .* margin of 100 s, got 108 s"),
        compose.open_place(file, account=wallet, role="provider", folder=tmp_path / "role", config=config),
    ):
        pass


def test_a_market_runs_no_code_that_was_not_allowed(tmp_path, market):
    """A file from a stranger could name any function of any module."""
    place, file = market(providers=1), tmp_path / "market.toml"
    for entry in ("tiny_task:task", "subprocess:check_output", "martfl.lab.tasks:digits", "antigravity:x"):
        file.write_text(f'name = "m"\n[task]\nentry = "{entry}"\noptions = {{ args = "touch {tmp_path}/ran" }}\n')
        with pytest.raises(MarketError, match=f"must be allowed .* --allow-task {entry.partition(':')[0]}"):
            compose.deploy(file, chain=place.chain, account=place.buyer, allowed=["another"])
    assert "antigravity" not in sys.modules and not (tmp_path / "ran").exists()


def test_a_deployed_market_is_not_deployed_again(tmp_path, market):
    place = market(providers=1)
    file = tmp_path / "market.toml"
    file.write_text('name = "m"\n[task]\nentry = "tiny_task:task"\n[settlement]\nscale = 0.000244140625\n')
    trading = compose.deploy(file, chain=place.chain, account=place.buyer, allowed=["tiny_task"])
    assert trading.terms().terms_hash == compose.load_terms(file).hash
    assert (trading.address, trading.since) == (compose.load_terms(file).chain.contract, trading.deployment.block)
    with pytest.raises(InputError, match="names a contract already"):
        compose.deploy(file, chain=place.chain, account=place.buyer, allowed=["tiny_task"])


def test_two_processes_on_one_journal_are_refused(tmp_path, market):
    place = market(providers=1)
    with pytest.raises(JournalError, match="another process is using"):
        compose.Journal(place.journal.folder)


def test_a_child_that_cannot_start_says_why(tmp_path):
    made = make_certificates(tmp_path / "tls", hosts=["localhost"])
    made.key.write_text("not a key")
    with pytest.raises(MarketError, match="the SuperLink did not start"):
        start_superlink(folder=tmp_path / "link", host="127.0.0.1", port=1, certificates=made)


def test_a_child_ends_when_its_parent_is_killed(tmp_path):
    start = """if True:
        import sys, time
        from pathlib import Path
        from martfl.federation.flower.processes import start_supernode
        place = {"folder": Path(sys.argv[1]), "superlink": "localhost:1"}
        child, _ = start_supernode(**place, authority=None, insecure=True)
        print(child.process.pid, flush=True)
        time.sleep(60)
    """
    parent = subprocess.Popen([sys.executable, "-c", start, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    child = Path(f"/proc/{int(parent.stdout.readline())}")
    assert child.exists()
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 120
    while child.exists() and "State:\tZ" not in (child / "status").read_text():
        assert time.monotonic() < deadline, "the SuperNode outlived its parent"
        time.sleep(0.1)


def test_output_of_a_child_is_kept(tmp_path):
    child = Child("this", [], folder=tmp_path)
    child.process.wait(120)
    child.stop()
    assert "The Zen of Python" in child.log.read_text()


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (ms.Committed(epoch=3, digest="ab", signature="cd"), "sealed the update, signed a commitment"),
        (ms.Offered(epoch=3, root="", key_hash="", ask=str(10**16)), "0.0100 ETH for the update"),
        (ms.KeyAnswer(epoch=3, body=b"x"), "gave the key"),
        (ms.FileVerdict(epoch=3, accepted=False, reason="another"), "NOT the one on chain: another"),
        (ms.ClaimPaid(epoch=3, amount=str(3 * 10**17)), "it paid 0.3000 ETH"),
        (ms.Refusal(epoch=3, reason="not open"), "refused a request: not open"),
    ],
    ids=lambda value: value.kind if isinstance(value, ms.Message) else "",
)
def test_a_provider_says_what_it_did(market, reply, word):
    place = market(providers=1)
    packed = wire.encode(reply, market=place.name, account=place.providers[0].account)
    said = describe(packed, market=place.name)
    assert said.startswith("epoch 3: ") and word in said


def test_at_the_end_a_provider_says_what_its_update_added(market):
    place = market(providers=1)
    packed = wire.encode(ms.ClaimPaid(epoch=3, amount="1"), market=place.name, account=place.providers[0].account)
    value = Appraisal(added=0.039, error=0.005, share=0.121, low=0.045, high=0.329, clarity=0.7)
    told = {3: Appraised(weight=0.124, value=value)}
    said = describe(packed, market=place.name, told=told.get)
    assert said.startswith("epoch 3: over; it paid") and said.endswith(statement(value, weight=0.124))


def test_every_request_has_a_route_and_words(market):
    """One table of messages serves link, apps and words: none of them has a list of its own."""
    place = market(providers=1)
    app = make_client_app(lambda request, context: request)
    assert set(app._registered_funcs) == {route(kind) for kind in ms.REQUESTS}
    blank = {int: 1, str: "1", bool: True, bytes: b""}
    for kind in ms.ANSWERS.values():
        message = kind(**{field.name: blank[field.type] for field in fields(kind)})
        packed = wire.encode(message, market=place.name, account=place.buyer)
        assert "answered (" not in describe(packed, market=place.name)


def test_no_command_takes_a_password(tmp_path):
    for app in (acquirer.app, provider.app):
        for command in app.registered_commands:
            shown = CliRunner().invoke(app, [command.name or command.callback.__name__, "--help"]).stdout
            assert "--password " not in shown


def test_the_acquirer_says_how_it_is_protected(tmp_path):
    file = tmp_path / "market.toml"
    file.write_text('name = "m"\n[task]\nentry = "tiny_task:task"\n')
    result = CliRunner().invoke(acquirer.app, ["run", str(file), "--keystore", "x", "--data", "y"])
    assert isinstance(result.exception, InputError) and "either --tls FOLDER" in str(result.exception)
