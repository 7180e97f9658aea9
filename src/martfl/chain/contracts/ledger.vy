# pragma version 0.4.3
"""
@title The books of an epoch: what is stored of it and of its providers, and who is owed what.
@notice No storage, no calls. An epoch is two words, a provider's record is one. Their fields are added to in place; where a
        field changes, its bound stands beside it.

Prices are whole 65536ths of the reward, so that a price fits the provider's record:

    price_i = reward * units_i // 65536              what a purchase guarantees
    bonus   = reward - sum of all prices             goes by weight when the model is published and proved
"""

flag Phase:
    OPEN        # providers commit
    TRADING     # the acquirer buys, keys go over, the acquirer publishes
    PUBLISHED   # sampled: waiting for the proof
    PROVED      # sampled: proved, open to refutation
    STANDING    # the model stands; some purchases are not answered for yet
    FAILING     # the aggregation failed; some purchases are not answered for yet
    SETTLED     # final: prices and bonus are paid, the rest and the penalty return
    FAILED      # final: prices are paid, the rest of the reward returns, the penalty is nobody's
    EMPTY       # final: nothing was bought, everything returns


flag State:  # of a provider
    COMMITTED
    BOUGHT
    ACCEPTED  # the acquirer says that it has the update
    REVEALED  # the key is on chain, open to refutation
    LISTED    # in the published aggregate
    REFUTED
    CLAIMED


MAX: constant(uint256) = 128             # providers in one call
WHOLE: constant(uint256) = 2 ** 16       # units of the reward; what the weights of an aggregate sum to
BASIS: constant(uint256) = 10_000        # the penalty ratio is in basis points of the reward
MAX_GAP: constant(uint256) = 2 ** 15 - 1
MAX_MONEY: constant(uint256) = 2 ** 96 - 1

# --- a book: deposit (96 bits), sum of all prices (96), second of `new_epoch` (40), gap (15), phase (9) ---------------
# The model that an epoch starts from is that of epoch (number - gap). Stored phases are TRADING, PUBLISHED,
# PROVED, STANDING and FAILED; the others follow from the clock.
SPENT_AT: constant(uint256) = 96
OPENED_AT: constant(uint256) = 192
GAP_AT: constant(uint256) = 232
PHASE_AT: constant(uint256) = 247

# --- a tally: prices of who delivered (96 bits), deadline (40), three counts and the dust (24 each), two flags ------
# Counts are those of providers: bought; of these the silent, neither accepted nor revealed nor listed; and those that
# revealed and may be refuted. The last two are at most the first, which `buy` keeps below 2^24.
DEADLINE_AT: constant(uint256) = 96
ONE_BOUGHT: constant(uint256) = 2 ** 136
ONE_SILENT: constant(uint256) = 2 ** 160
ONE_REVEALED: constant(uint256) = 2 ** 184
DUST_AT: constant(uint256) = 208                # what is left of the bonus after it went by weight: less than 128 units
WEIGHED: constant(uint256) = 2 ** 232           # somebody has a weight
REFUNDED: constant(uint256) = 2 ** 233          # the acquirer has claimed
COUNT: constant(uint256) = 2 ** 24 - 1
BOUGHT: constant(uint256) = COUNT * ONE_BOUGHT      # the fields of the three counts
SILENT: constant(uint256) = COUNT * ONE_SILENT
REVEALED: constant(uint256) = COUNT * ONE_REVEALED
TIME: constant(uint256) = 2 ** 40 - 1

# --- a record: state (7 bits), price (17), weight (17), then 215 bits of the digest of what was committed to ----------
PRICE_AT: constant(uint256) = 7
WEIGHT_AT: constant(uint256) = 24
STATE: constant(uint256) = 2 ** 7 - 1
UNITS: constant(uint256) = 2 ** 17 - 1
DIGEST: constant(uint256) = max_value(uint256) - (2 ** 41 - 1)


@internal
@pure
def phase(book: uint256) -> Phase:
    return convert(book >> PHASE_AT, Phase)


