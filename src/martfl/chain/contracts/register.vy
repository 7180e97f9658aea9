# pragma version 0.4.3
"""
@title What a trading contract remembers: its terms, its epochs, its providers; and what time makes of them.
@notice The one module that stores anything of them. The others read its words and give it new ones.
"""

import ledger
from interfaces import ITrading

LONGEST: constant(uint256) = 2 ** 32    # seconds in a window


ACQUIRER: immutable(address)
TOKEN: immutable(address)
COMMIT_WINDOW: immutable(uint256)
BUY_WINDOW: immutable(uint256)
KEY_WINDOW: immutable(uint256)
PUBLISH_WINDOW: immutable(uint256)
SETTLE_WINDOW: immutable(uint256)
RATIO: immutable(uint256)
MINIMUM: immutable(uint256)
TERMS_HASH: immutable(bytes32)

epoch_count: public(uint256)
base: bytes32                                         # digest of the model that the latest epoch starts from
next: bytes32                                         # digest of the model published last
books: HashMap[uint256, uint256]                      # epoch -> book   } as `ledger.vy` lays them out
tallies: HashMap[uint256, uint256]                    # epoch -> tally  }
records: HashMap[uint256, HashMap[address, uint256]]  # epoch -> provider -> record


@deploy
def __init__(terms: ITrading.Terms, initial: bytes32):
    assert terms.acquirer != empty(address), "trading: acquirer is empty"
    for window: uint256 in [
        terms.commit_window, terms.buy_window, terms.key_window, terms.publish_window, terms.settle_window
    ]:
        assert window > 0 and window <= LONGEST, "trading: window must be 1 to 2^32 seconds"
    assert terms.penalty_ratio > 0 and terms.penalty_ratio <= 100 * ledger.BASIS, "trading: penalty ratio must be 1 to 1000000"
    assert terms.minimum_deposit > 0 and terms.minimum_deposit <= ledger.MAX_MONEY, "trading: minimum deposit out of range"
    ACQUIRER = terms.acquirer
    TOKEN = terms.token
    COMMIT_WINDOW = terms.commit_window
    BUY_WINDOW = terms.buy_window
    KEY_WINDOW = terms.key_window
    PUBLISH_WINDOW = terms.publish_window
    SETTLE_WINDOW = terms.settle_window
    RATIO = terms.penalty_ratio
    MINIMUM = terms.minimum_deposit
    TERMS_HASH = terms.terms_hash
    self.base = initial
    self.next = initial


# --- reading ---------------------------------------------------------------------------------------------------------

@external
@view
def read_epoch(epoch: uint256) -> ITrading.Status:
    """
    @notice An epoch as it stands in this second.
    @param epoch The epoch.
    @return Phase, money and counts.
    """
    book: uint256 = self.books[epoch]
    assert book != 0, "trading: no such epoch"
    tally: uint256 = self.tallies[epoch]
    phase: ledger.Phase = self._phase(book, tally)
    refundable: uint256 = 0
    if self._is_final(phase):
        refundable = ledger.refund(book, tally, RATIO, phase)
    return ITrading.Status(
        phase=phase,
        opened=ledger.opened(book),
        deposit=book & ledger.MAX_MONEY,
        reward=ledger.reward(book, RATIO),
        spent=ledger.spent(book),
        delivered=tally & ledger.MAX_MONEY,
        bought=ledger.count(tally, ledger.ONE_BOUGHT),
        silent=ledger.count(tally, ledger.ONE_SILENT),
        revealed=ledger.count(tally, ledger.ONE_REVEALED),
        deadline=ledger.deadline(tally),
        refundable=refundable,
        refunded=tally & ledger.REFUNDED != 0,
        base=epoch - ledger.gap(book),
    )


@external
@view
def read_provider(epoch: uint256, provider: address) -> ITrading.Standing:
    """
    @notice A provider's standing in an epoch.
    @param epoch The epoch.
    @param provider The provider.
    @return State, price, weight, and what it may claim now.
    """
    record: uint256 = self.records[epoch][provider]
    state: ledger.State = ledger.state(record)
    if state == ledger.State.COMMITTED:
        return ITrading.Standing(state=state, price=0, weight=0, claimable=0)
    book: uint256 = self.books[epoch]
    phase: ledger.Phase = self._phase(book, self.tallies[epoch])
    claimable: uint256 = 0
    if self._is_final(phase):
        claimable = ledger.owed(record, book, RATIO, phase)
    return ITrading.Standing(
        state=state,
        price=ledger.price(record, ledger.reward(book, RATIO)),
        weight=ledger.weight(record),
        claimable=claimable,
    )


@external
@view
def model() -> bytes32:
    """
    @notice The current global model.
    @return Digest of the model that was published last and stands, or of the initial one.
    """
    stands: ledger.Phase = ledger.Phase.STANDING | ledger.Phase.SETTLED
    return self.next if self._phase_of(self.epoch_count) in stands else self.base


