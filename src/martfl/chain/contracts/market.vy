# pragma version 0.4.3
"""
@title What every trading contract shares: terms, epochs, purchases, money.
@notice One contract per market. `exact.vy` and `sampled.vy` add how an aggregation is settled.

Trust assumptions
- Nobody can change the terms, pause, upgrade or take money out beside the rules below; there is no owner.
- The acquirer alone opens epochs, buys, weighs, drops and publishes. It cannot name amounts: they follow from weights.
- The acquirer decides who is dropped. A dropped part goes to the other providers, never to the acquirer; an acquirer
  that is also a seller under another name could gain by it, so providers should deliver to acquirers they know.
- Time is the block's timestamp; whoever builds blocks may shift it by seconds, so windows should be minutes or more.
- A token named in the terms is trusted to be an honest ERC-20.

Flow of funds
- In: `new_epoch` and `deposit` (reward + penalty), `buy_advance` (flat fee for each provider named).
- Out: `claim_reward` only, by each party for itself, once per epoch, after the epoch is final.
- Settled: reward by weight; penalty to the acquirer. Failed: reward and penalty by weight. Nobody bought: all back.
  All dropped: reward to the other committed providers in equal parts. Never prepared: penalty to the committed providers
  in equal parts, reward back. Advance fees are paid in every case but to a provider that was dropped; its fee joins
  what the others get. Where nobody who committed is left, the drops are void: an acquirer that drops everybody pays
  everybody. Rounding dust (less than 2^16 units) goes to the acquirer.
"""

import ledger
import payments

MAX: constant(uint256) = 128            # providers in one call
LONGEST: constant(uint256) = 2 ** 32    # seconds in a window


struct Terms:
    acquirer: address
    token: address            # zero: the chain's coin
    commit_window: uint256    # seconds from new_epoch
    prepare_window: uint256   # seconds from the end of the commit window
    publish_window: uint256   # seconds from prepare
    settle_window: uint256    # seconds for each step after publish
    advance_fee: uint256
    penalty_ratio: uint256    # penalty in basis points of the reward
    minimum_deposit: uint256  # reward and penalty together
    terms_hash: bytes32       # of the terms kept off chain


struct Status:
    epoch: ledger.Epoch
    reward: uint256
    penalty: uint256
    base: uint256             # the epoch whose model this one starts from; 0 is the initial model


struct Standing:
    committed: bool
    advance: bool
    dropped: bool
    objected: bool
    claimed: bool
    weight: uint256
    claimable: uint256


event EpochOpened:
    epoch: indexed(uint256)
    deadline: uint256
    nonce: bytes32

event Deposited:
    epoch: indexed(uint256)
    amount: uint256
    total: uint256

event ModelCommitted:
    epoch: indexed(uint256)
    provider: indexed(address)
    commitment: Bytes[128]
    nonce: bytes32

event AdvanceBought:
    epoch: indexed(uint256)
    providers: DynArray[address, MAX]

event Prepared:
    epoch: indexed(uint256)
    providers: DynArray[address, MAX]
    weights: DynArray[uint256, MAX]

event Dropped:
    epoch: indexed(uint256)
    providers: DynArray[address, MAX]

event EpochClosed:
    epoch: indexed(uint256)
    phase: uint256

event Claimed:
    epoch: indexed(uint256)
    party: indexed(address)
    amount: uint256


ACQUIRER: immutable(address)
TOKEN: immutable(address)
COMMIT_WINDOW: immutable(uint256)
PREPARE_WINDOW: immutable(uint256)
PUBLISH_WINDOW: immutable(uint256)
SETTLE_WINDOW: immutable(uint256)
FEE: immutable(uint256)
RATIO: immutable(uint256)
MINIMUM: immutable(uint256)
TERMS_HASH: immutable(bytes32)
LAPSES: immutable(uint256)  # the phase in which silence is consent: it is settled when its deadline passes
SLOTS: immutable(uint256)   # providers that an aggregation can take

epoch_count: public(uint256)
base: bytes32                                                 # digest of the model that the latest epoch starts from
next: bytes32                                                 # digest of the model published last
epochs: HashMap[uint256, uint256]                             # epoch -> ledger.Epoch in one word
records: HashMap[uint256, HashMap[address, uint256]]          # epoch -> provider -> record in one word