@internal
@pure
def with_phase(book: uint256, phase: Phase) -> uint256:
    return book & (2 ** PHASE_AT - 1) | convert(phase, uint256) << PHASE_AT


@internal
@pure
def opened(book: uint256) -> uint256:
    return (book >> OPENED_AT) & TIME


@internal
@pure
def gap(book: uint256) -> uint256:
    return (book >> GAP_AT) & MAX_GAP


@internal
@pure
def spent(book: uint256) -> uint256:
    return (book >> SPENT_AT) & MAX_MONEY


@internal
@pure
def reward(book: uint256, ratio: uint256) -> uint256:
    # deposit = reward + penalty, penalty = reward * ratio / 10000, the odd unit in the penalty
    return unsafe_mul(book & MAX_MONEY, BASIS) // unsafe_add(BASIS, ratio)  # below 2^110; at most 2^21


@internal
@pure
def count(tally: uint256, one: uint256) -> uint256:
    return tally // one & COUNT


@internal
@pure
def deadline(tally: uint256) -> uint256:
    return (tally >> DEADLINE_AT) & TIME


@internal
@pure
def with_deadline(tally: uint256, deadline: uint256) -> uint256:
    return tally & ~(TIME << DEADLINE_AT) | deadline << DEADLINE_AT


@internal
@pure
def state(record: uint256) -> State:
    return convert(record & STATE, State)


@internal
@pure
def with_state(record: uint256, state: State) -> uint256:
    return record & ~STATE | convert(state, uint256)


@internal
@pure
def part(whole: uint256, units: uint256) -> uint256:
    # The product first: nothing is lost where `whole` is small.
    return unsafe_mul(whole, units) // WHOLE  # below 2^96 times 2^17


@internal
@pure
def units(ask: uint256, reward: uint256) -> uint256:
    # The smallest price that is at least the ask, which is at most the reward.
    if ask == 0:
        return 0
    return unsafe_sub(unsafe_add(unsafe_mul(ask, WHOLE), reward), 1) // reward  # ask <= reward < 2^96, ask > 0


@internal
@pure
def price(record: uint256, reward: uint256) -> uint256:
    return self.part(reward, (record >> PRICE_AT) & UNITS)


@internal
@pure
def weight(record: uint256) -> uint256:
    return (record >> WEIGHT_AT) & UNITS


@internal
@view
def owed(record: uint256, book: uint256, ratio: uint256, phase: Phase) -> uint256:
    # What a provider may claim of an epoch that is final.
    state: State = self.state(record)
    delivered: State = State.ACCEPTED | State.REVEALED | State.LISTED
    if state not in delivered:
        return 0
    reward: uint256 = self.reward(book, ratio)
    amount: uint256 = self.price(record, reward)
    if phase == Phase.SETTLED and state == State.LISTED:
        amount += self.part(reward - self.spent(book), self.weight(record))
    return amount


@internal
@view
def refund(book: uint256, tally: uint256, ratio: uint256, phase: Phase) -> uint256:
    # What the acquirer may claim of an epoch that is final. With what all providers are owed and the penalty of a failed
    # epoch, which is nobody's, it makes the deposit, to the unit.
    if tally & REFUNDED != 0:
        return 0
    deposit: uint256 = book & MAX_MONEY
    if phase == Phase.EMPTY:
        return deposit
    reward: uint256 = unsafe_mul(deposit, BASIS) // unsafe_add(BASIS, ratio)  # as in `reward`
    delivered: uint256 = tally & MAX_MONEY
    if phase == Phase.FAILED:
        return unsafe_sub(reward, delivered)  # delivered <= spent <= reward
    rest: uint256 = unsafe_sub(deposit, delivered)  # and the reward is at most the deposit
    if tally & WEIGHED == 0:
        return rest
    kept: uint256 = unsafe_add((book >> SPENT_AT) & MAX_MONEY, (tally >> DUST_AT) & COUNT)  # dust <= reward - spent
    return unsafe_sub(rest, unsafe_sub(reward, kept))  # kept <= reward; rest >= reward - delivered >= reward - kept
