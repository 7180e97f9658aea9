# pragma version 0.4.3
"""
@title What every trading contract shares: how epochs open, updates are committed to, bought and handed over.
@notice One contract per market. `register.vy` stores, `claims.vy` pays; `exact.vy` and `sampled.vy` add how an aggregation is
        published and proved.

Sealed first, the purchase is the receipt. A provider commits to its update, sealed under a key of its own. Whoever buys it
locks a price of at least the provider's ask. Then the key goes over, off chain; a buyer that does not say that it has it
(`accept`, or a place in the published aggregate) is answered by the key on chain (`reveal`). A key that opens something
else than what was committed to is refuted by one leaf. Nobody is richer because somebody else was punished.

Trust assumptions
- Nobody can change the terms, pause, upgrade or take money out beside the rules below; there is no owner.
- The acquirer alone opens epochs, buys, accepts and publishes. It sets prices (not below the asks) and weights.
- A provider that is honest is paid its price if it can bring one transaction (`reveal`) into the chain between the time
  at which its key went over and the end of the key window. Whoever can keep it out for that long can cheat it.
- Time is the block's timestamp; whoever builds blocks may shift it by seconds, so windows should be minutes or more.
- A token named in the terms is trusted to be an honest ERC-20.

Flow of funds
- In: `new_epoch` and `deposit` (reward and penalty).
- Out: `claim_reward` and `claim_rewards` only, once for each party and epoch, after the epoch is final.
- Settled: prices to who delivered, the rest of the reward by weight, the penalty back. Failed: prices to who delivered,
  the rest of the reward back, the penalty stays here and is nobody's. Nothing bought: all back. The price of a provider
  that was silent or false returns to the acquirer. Rounding dust goes to the acquirer.
"""

import ledger
import payments
import register
import signatures
from interfaces import ITrading

uses: register


# --- 1. open: the acquirer announces an epoch and pays in ---------------------------------------------------------

@external
@payable
@nonreentrant
def new_epoch(amount: uint256) -> uint256:
    """
    @notice Open the next epoch, with as much of the deposit as is brought along. The model of the one before must stand,
            or the epoch must be over.
    @param amount What is paid in now; reward and penalty follow from the terms' ratio.
    @return The number of the new epoch.
    """
    register._only_acquirer()
    last: uint256 = register.epoch_count
    gap: uint256 = 1
    if last > 0:
        phase: ledger.Phase = register._phase_of(last)
        stands: ledger.Phase = ledger.Phase.STANDING | ledger.Phase.SETTLED
        over: ledger.Phase = ledger.Phase.FAILED | ledger.Phase.EMPTY | ledger.Phase.FAILING
        if phase in stands:
            register._advance()
        else:
            assert phase in over, "trading: previous epoch is not over"
            gap = ledger.gap(register.books[last]) + 1
    assert gap <= ledger.MAX_GAP, "trading: too many failed epochs"
    assert amount <= ledger.MAX_MONEY, "trading: deposit too large"
    epoch: uint256 = register._open(amount, gap)
    payments.collect(register.TOKEN, amount)
    log ITrading.EpochOpened(epoch=epoch, base=epoch - gap)
    if amount > 0:
        log ITrading.Deposited(epoch=epoch, amount=amount, total=amount)
    return epoch


@external
@payable
@nonreentrant
def deposit(epoch: uint256, amount: uint256):
    """
    @notice Add to the reward and the penalty while providers may still commit.
    @param epoch The epoch to pay into.
    @param amount What is paid in.
    """
    register._only_acquirer()
    book: uint256 = self._open_for_commitments(epoch)
    assert amount > 0, "trading: amount is zero"
    total: uint256 = (book & ledger.MAX_MONEY) + amount
    assert total <= ledger.MAX_MONEY, "trading: deposit too large"
    register._keep_book(epoch, book + amount)  # within its field, as the line above says
    payments.collect(register.TOKEN, amount)
    log ITrading.Deposited(epoch=epoch, amount=amount, total=total)


