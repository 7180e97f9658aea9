# pragma version 0.4.3
"""
@title Who is paid: each party once for each epoch, after the epoch is final.
"""

import ledger
import payments
import register
import signatures
from interfaces import ITrading

uses: register


@external
def claim_reward(epoch: uint256):
    """
    @notice Take what a final epoch owes the caller, once: a provider's price and bonus, or the acquirer's refund.
    @dev Whatever the receiver calls, what it claims here is booked before it is paid.
    @param epoch The epoch.
    """
    book: uint256 = register.books[epoch]
    tally: uint256 = register.tallies[epoch]
    phase: ledger.Phase = register._final(book, tally)
    amount: uint256 = 0
    if msg.sender == register.ACQUIRER:
        amount = ledger.refund(book, tally, register.RATIO, phase)
        register._keep_tally(epoch, tally | ledger.REFUNDED)
        log ITrading.Refunded(epoch=epoch, amount=amount)
    else:
        record: uint256 = register.records[epoch][msg.sender]
        amount = ledger.owed(record, book, register.RATIO, phase)
        register._keep_record(epoch, msg.sender, ledger.with_state(record, ledger.State.CLAIMED))
        log ITrading.Claimed(epoch=epoch, provider=msg.sender, receiver=msg.sender, amount=amount)
    assert amount > 0, "trading: nothing to claim"
    payments.pay(register.TOKEN, msg.sender, amount)


@external
@nonreentrant
def claim_rewards(epoch: uint256, payees: DynArray[ITrading.Payee, ledger.MAX]):
    """
    @notice Have providers paid, each at its own address, or where it signed to be paid. Who is owed nothing, did not sign,
            or cannot be paid is skipped, and may be claimed for again.
    @param epoch The epoch.
    @param payees Provider, receiver, and where they differ the provider's signature of Claim(epoch, provider, receiver).
    """
    book: uint256 = register.books[epoch]
    phase: ledger.Phase = register._final(book, register.tallies[epoch])
    domain: bytes32 = signatures.domain()
    for payee: ITrading.Payee in payees:
        record: uint256 = register.records[epoch][payee.provider]
        amount: uint256 = ledger.owed(record, book, register.RATIO, phase)
        if amount == 0:
            continue
        if payee.receiver != payee.provider:
            content: bytes32 = keccak256(abi_encode(signatures.CLAIM_TYPE, epoch, payee.provider, payee.receiver))
            if not signatures.signed(domain, content, payee.provider, payee.signature):
                continue
        register._keep_record(epoch, payee.provider, ledger.with_state(record, ledger.State.CLAIMED))
        if payments.try_to_pay(register.TOKEN, payee.receiver, amount):
            log ITrading.Claimed(epoch=epoch, provider=payee.provider, receiver=payee.receiver, amount=amount)
        else:
            register._keep_record(epoch, payee.provider, record)