@external
@view
def terms() -> ITrading.Terms:
    """
    @notice The terms of this market, fixed when it was deployed.
    @return The terms.
    """
    return ITrading.Terms(
        acquirer=ACQUIRER,
        token=TOKEN,
        commit_window=COMMIT_WINDOW,
        buy_window=BUY_WINDOW,
        key_window=KEY_WINDOW,
        publish_window=PUBLISH_WINDOW,
        settle_window=SETTLE_WINDOW,
        penalty_ratio=RATIO,
        minimum_deposit=MINIMUM,
        terms_hash=TERMS_HASH,
    )


# --- what the other modules ask and tell ------------------------------------------------------------------------------

@internal
@view
def _only_acquirer():
    assert msg.sender == ACQUIRER, "trading: only the acquirer"


@internal
@view
def _reward(epoch: uint256) -> uint256:
    return ledger.reward(self.books[epoch], RATIO)


@internal
def _open(amount: uint256, gap: uint256) -> uint256:
    # Stores a new epoch; `amount` and `gap` are within their fields.
    epoch: uint256 = self.epoch_count + 1
    self.epoch_count = epoch
    book: uint256 = amount | block.timestamp << ledger.OPENED_AT | gap << ledger.GAP_AT
    self.books[epoch] = ledger.with_phase(book, ledger.Phase.TRADING)
    return epoch


@internal
def _advance():
    # The model that was published last becomes the one to start from.
    self.base = self.next


@internal
def _keep_book(epoch: uint256, book: uint256):
    self.books[epoch] = book


@internal
def _keep_tally(epoch: uint256, tally: uint256):
    self.tallies[epoch] = tally


@internal
def _keep_record(epoch: uint256, provider: address, record: uint256):
    self.records[epoch][provider] = record


@internal
def _keep_model(digest: bytes32):
    self.next = digest


# --- time: four deadlines, all from the second of `new_epoch`; the last second counts ---------------------------------

@internal
@view
def _commit_deadline(book: uint256) -> uint256:
    return ledger.opened(book) + COMMIT_WINDOW


@internal
@view
def _buy_deadline(book: uint256) -> uint256:
    return self._commit_deadline(book) + BUY_WINDOW


@internal
@view
def _key_deadline(book: uint256) -> uint256:
    return self._buy_deadline(book) + KEY_WINDOW


@internal
@view
def _publish_deadline(book: uint256) -> uint256:
    return self._key_deadline(book) + PUBLISH_WINDOW


@internal
@view
def _phase(book: uint256, tally: uint256) -> ledger.Phase:
    # Nothing needs to be said on chain for time to pass: what is late has failed.
    stored: ledger.Phase = convert(book >> ledger.PHASE_AT, ledger.Phase)
    # The exchange is over when no key can come any more, and none can be refuted any more.
    over: bool = tally & (ledger.SILENT | ledger.REVEALED) == 0 or self._is_over(book, tally)
    if stored == ledger.Phase.STANDING:
        return ledger.Phase.SETTLED if over else stored
    if stored == ledger.Phase.TRADING:
        return self._unpublished(book, tally)
    late: bool = block.timestamp > ledger.deadline(tally)
    if stored == ledger.Phase.PROVED and late:
        return ledger.Phase.SETTLED if over else ledger.Phase.STANDING
    if stored == ledger.Phase.FAILED or late:
        return ledger.Phase.FAILED if over else ledger.Phase.FAILING
    return stored


@internal
@view
def _phase_of(epoch: uint256) -> ledger.Phase:
    return self._phase(self.books[epoch], self.tallies[epoch])


@internal
@view
def _is_over(book: uint256, tally: uint256) -> bool:
    coming: bool = tally & ledger.SILENT != 0 and block.timestamp <= self._key_deadline(book)
    refutable: bool = tally & ledger.REVEALED != 0 and block.timestamp <= self._publish_deadline(book)
    return not (coming or refutable)


@internal
@view
def _unpublished(book: uint256, tally: uint256) -> ledger.Phase:
    if block.timestamp <= self._commit_deadline(book):
        return ledger.Phase.OPEN
    if tally & ledger.BOUGHT == 0:
        return ledger.Phase.TRADING if block.timestamp <= self._buy_deadline(book) else ledger.Phase.EMPTY
    return ledger.Phase.TRADING if block.timestamp <= self._publish_deadline(book) else ledger.Phase.FAILED


@internal
@view
def _is_final(phase: ledger.Phase) -> bool:
    final: ledger.Phase = ledger.Phase.SETTLED | ledger.Phase.FAILED | ledger.Phase.EMPTY
    return phase in final


@internal
@view
def _final(book: uint256, tally: uint256) -> ledger.Phase:
    phase: ledger.Phase = self._phase(book, tally)
    final: ledger.Phase = ledger.Phase.SETTLED | ledger.Phase.FAILED | ledger.Phase.EMPTY
    assert phase in final, "trading: epoch is not final"
    return phase
