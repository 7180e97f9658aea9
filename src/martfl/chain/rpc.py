"""Any Ethereum node that speaks JSON-RPC over HTTP.

A step is signed, written to the store, and only then sent. It counts when its block is `confirmations` deep. Until then
it is looked for again and again: sent once more when the node has lost it (a restart, a re-organisation), signed anew
with the same nonce and a higher fee when it is stuck. What was sent under a key is found under it after a restart.
"""

import logging
import threading
import time
from pathlib import Path

from eth_account.signers.local import LocalAccount
from eth_typing import BlockNumber
from eth_utils.address import to_checksum_address
from hexbytes import HexBytes
from web3 import Web3
from web3.exceptions import ContractLogicError, TransactionIndexingInProgress, TransactionNotFound, Web3RPCError
from web3.types import BlockIdentifier, TxParams, TxReceipt

from martfl.amounts import GWEI
from martfl.chain.network import (
    NO_REASON,
    Chain,
    ChainError,
    Receipt,
    RevertedError,
    UnsignedCall,
    receipt_of,
    revert_text,
)
from martfl.chain.pending import Attempt, Fees, PendingStore, PendingTransaction
from martfl.chain.transport import HttpTransport
from martfl.errors import InputError
from martfl.values import Json

log = logging.getLogger(__name__)

SEARCH_DEPTH = 128  # blocks that are searched for a stranger's transaction with our nonce
HARMLESS = ("already known", "already imported", "known transaction", "nonce too low", "underpriced")