@deploy
def __init__(terms: Terms, lapses: uint256, slots: uint256, initial: bytes32):
    assert terms.acquirer != empty(address), "trading: acquirer is empty"
    for window: uint256 in [terms.commit_window, terms.prepare_window, terms.publish_window, terms.settle_window]:
        assert window > 0 and window <= LONGEST, "trading: window must be 1 to 2^32 seconds"
    assert terms.penalty_ratio > 0 and terms.penalty_ratio <= 100 * ledger.BASIS, "trading: penalty ratio must be 1 to 1000000"
    assert terms.minimum_deposit > 0 and terms.minimum_deposit <= ledger.MAX_DEPOSIT, "trading: minimum deposit out of range"
    assert terms.advance_fee <= ledger.MAX_DEPOSIT, "trading: advance fee too large"
    ACQUIRER = terms.acquirer
    TOKEN = terms.token
    COMMIT_WINDOW = terms.commit_window
    PREPARE_WINDOW = terms.prepare_window
    PUBLISH_WINDOW = terms.publish_window
    SETTLE_WINDOW = terms.settle_window
    FEE = terms.advance_fee
    RATIO = terms.penalty_ratio
    MINIMUM = terms.minimum_deposit
    TERMS_HASH = terms.terms_hash
    LAPSES = lapses
    SLOTS = slots
    self.base = initial
    self.next = initial


# --- 1. open: the acquirer announces an epoch and pays in ---------------------------------------------------------

@external
@payable
@nonreentrant
def deposit(epoch: uint256, amount: uint256):
    """
    @notice Add to the reward and the penalty while providers may still commit.
    """
    self._only_acquirer()
    e: ledger.Epoch = self._at(epoch, ledger.OPEN)
    assert block.timestamp <= e.deadline, "trading: commitments are closed"
    assert amount > 0, "trading: amount is zero"
    e.deposit += amount
    assert e.deposit <= ledger.MAX_DEPOSIT, "trading: deposit too large"
    self.epochs[epoch] = ledger.pack(e)
    payments.collect(TOKEN, amount)
    log Deposited(epoch=epoch, amount=amount, total=e.deposit)


@internal
@payable
def _open(nonce: bytes32, amount: uint256) -> uint256:
    self._only_acquirer()
    epoch: uint256 = self.epoch_count + 1
    gap: uint256 = 1
    if epoch > 1:
        last: ledger.Epoch = self._load(epoch - 1)
        assert last.phase >= ledger.SETTLED, "trading: previous epoch is not settled"
        if last.phase == ledger.SETTLED:
            self.base = self.next
        else:
            gap = last.gap + 1
    assert gap <= ledger.MAX_COUNT, "trading: too many failed epochs"
    assert amount <= ledger.MAX_DEPOSIT, "trading: deposit too large"
    e: ledger.Epoch = empty(ledger.Epoch)
    e.phase = ledger.OPEN
    e.gap = gap
    e.deposit = amount
    e.deadline = block.timestamp + COMMIT_WINDOW
    self.epoch_count = epoch
    self.epochs[epoch] = ledger.pack(e)
    payments.collect(TOKEN, amount)
    log EpochOpened(epoch=epoch, deadline=e.deadline, nonce=nonce)
    if amount > 0:
        log Deposited(epoch=epoch, amount=amount, total=amount)
    return epoch


# --- 2. commit: every provider binds itself to one update before anybody has judged it -----------------------------

@internal
def _commit(epoch: uint256, commitment: Bytes[128], nonce: bytes32) -> uint256:
    # Returns how many have committed.
    assert msg.sender != ACQUIRER, "trading: the acquirer cannot sell"
    e: ledger.Epoch = self._at(epoch, ledger.OPEN)
    assert block.timestamp <= e.deadline, "trading: commitments are closed"
    assert e.deposit >= MINIMUM, "trading: deposit is below the minimum"
    assert self.records[epoch][msg.sender] == 0, "trading: already committed"
    assert e.providers < ledger.MAX_COUNT, "trading: epoch is full"
    self.records[epoch][msg.sender] = (convert(keccak256(commitment), uint256) & ledger.DIGEST) | ledger.COMMITTED
    e.providers += 1
    self.epochs[epoch] = ledger.pack(e)
    log ModelCommitted(epoch=epoch, provider=msg.sender, commitment=commitment, nonce=nonce)
    return e.providers


# --- 3. buy: in advance at the flat fee, then by weight -------------------------------------------------------------