# --- 2. commit: every provider binds itself to one sealed update before anybody has judged it ----------------------

@external
def commit_model(epoch: uint256, digest: bytes32):
    """
    @notice Bind the caller to its update of this epoch.
    @param epoch The epoch.
    @param digest keccak(chain, market, epoch, wallet, keccak(commitment), seal, ask), 32 bytes each.
    """
    self._check_deposit(epoch)
    assert msg.sender != register.ACQUIRER, "trading: the acquirer cannot sell"
    assert register.records[epoch][msg.sender] == 0, "trading: already committed"
    self._commit(epoch, msg.sender, digest)


@external
def commit_models(epoch: uint256, entries: DynArray[ITrading.Entry, ledger.MAX]):
    """
    @notice Send commitments for providers that signed them. Who has committed already, and who did not sign, is skipped:
            nobody can make a batch fail.
    @param epoch The epoch.
    @param entries Provider, digest, and the provider's signature of Commit(epoch, provider, digest).
    """
    self._check_deposit(epoch)
    domain: bytes32 = signatures.domain()
    for entry: ITrading.Entry in entries:
        if entry.provider == register.ACQUIRER or register.records[epoch][entry.provider] != 0:
            continue
        content: bytes32 = keccak256(abi_encode(signatures.COMMIT_TYPE, epoch, entry.provider, entry.digest))
        if signatures.signed(domain, content, entry.provider, entry.signature):
            self._commit(epoch, entry.provider, entry.digest)


@internal
def _commit(epoch: uint256, provider: address, digest: bytes32):
    register._keep_record(epoch, provider, ledger.with_state(convert(digest, uint256), ledger.State.COMMITTED))
    log ITrading.ModelCommitted(epoch=epoch, provider=provider, digest=digest)


# --- 3. buy: what the provider asks is locked, as often as the acquirer likes ----------------------------------------