class RpcChain(Chain):
    """A chain behind a URL. `fee_cap` is in wei for a unit of gas; all times are in seconds.

    Examples:
        >>> chain = RpcChain('https://node.example/secret', chain_id=11155111, confirmations=3)
        >>> chain
        RpcChain(host='node.example', chain_id=11155111)
        >>> chain.close()
    """

    def __init__(
        self,
        url: str,
        *,
        chain_id: int,
        fee_cap: int = 200 * GWEI,
        confirmations: int = 1,
        store: Path | None = None,
        timeout: float = 600.0,
        patience: float = 60.0,
        poll: float = 1.0,
        resend: float = 10.0,
        raise_after: float = 60.0,
    ) -> None:
        if confirmations < 1:
            raise InputError(f"confirmations must be at least 1, got {confirmations}")
        if fee_cap < 1:
            raise InputError(f"fee_cap must be at least 1 wei, got {fee_cap}")
        self.chain_id, self.fee_cap, self.confirmations = chain_id, fee_cap, confirmations
        self.timeout, self.poll, self.resend, self.raise_after = timeout, poll, resend, raise_after
        self._transport = HttpTransport(url, patience=patience)
        self.web3 = Web3(self._transport)
        self._pending = PendingStore(store, chain_id=chain_id)
        self._lock = threading.RLock()
        self._checked = False

    def __repr__(self) -> str:
        return f"RpcChain(host={self._transport.host!r}, chain_id={self.chain_id})"

    def close(self) -> None:
        self._pending.close()

    def check(self) -> None:
        """Refuse a node that serves another chain than the one that was asked for."""
        if not self._checked:
            served = self.web3.eth.chain_id
            if served != self.chain_id:
                raise ChainError(f"node {self._transport.host} serves chain {served}, expected {self.chain_id}")
            self._checked = True

    def next_second(self) -> int:
        """By our own clock where it is ahead of the node: one that lags, or has no new blocks, hides how late it is."""
        return max(self.now() + 1, int(time.time()))

    def deep_block(self) -> BlockIdentifier:
        """As deep as a transaction of our own must be before it counts."""
        return BlockNumber(max(0, self.web3.eth.block_number - self.confirmations + 1))

    def fees(self) -> Fees:
        """EIP-1559: room for the base fee to double before the step is included, within the cap."""
        base = int(self.web3.eth.get_block("latest").get("baseFeePerGas", 0))
        if base > self.fee_cap:
            raise ChainError(f"the network asks {base} wei for a unit of gas, the cap is {self.fee_cap}")
        tip = int(self.web3.eth.max_priority_fee)
        max_fee = min(2 * base + tip, self.fee_cap)
        return Fees(max_fee=max_fee, tip=min(tip, max_fee))

    def _send(self, call: UnsignedCall, *, account: LocalAccount, key: str | None) -> Receipt:
        self.check()
        with self._lock:
            known = None if key is None else self._pending.find(sender=account.address, key=key)
            entry = known or self._submit(call, account, key)
        return self._settle(entry, account, fresh=known is None)

    def _submit(self, call: UnsignedCall, account: LocalAccount, key: str | None) -> PendingTransaction:
        """Give the step a nonce and a fee, write it down, send it."""
        gas, fees = self._estimate(call, account.address), self.fees()
        for earlier in self._pending.open(sender=account.address):  # a lost one would block every nonce after it
            self._broadcast(earlier)
        nonce = self._next_nonce(account.address)
        draft = PendingTransaction(id=0, sender=account.address, nonce=nonce, key=key, call=call, gas=gas)
        entry = self._pending.add(draft, self._sign(draft, account, fees))
        refusal = self._broadcast(entry)
        if refusal is not None:  # the next step takes the same nonce, so this one can never come back
            self._pending.forget(entry)
            raise ChainError(f"node {self._transport.host} refused the transaction: {refusal}")
        return entry

    def _estimate(self, call: UnsignedCall, sender: str) -> int:
        """The gas to allow: a fifth above the estimate. A step that would revert is refused here, free of charge."""
        try:
            estimate = self.web3.eth.estimate_gas({**call.params(), "from": to_checksum_address(sender)})
        except ContractLogicError as error:
            raise RevertedError(_reason(error)) from error
        except Web3RPCError as error:
            raise ChainError(f"node {self._transport.host} refused the transaction: {_message(error)}") from error
        limit = int(self.web3.eth.get_block("latest")["gasLimit"])
        return min(estimate + estimate // 5, limit)

    def _next_nonce(self, sender: str) -> int:
        """One above everything that the node, or we, know about."""
        ours = [entry.nonce + 1 for entry in self._pending.open(sender=sender)]
        theirs = self.web3.eth.get_transaction_count(to_checksum_address(sender), "pending")
        return max([int(theirs), *ours])

    def _sign(self, entry: PendingTransaction, account: LocalAccount, fees: Fees) -> Attempt:
        params: Json = {
            **entry.call.params(),
            "gas": entry.gas,
            "nonce": entry.nonce,
            "chainId": self.chain_id,
            "maxFeePerGas": fees.max_fee,
            "maxPriorityFeePerGas": fees.tip,
        }
        signed = account.sign_transaction(params)
        return Attempt(hash="0x" + bytes(signed.hash).hex(), raw=bytes(signed.raw_transaction), fees=fees)

    def _broadcast(self, entry: PendingTransaction) -> str | None:
        """Send the newest attempt (again); return the node's words if it will not have it."""
        newest = self._pending.attempts(entry)[-1]
        try:
            self.web3.eth.send_raw_transaction(HexBytes(newest.raw))
        except Web3RPCError as error:
            words = _message(error)
            return None if any(phrase in words.lower() for phrase in HARMLESS) else words
        return None

    def _settle(self, entry: PendingTransaction, account: LocalAccount, *, fresh: bool) -> Receipt:
        """Wait until one of the entry's attempts is deep enough."""
        started = raised = time.monotonic()
        resent = started if fresh else started - self.resend
        while True:
            receipt = self._included(entry)
            if receipt is not None and self._is_deep(receipt):
                return self._finish(entry, receipt)
            now = time.monotonic()
            if now - started > self.timeout:
                raise ChainError(f"{self._name(entry)} is not confirmed after {self.timeout:.0f} s; ask again later")
            if receipt is None and now - raised >= self.raise_after:
                self._raise_fee(entry, account)
                raised = now
            if receipt is None and now - resent >= self.resend:
                self._revive(entry)
                resent = now
            time.sleep(self.poll)

    def _included(self, entry: PendingTransaction) -> TxReceipt | None:
        """The receipt of whichever attempt is in a block of the node's present chain."""
        for attempt in self._attempts(entry):
            try:
                receipt = self.web3.eth.get_transaction_receipt(HexBytes(attempt.hash))
            except (TransactionNotFound, TransactionIndexingInProgress):
                continue
            if receipt.get("blockNumber") is not None:
                return receipt
        return None

    def _is_deep(self, receipt: TxReceipt) -> bool:
        if self.web3.eth.block_number - receipt["blockNumber"] + 1 < self.confirmations:
            return False
        return bool(self.web3.eth.get_block(receipt["blockNumber"])["hash"] == receipt["blockHash"])

    def _finish(self, entry: PendingTransaction, receipt: TxReceipt) -> Receipt:
        with self._lock:
            if receipt["status"] == 1:
                self._pending.finish(entry)
                return receipt_of(receipt)
            self._pending.forget(entry)
        raise RevertedError(self._explain(entry, receipt))

    def _revive(self, entry: PendingTransaction) -> None:
        """Send the entry again, unless a stranger's transaction has used up its nonce."""
        sender = to_checksum_address(entry.sender)
        if self.web3.eth.get_transaction_count(sender) > entry.nonce:
            self._check_stranger(entry)
            return
        with self._lock:
            refusal = self._broadcast(entry)
        if refusal is not None:
            log.warning("%s: node %s says: %s", self._name(entry), self._transport.host, refusal)

    def _check_stranger(self, entry: PendingTransaction) -> None:
        """Another program that signs for the same account took the nonce: say so, once its block is deep enough."""
        ours = {attempt.hash for attempt in self._attempts(entry)}
        deepest = self.web3.eth.block_number - self.confirmations + 1
        for number in range(deepest, max(-1, deepest - SEARCH_DEPTH), -1):
            for transaction in self.web3.eth.get_block(number, full_transactions=True)["transactions"]:
                assert not isinstance(transaction, bytes)
                if transaction["from"] == entry.sender and transaction["nonce"] == entry.nonce:
                    name = "0x" + bytes(transaction["hash"]).hex()
                    if name in ours:
                        return
                    with self._lock:
                        self._pending.forget(entry)
                    raise ChainError(f"{self._name(entry)} was displaced by transaction {name} of another program")

    def _raise_fee(self, entry: PendingTransaction, account: LocalAccount) -> None:
        """Sign the entry anew with a fee that nodes accept as a replacement (an eighth more), within the cap."""
        old = self._attempts(entry)[-1].fees
        least = Fees(max_fee=old.max_fee * 9 // 8 + 1, tip=old.tip * 9 // 8 + 1)
        if least.max_fee > self.fee_cap:
            return
        base = int(self.web3.eth.get_block("latest").get("baseFeePerGas", 0))
        fees = Fees(max_fee=min(max(least.max_fee, 2 * base + least.tip), self.fee_cap), tip=least.tip)
        log.info("%s is stuck; its fee rises to %d wei a unit of gas", self._name(entry), fees.max_fee)
        with self._lock:
            self._pending.attempt(entry, self._sign(entry, account, fees))
            self._broadcast(entry)

    def _attempts(self, entry: PendingTransaction) -> list[Attempt]:
        with self._lock:
            return self._pending.attempts(entry)

    def _name(self, entry: PendingTransaction) -> str:
        step = f"step {entry.key!r}" if entry.key is not None else "a step"
        return f"{step} (nonce {entry.nonce} of {entry.sender})"

    def _explain(self, entry: PendingTransaction, receipt: TxReceipt) -> str:
        """Run the failed step once more, at the time of its block or just before it, to hear the contract's reason."""
        params: TxParams = {**entry.call.params(), "from": to_checksum_address(entry.sender), "gas": entry.gas}
        for block in (receipt["blockNumber"], BlockNumber(receipt["blockNumber"] - 1)):
            try:
                self.web3.eth.call(params, block)
            except ContractLogicError as error:
                return _reason(error)
            except Web3RPCError:
                continue
        return f"{NO_REASON} (transaction 0x{bytes(receipt['transactionHash']).hex()})"


def _reason(error: ContractLogicError) -> str:
    if isinstance(error.data, str) and error.data.startswith("0x"):
        return revert_text(bytes.fromhex(error.data[2:]))
    text = (error.message or "").removeprefix("execution reverted").removeprefix(": ")
    return text or NO_REASON


def _message(error: Web3RPCError) -> str:
    details = (error.rpc_response or {}).get("error", {})
    return str(details.get("message", error.message) if isinstance(details, dict) else details)