@external
@payable
@nonreentrant
def buy_advance(epoch: uint256, providers: DynArray[address, MAX]):
    """
    @notice Buy what must be seen before weights can be set; each provider named earns the advance fee.
    @dev The call brings the fees: they are no part of the reward.
    """
    self._only_acquirer()
    e: ledger.Epoch = self._buying(epoch)
    assert len(providers) > 0, "trading: no provider named"
    for provider: address in providers:
        record: uint256 = self._seller(epoch, provider)
        assert record & ledger.ADVANCE == 0, "trading: bought in advance already"
        self.records[epoch][provider] = record | ledger.ADVANCE
    e.advanced += len(providers)
    self.epochs[epoch] = ledger.pack(e)
    payments.collect(TOKEN, FEE * len(providers))
    log AdvanceBought(epoch=epoch, providers=providers)


@external
def prepare(epoch: uint256, providers: DynArray[address, MAX], weights: DynArray[uint256, MAX]):
    """
    @notice Fix who is bought and at which weight (sum 2^16), before anything more is handed over. No provider: refund.
    """
    self._only_acquirer()
    e: ledger.Epoch = self._buying(epoch)
    assert len(providers) == len(weights), "trading: one weight for each provider"
    assert len(providers) <= SLOTS, "trading: more providers than slots"
    total: uint256 = 0
    for i: uint256 in range(len(providers), bound=MAX):
        record: uint256 = self._seller(epoch, providers[i])
        assert record & ledger.WEIGHT == 0, "trading: provider named twice"
        assert weights[i] > 0 and weights[i] <= ledger.WHOLE, "trading: weight must be 1 to 65536"
        self.records[epoch][providers[i]] = record | weights[i]
        total = unsafe_add(total, weights[i])
    e.weight = total
    e.phase = ledger.PREPARED
    e.deadline = block.timestamp + PUBLISH_WINDOW
    log Prepared(epoch=epoch, providers=providers, weights=weights)
    if len(providers) == 0:
        self._close(epoch, e, ledger.EMPTY)
        return
    assert total == ledger.WHOLE, "trading: weights must sum to 65536"
    self.epochs[epoch] = ledger.pack(e)


# --- 4. drop: a provider that did not deliver what it committed to --------------------------------------------------

@external
def drop(epoch: uint256, providers: DynArray[address, MAX]):
    """
    @notice Take bought providers out until the model is published. Their weight becomes 0 in the aggregate, the other
            weights stay as they are; their part goes to the other providers.
    """
    self._only_acquirer()
    e: ledger.Epoch = self._load(epoch)
    assert e.phase == ledger.OPEN or e.phase == ledger.PREPARED, "trading: wrong phase"
    assert block.timestamp <= self._last_second(e), "trading: too late"
    for provider: address in providers:
        record: uint256 = self._seller(epoch, provider)
        assert record & (ledger.WEIGHT | ledger.ADVANCE) != 0, "trading: provider is not bought"
        self.records[epoch][provider] = record | ledger.OUT
        e.weight -= record & ledger.WEIGHT
        e.providers -= 1
        if record & ledger.ADVANCE != 0:
            e.advanced -= 1
            e.forfeited += 1
    log Dropped(epoch=epoch, providers=providers)
    if e.phase == ledger.PREPARED and e.weight == 0:
        self._close(epoch, e, ledger.DROPPED)
    else:
        self.epochs[epoch] = ledger.pack(e)


# --- 5. end: deadlines and payment ---------------------------------------------------------------------------------

@external
def expire(epoch: uint256):
    """
    @notice Close an epoch whose acquirer missed a deadline. Anybody may call.
    """
    e: ledger.Epoch = self._load(epoch)
    assert e.phase != 0, "trading: no such epoch"
    assert e.phase < ledger.SETTLED, "trading: epoch is settled"
    assert block.timestamp > self._last_second(e), "trading: deadline has not passed"
    if e.phase == ledger.OPEN:
        self._close(epoch, e, ledger.ABANDONED)
    else:
        self._close(epoch, e, ledger.FAILED)


@external
@nonreentrant
def claim_reward(epoch: uint256) -> uint256:
    """
    @notice Take what a final epoch owes the caller, once.
    """
    e: ledger.Epoch = self._load(epoch)
    assert e.phase >= ledger.SETTLED, "trading: epoch is not settled"
    amount: uint256 = 0
    if msg.sender == ACQUIRER:
        amount = self._refund(e)
        e.refunded = True
        self.epochs[epoch] = ledger.pack(e)
    else:
        record: uint256 = self.records[epoch][msg.sender]
        amount = ledger.owed(record, e, FEE, RATIO)
        self.records[epoch][msg.sender] = record | ledger.CLAIMED
    assert amount > 0, "trading: nothing to claim"
    log Claimed(epoch=epoch, party=msg.sender, amount=amount)
    payments.pay(TOKEN, msg.sender, amount)
    return amount