@external
def buy(epoch: uint256, offers: DynArray[ITrading.Offer, ledger.MAX]):
    """
    @notice Buy updates, each at what its provider asks, rounded up to a 65536th of the reward. What is bought is paid for,
            whatever becomes of it, once its provider has handed it over.
    @param epoch The epoch.
    @param offers What opens each provider's commitment.
    """
    register._only_acquirer()
    book: uint256 = register.books[epoch]
    assert ledger.phase(book) == ledger.Phase.TRADING, "trading: wrong phase"
    assert block.timestamp > register._commit_deadline(book), "trading: commitments are still open"
    assert block.timestamp <= register._buy_deadline(book), "trading: too late"
    reward: uint256 = ledger.reward(book, register.RATIO)
    spent: uint256 = 0
    providers: DynArray[address, ledger.MAX] = []
    for offer: ITrading.Offer in offers:
        opened: bytes32 = keccak256(
            abi_encode(chain.id, self, epoch, offer.provider, offer.commitment, offer.seal, offer.ask)
        )
        expected: uint256 = convert(opened, uint256) & ~ledger.STATE | convert(ledger.State.COMMITTED, uint256)
        assert register.records[epoch][offer.provider] == expected, "trading: not the offer that was committed to"
        assert offer.ask <= reward, "trading: ask exceeds the reward"
        units: uint256 = ledger.units(offer.ask, reward)
        spent = unsafe_add(spent, unsafe_mul(reward, units) // ledger.WHOLE)  # at most 128 prices below 2^96
        terms: uint256 = units << ledger.PRICE_AT | convert(ledger.State.BOUGHT, uint256)
        register._keep_record(epoch, offer.provider, self._bound(offer.commitment, offer.seal) | terms)
        providers.append(offer.provider)
    assert ledger.spent(book) + spent <= reward, "trading: prices exceed the reward"
    register._keep_book(epoch, book + (spent << ledger.SPENT_AT))  # at most the reward
    tally: uint256 = register.tallies[epoch]
    assert ledger.count(tally, ledger.ONE_BOUGHT) + len(offers) <= ledger.COUNT, "trading: too many purchases"
    register._keep_tally(epoch, tally + len(offers) * (ledger.ONE_BOUGHT + ledger.ONE_SILENT))
    log ITrading.Bought(epoch=epoch, providers=providers)


# --- 4. deliver: the key went over, or it is on chain ------------------------------------------------------------------

@external
def accept(epoch: uint256, providers: DynArray[address, ledger.MAX]):
    """
    @notice Say that these providers delivered. Being listed when the model is published says the same.
    @param epoch The epoch.
    @param providers Bought ones until the key window ends; those whose key is on chain until the publish window ends.
    """
    register._only_acquirer()
    book: uint256 = register.books[epoch]
    tally: uint256 = register.tallies[epoch]
    keys: uint256 = register._key_deadline(book)
    for provider: address in providers:
        record: uint256 = register.records[epoch][provider]
        if ledger.state(record) == ledger.State.BOUGHT:
            assert block.timestamp <= keys, "trading: too late"
        else:
            assert ledger.state(record) == ledger.State.REVEALED, "trading: provider is not bought"
            assert block.timestamp <= keys + register.PUBLISH_WINDOW, "trading: too late"
        tally = self._answer(tally, record, book)
        register._keep_record(epoch, provider, ledger.with_state(record, ledger.State.ACCEPTED))
    register._keep_tally(epoch, tally)
    log ITrading.Accepted(epoch=epoch, providers=providers)


@external
def reveal(epoch: uint256, provider: address, commitment: bytes32, root: bytes32, key: bytes32):
    """
    @notice Put the key of a bought update on chain, where the buyer has not said that it has it. Anybody may who knows
            the key, until the key window ends, also after publication.
    @param epoch The epoch.
    @param provider Whose update the key opens.
    @param commitment keccak of what the update was committed to.
    @param root Of the sealed update.
    @param key The key.
    """
    book: uint256 = register.books[epoch]
    assert block.timestamp <= register._key_deadline(book), "trading: too late"
    record: uint256 = register.records[epoch][provider]
    assert ledger.state(record) == ledger.State.BOUGHT, "trading: no key is due"
    assert record & ledger.DIGEST == self._bound(commitment, self._seal(root, key)), "trading: not the provider's key"
    register._keep_record(epoch, provider, ledger.with_state(record, ledger.State.REVEALED))
    register._keep_tally(epoch, self._answer(register.tallies[epoch], record, book) + ledger.ONE_REVEALED)
    log ITrading.Revealed(epoch=epoch, provider=provider, key=key)


@internal
def _refute(epoch: uint256, provider: address, commitment: bytes32, root: bytes32, key: bytes32, leaf: uint256):
    # The scheme has checked that this leaf is not what the provider committed to.
    book: uint256 = register.books[epoch]
    record: uint256 = register.records[epoch][provider]
    assert ledger.state(record) == ledger.State.REVEALED, "trading: provider has not revealed"
    assert record & ledger.DIGEST == self._bound(commitment, self._seal(root, key)), "trading: not the provider's update"
    assert block.timestamp <= register._publish_deadline(book), "trading: too late"
    register._keep_record(epoch, provider, ledger.with_state(record, ledger.State.REFUTED))
    price: uint256 = ledger.price(record, ledger.reward(book, register.RATIO))
    register._keep_tally(epoch, register.tallies[epoch] - ledger.ONE_REVEALED - price)  # both were added by `reveal`
    log ITrading.Refuted(epoch=epoch, provider=provider, leaf=leaf)


@internal
@view
def _answer(tally: uint256, record: uint256, book: uint256) -> uint256:
    # The tally after a provider with this record delivered. Its price is at most what is left of the reward.
    state: ledger.State = ledger.state(record)
    if state == ledger.State.ACCEPTED:
        return tally
    if state == ledger.State.REVEALED:
        return tally - ledger.ONE_REVEALED
    paid: uint256 = tally + ledger.price(record, ledger.reward(book, register.RATIO))
    return paid - ledger.ONE_SILENT if state == ledger.State.BOUGHT else paid


# --- 5. publish: what both schemes need ------------------------------------------------------------------------------

@internal
@view
def _publishing(epoch: uint256) -> uint256:
    # The bonus that goes by weight, where the acquirer may publish now.
    register._only_acquirer()
    book: uint256 = register.books[epoch]
    assert ledger.phase(book) == ledger.Phase.TRADING, "trading: wrong phase"
    assert block.timestamp > register._commit_deadline(book), "trading: commitments are still open"
    assert block.timestamp <= register._publish_deadline(book), "trading: too late"
    assert register.tallies[epoch] & ledger.BOUGHT != 0, "trading: nothing is bought"
    return ledger.reward(book, register.RATIO) - ledger.spent(book)


@internal
def _list(epoch: uint256, provider: address, commitment: bytes32, seal: bytes32, weight: uint256):
    # Puts a bought provider into the aggregate at its weight. A refuted one too, if the acquirer wants to pay for it: false
    # leaves may add up to the right sum, and who made them could else refute itself to stop a publication.
    record: uint256 = register.records[epoch][provider]
    bought: ledger.State = ledger.State.BOUGHT | ledger.State.ACCEPTED | ledger.State.REVEALED | ledger.State.REFUTED
    assert ledger.state(record) in bought, "trading: provider cannot be listed"
    assert record & ledger.DIGEST == self._bound(commitment, seal), "trading: not the provider's commitment"
    assert weight != 0 and weight <= ledger.WHOLE, "trading: weight must be 1 to 65536"
    register._keep_record(epoch, provider, ledger.with_state(record, ledger.State.LISTED) | weight << ledger.WEIGHT_AT)
    register._keep_tally(epoch, self._answer(register.tallies[epoch], record, register.books[epoch]))


@internal
def _publish(epoch: uint256, weights: DynArray[uint256, ledger.MAX], bonus: uint256, phase: ledger.Phase, model: bytes32):
    # Keeps what was published.
    total: uint256 = 0
    shared: uint256 = 0
    for weight: uint256 in weights:
        total += weight
        shared += ledger.part(bonus, weight)
    if len(weights) > 0:
        assert total == ledger.WHOLE, "trading: weights must sum to 65536"
        # The dust is less than one unit for each provider.
        register._keep_tally(epoch, register.tallies[epoch] + ledger.WEIGHED + (bonus - shared << ledger.DUST_AT))
    register._keep_model(model)
    self._enter(epoch, phase)


@internal
def _enter(epoch: uint256, phase: ledger.Phase):
    # The next step; where somebody must complete it, with a deadline.
    register._keep_book(epoch, ledger.with_phase(register.books[epoch], phase))
    register._keep_tally(epoch, ledger.with_deadline(register.tallies[epoch], block.timestamp + register.SETTLE_WINDOW))


@internal
@view
def _is_of(epoch: uint256, provider: address, commitment: bytes32, seal: bytes32) -> bool:
    # Whether a provider that was bought bound itself to this.
    return register.records[epoch][provider] & ledger.DIGEST == self._bound(commitment, seal)


# --- parts --------------------------------------------------------------------------------------------------------

@internal
@view
def _open_for_commitments(epoch: uint256) -> uint256:
    book: uint256 = register.books[epoch]
    assert book != 0, "trading: no such epoch"
    assert block.timestamp <= register._commit_deadline(book), "trading: commitments are closed"
    return book


@internal
@view
def _check_deposit(epoch: uint256):
    deposit: uint256 = self._open_for_commitments(epoch) & ledger.MAX_MONEY
    assert deposit >= register.MINIMUM, "trading: deposit is below the minimum"


@internal
@pure
def _seal(root: bytes32, key: bytes32) -> bytes32:
    return keccak256(concat(root, keccak256(key)))


@internal
@pure
def _bound(commitment: bytes32, seal: bytes32) -> uint256:
    # What a record keeps of a bought update.
    return convert(keccak256(concat(commitment, seal)), uint256) & ledger.DIGEST
