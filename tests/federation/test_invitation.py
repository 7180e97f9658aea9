"""One file from a buyer to its sellers: terms as they are, where to join, whom to trust."""

import dataclasses

import pytest

from martfl.errors import InputError
from martfl.federation.flower.certificates import authority_for, make_certificates
from martfl.federation.invitation import Invitation, host_and_port, read_invitation, require_chain, write_invitation
from martfl.market.terms import load_terms

TERMS = """# chosen with care
name = "digits"

[task]
entry = "martfl.lab.task:digits"

[chain]
profile = "ours"
contract = "0x1111111111111111111111111111111111111111"
"""


@pytest.fixture
def market(tmp_path):
    file = tmp_path / "market.toml"
    file.write_text(TERMS)
    return file


@pytest.fixture
def tls(tmp_path):
    make_certificates(tmp_path / "tls", hosts=["buyer.example"])
    return tmp_path / "tls"


def test_an_invitation_is_the_terms_and_says_where(market, tls, tmp_path):
    out, authority = tmp_path / "invitation.toml", authority_for(tls, host="buyer.example")
    given = Invitation(superlink="buyer.example:9092", chain_id=31337, authority=authority)
    write_invitation(market, out, given)
    found = read_invitation(out)
    assert found == dataclasses.replace(given, authority=found.authority)
    assert found.authority.strip() == authority.strip()
    assert load_terms(out) == load_terms(market)  # so it can be used wherever the terms can
    assert "# chosen with care" in out.read_text()
    assert "PRIVATE" not in out.read_text()


def test_terms_are_no_invitation(market):
    assert read_invitation(market) is None


def test_what_is_not_deployed_is_not_handed_out(market, tmp_path):
    market.write_text(TERMS.replace("contract =", "# contract ="))
    with pytest.raises(InputError, match="run `martfl acquirer deploy"):
        write_invitation(market, tmp_path / "out.toml", Invitation(superlink="a:1", chain_id=1))
    assert not (tmp_path / "out.toml").exists()


def test_an_invitation_is_not_written_into_another(market, tmp_path):
    out = tmp_path / "invitation.toml"
    write_invitation(market, out, Invitation(superlink="a:1", chain_id=1, insecure=True))
    with pytest.raises(InputError, match="is an invitation already"):
        write_invitation(out, tmp_path / "again.toml", Invitation(superlink="a:1", chain_id=1))


def test_a_certificate_for_another_name_is_noticed(tls):
    with pytest.raises(InputError, match=r"is for buyer\.example, localhost, 127\.0\.0\.1, not for 'seller\.example'"):
        authority_for(tls, host="seller.example")


@pytest.mark.parametrize("place", ["buyer.example", "buyer.example:0", "buyer.example:70000", "http://a:1", ":1", 7])
def test_a_place_is_host_and_port(place):
    with pytest.raises(InputError, match="must be host:port"):
        host_and_port(place)


def test_addresses_of_both_kinds_are_places():
    assert host_and_port("10.0.0.1:9092") == ("10.0.0.1", 9092)
    assert host_and_port("[fe80::1]:9092") == ("fe80::1", 9092)


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"chain_id": 0}, "chain_id must be a positive number, got 0"),
        ({"authority": "trust me"}, "must be a certificate in PEM"),
        ({"authority": "BEGIN CERTIFICATE BEGIN PRIVATE KEY"}, "holds a private key"),
        ({"authority": "BEGIN CERTIFICATE", "insecure": True}, "not both"),
        ({"insecure": "yes"}, "true or false"),
    ],
)
def test_a_bad_invitation_names_the_rule(more, rule):
    with pytest.raises(InputError, match=rule):
        Invitation(**({"superlink": "a:1", "chain_id": 1} | more))


@pytest.mark.parametrize("table", ["superlink = 'a:1'", "superlink = 'a:1'\nchain_id = 1\nrun = 'code'"])
def test_unknown_and_missing_entries_are_refused(market, table):
    market.write_text(f"{TERMS}\n[invitation]\n{table}\n")
    with pytest.raises(InputError, match="must have superlink and chain_id"):
        read_invitation(market)


def test_a_seller_hears_which_chain_to_name(tmp_path):
    given, config = Invitation(superlink="a:1", chain_id=31337), tmp_path / "martfl.toml"
    config.write_text("")
    with pytest.raises(InputError, match=r"\[chains\.ours\] with rpc = .* and chain_id = 31337"):
        require_chain(given, profile="ours", config=config)
    config.write_text('[chains.ours]\nrpc = "http://localhost:1"\nchain_id = 5\n')
    with pytest.raises(InputError, match=r"is for chain 31337, and .* is chain 5"):
        require_chain(given, profile="ours", config=config)
    config.write_text('[chains.ours]\nrpc = "http://localhost:1"\nchain_id = 31337\n')
    require_chain(given, profile="ours", config=config)