# --- reading ---------------------------------------------------------------------------------------------------------

@external
@view
def read_epoch(epoch: uint256) -> Status:
    e: ledger.Epoch = self._load(epoch)
    assert e.phase != 0, "trading: no such epoch"
    price: uint256 = ledger.reward(e.deposit, RATIO)
    return Status(epoch=e, reward=price, penalty=e.deposit - price, base=epoch - e.gap)


@external
@view
def read_provider(epoch: uint256, provider: address) -> Standing:
    record: uint256 = self.records[epoch][provider]
    e: ledger.Epoch = self._load(epoch)
    owed: uint256 = 0
    if e.phase >= ledger.SETTLED:
        owed = ledger.owed(record, e, FEE, RATIO)
    return Standing(
        committed=record & ledger.COMMITTED != 0,
        advance=record & ledger.ADVANCE != 0,
        dropped=record & ledger.OUT != 0,
        objected=record & ledger.OBJECTED != 0,
        claimed=record & ledger.CLAIMED != 0,
        weight=record & ledger.WEIGHT,
        claimable=owed,
    )


@external
@view
def refundable(epoch: uint256) -> uint256:
    """
    @notice What the acquirer may claim now.
    """
    e: ledger.Epoch = self._load(epoch)
    return self._refund(e) if e.phase >= ledger.SETTLED else 0


@external
@view
def model() -> bytes32:
    """
    @notice Digest of the current global model: that of the last settled epoch, or the initial one.
    """
    last: ledger.Epoch = self._load(self.epoch_count)
    return self.next if last.phase == ledger.SETTLED else self.base


@external
@view
def terms() -> Terms:
    return Terms(
        acquirer=ACQUIRER,
        token=TOKEN,
        commit_window=COMMIT_WINDOW,
        prepare_window=PREPARE_WINDOW,
        publish_window=PUBLISH_WINDOW,
        settle_window=SETTLE_WINDOW,
        advance_fee=FEE,
        penalty_ratio=RATIO,
        minimum_deposit=MINIMUM,
        terms_hash=TERMS_HASH,
    )


# --- shared steps ----------------------------------------------------------------------------------------------------

@internal
@view
def _only_acquirer():
    assert msg.sender == ACQUIRER, "trading: only the acquirer"


@internal
@view
def _load(epoch: uint256) -> ledger.Epoch:
    e: ledger.Epoch = ledger.unpack(self.epochs[epoch])
    if e.phase == LAPSES and block.timestamp > e.deadline:
        e.phase = ledger.SETTLED
    return e


@internal
@view
def _at(epoch: uint256, phase: uint256) -> ledger.Epoch:
    e: ledger.Epoch = self._load(epoch)
    assert e.phase == phase, "trading: wrong phase"
    return e


@internal
@view
def _last_second(e: ledger.Epoch) -> uint256:
    return e.deadline + PREPARE_WINDOW if e.phase == ledger.OPEN else e.deadline


@internal
@view
def _buying(epoch: uint256) -> ledger.Epoch:
    e: ledger.Epoch = self._at(epoch, ledger.OPEN)
    assert block.timestamp > e.deadline, "trading: commitments are still open"
    assert block.timestamp <= e.deadline + PREPARE_WINDOW, "trading: too late"
    return e


@internal
@view
def _seller(epoch: uint256, provider: address) -> uint256:
    record: uint256 = self.records[epoch][provider]
    assert record != 0, "trading: provider has not committed"
    assert record & ledger.OUT == 0, "trading: provider was dropped"
    return record


@internal
@view
def _refund(e: ledger.Epoch) -> uint256:
    if e.refunded:
        return 0
    s: ledger.Shares = ledger.shares(e, FEE, RATIO)
    return s.acquirer


@internal
def _close(epoch: uint256, e: ledger.Epoch, phase: uint256):
    final: ledger.Epoch = e
    final.phase = phase
    self.epochs[epoch] = ledger.pack(final)
    log EpochClosed(epoch=epoch, phase=phase)
