# pragma version 0.4.3
"""
@title The books of an epoch: what is stored in one word, and who is owed what.
@notice Pure functions only. An epoch and a provider's record are one storage word each, so that a step of the
        protocol costs one cold write.
"""

# --- phases; everything from SETTLED on is final ---------------------------------------------------------------
OPEN: constant(uint256) = 1        # deposits and commitments until the deadline, then purchases
PREPARED: constant(uint256) = 2    # weights are fixed; providers deliver; the acquirer drops or publishes
PUBLISHED: constant(uint256) = 3   # exact: objections until the deadline; sampled: waiting for the randomness
RANDOMISED: constant(uint256) = 4  # sampled: samples are drawn, waiting for the public inputs
INPUTS: constant(uint256) = 5      # sampled: waiting for the proof
PROVED: constant(uint256) = 6      # sampled: objections until the deadline
SETTLED: constant(uint256) = 7     # honest: the reward goes by weight, the penalty back to the acquirer
FAILED: constant(uint256) = 8      # late, false or objected: reward and penalty go by weight
EMPTY: constant(uint256) = 9       # nobody was bought: everything returns to the acquirer
DROPPED: constant(uint256) = 10    # everybody bought was dropped: the reward goes to the other committed providers
ABANDONED: constant(uint256) = 11  # never prepared: the penalty goes to the committed providers in equal parts

# --- a provider's record: 29 bytes of the commitment's hash, then flags and weight --------------------------------
WEIGHT: constant(uint256) = 2 ** 17 - 1
ADVANCE: constant(uint256) = 2 ** 17
OUT: constant(uint256) = 2 ** 18       # dropped
OBJECTED: constant(uint256) = 2 ** 19
CLAIMED: constant(uint256) = 2 ** 20
COMMITTED: constant(uint256) = 2 ** 21
DIGEST: constant(uint256) = max_value(uint256) - (2 ** 24 - 1)

WHOLE: constant(uint256) = 2 ** 16      # what the weights of an epoch sum to
BASIS: constant(uint256) = 10_000       # the penalty ratio is in basis points of the reward
MAX_COUNT: constant(uint256) = 2 ** 16 - 1
MAX_DEPOSIT: constant(uint256) = 2 ** 96 - 1


struct Epoch:
    deposit: uint256    # reward and penalty together
    deadline: uint256   # of the phase; the last second counts as in time
    providers: uint256  # committed and not dropped
    advanced: uint256   # bought in advance and not dropped
    forfeited: uint256  # bought in advance and dropped: their fees belong to the other providers
    gap: uint256        # the model that this epoch starts from is that of epoch (number - gap)
    weight: uint256     # bought and not dropped
    objected: uint256   # weight of those that objected
    phase: uint256
    refunded: bool      # the acquirer has claimed


struct Shares:
    unit: uint256      # for each unit of weight
    each: uint256      # for each committed provider that was not dropped
    acquirer: uint256  # refund and rounding dust


@internal
@pure
def pack(e: Epoch) -> uint256:
    # Every field was checked against its width where it changes.
    low: uint256 = e.phase | convert(e.refunded, uint256) << 8 | e.objected << 16 | e.weight << 36 | e.gap << 56
    return low | e.forfeited << 72 | e.advanced << 88 | e.providers << 104 | e.deadline << 120 | e.deposit << 160


@internal
@pure
def unpack(word: uint256) -> Epoch:
    return Epoch(
        deposit=word >> 160,
        deadline=(word >> 120) & (2 ** 40 - 1),
        providers=(word >> 104) & MAX_COUNT,
        advanced=(word >> 88) & MAX_COUNT,
        forfeited=(word >> 72) & MAX_COUNT,
        gap=(word >> 56) & MAX_COUNT,
        weight=(word >> 36) & (2 ** 20 - 1),
        objected=(word >> 16) & (2 ** 20 - 1),
        phase=word & 255,
        refunded=(word >> 8) & 1 == 1,
    )


@internal
@pure
def reward(deposit: uint256, ratio: uint256) -> uint256:
    # deposit = reward + penalty, penalty = reward * ratio / 10000, the odd unit in the penalty
    return deposit * BASIS // (BASIS + ratio)


@internal
@pure
def shares(e: Epoch, fee: uint256, ratio: uint256) -> Shares:
    # Of a final epoch. A pot by weight (settled, failed) or in equal parts; what is left over is the acquirer's, so that
    # unit * weight + each * providers + acquirer = deposit + forfeited * fee, to the last unit.
    # Where all who committed were dropped, nobody is left to take their part, and the acquirer must not: the drops are
    # void. All weights of `prepare` count again, and whoever was bought in advance keeps its own fee.
    phase: uint256 = e.phase
    providers: uint256 = e.providers
    weight: uint256 = e.weight
    lost: uint256 = e.forfeited * fee
    if providers == 0:
        providers = e.forfeited
        weight = WHOLE
        lost = 0
        if phase == DROPPED:
            phase = SETTLED
    pot: uint256 = self.reward(e.deposit, ratio)
    if phase == FAILED:
        pot = e.deposit
    elif phase == ABANDONED:
        pot = e.deposit - pot
    elif phase == EMPTY:
        pot = 0
    pot += lost
    unit: uint256 = 0
    each: uint256 = 0
    if phase <= FAILED:
        unit = pot // weight
    elif providers != 0:
        each = pot // providers
    return Shares(unit=unit, each=each, acquirer=e.deposit + lost - unit * weight - each * providers)


@internal
@pure
def owed(record: uint256, e: Epoch, fee: uint256, ratio: uint256) -> uint256:
    # What a provider may claim: nothing when dropped (unless all were), else its part and the advance fee.
    if record & COMMITTED == 0 or record & CLAIMED != 0 or (record & OUT != 0 and e.providers != 0):
        return 0
    s: Shares = self.shares(e, fee, ratio)
    amount: uint256 = s.unit * (record & WEIGHT) + s.each
    if record & ADVANCE != 0:
        amount += fee
    return amount
