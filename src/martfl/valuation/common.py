"""What updates have in common: how much of the shared signal each holds, and who holds the same noise.

    d_i = a_i·s + √(1 − a_i²)·e_i     a unit direction is a loading a_i of the common signal s, and noise
    G_ij = a_i·a_j                    for i ≠ j, as far as the noises have nothing in common

A loading does not change with an update's length. More data or better labels mean less noise and a larger loading:
the information a² / (1 − a²) grows with the rows that an update was trained on, so that parts of one data set hold
together what the whole holds. Whoever hands in the same noise under several names shows by what is left of G.
"""

from dataclasses import dataclass

import numpy as np

from martfl.arrays import Floats

TOP, SURE = 0.995, 0.98  # largest loading of a fit; and that beyond which no difference is believed
LEAST = 1e-3  # smallest loading: below it there is no signal
ALIKE, MOST = (
    1.5,
    0.62,
)  # times the cosine that is above this part of a seller's: two as alike do not vouch for each other
FAR_BETTER = 0.5  # of the error: honest markets have two fits, too, where all are alike
MEDIANS, MEANS = 8, 40  # rounds of the fit, at most
SETTLED = 1e-5  # of a loading
FAR, NORMAL = 4.0, 1.4826  # deviations at which two noises are too alike to vouch; deviations in a median distance
NEAR = 0.3  # correlation of noises up to which no two are too alike, whatever is usual
MANY = 5.0  # wallets of the same noise that count as one where it is asked what is usual
FEW, FEWEST = 20.0, 10.0  # degrees of freedom at which a fit counts half, and below which not at all: 6 sellers
UNKNOWN = 30.0  # the error of what cannot be told
TINY = 1e-12


@dataclass(frozen=True)
class Common:
    """The common signal among k directions.

    information = a² / (1 − a²)

    Examples:
        >>> common = Common(np.array([0.8, 0.6]), np.ones(2), np.ones(2), 0.1)
        >>> common.information.round(4).tolist()
        [1.7778, 0.5625]
    """

    loadings: Floats  # [k] in [LEAST, TOP]
    alone: Floats  # [k] 1 over the number of those that hold the same noise, itself included
    tied: Floats  # [k] 1, or less where it has little in common with anybody: noise has not
    error: float  # relative error of the information, from what the loadings leave unexplained

    @property
    def information(self) -> Floats:
        """[k] signal over noise; 0 where there is no signal."""
        return information(self.loadings)


def information(loadings: Floats) -> Floats:
    """a² / (1 − a²); 0 for the smallest loading."""
    cut = np.clip(loadings, 0.0, SURE)
    return np.where(cut > LEAST, cut**2 / (1.0 - cut**2), 0.0)


def find_common(gram: Floats, start: Floats) -> Common:
    """The loadings that explain the cosines [k, k] best, beginning from `start` [k], where larger is better.

    a_i = Σ_j w_ij·G_ij / Σ_j w_ij·a_j over the others, who count by a_j / (1 − a_j²) and by how far they stand alone:
    wallets are not counted, only what they hold. Nobody vouches for whose noise it shares: w_ij falls to 0 where ρ_ij
    is FAR times the usual, and is 0 for two that are far more alike than either is with the others. Sellers of much
    data lose nothing by that, since the others speak for them. What is usual shows only once the loadings are about
    right; so they begin as weighted medians of G_ij / a_j, which a few that mix their updates cannot move.

    From a start that a few have made, the fit may settle on what these hold in common, and take the others' signal for
    noise that they share. Where it explains far less than the fit from what most cosines have in common, that counts.

    Examples:
        >>> import numpy as np
        >>> held = np.array([0.8, 0.8, 0.6, 0.4])
        >>> gram = np.outer(held, held) + np.diag(1 - held**2)
        >>> find_common(gram, np.ones(4)).loadings.round(2).tolist()
        [0.8, 0.8, 0.6, 0.4]
    """
    found = _fit(gram, start)
    most = np.linalg.eigh(gram)[1][:, -1]
    other = _fit(gram, np.clip(most * (np.sign(most.sum()) or 1.0), 0.0, None))
    return other if other.error < FAR_BETTER * found.error else found


def _fit(gram: Floats, start: Floats) -> Common:
    loadings, strangers = _first(gram, start), _strangers(gram)
    for step in (*[_middle] * MEDIANS, *[_mean] * MEANS):
        noise = _noise(gram, loadings)
        counted = strangers * loadings / (1.0 - loadings**2) * standing_alone(noise, loadings)
        before, found = loadings, step(gram, loadings, noise, counted)
        loadings = np.minimum(np.maximum((before + found) / 2, LEAST), TOP)
        if step is _mean and np.abs(loadings - before).max() < SETTLED:
            break
    noise = _noise(gram, loadings)
    alone = standing_alone(noise, loadings)
    tied = _ties(gram, noise, alone)
    return Common(loadings, alone, tied, _unexplained(noise, loadings, alone * tied**2))


def _middle(gram: Floats, loadings: Floats, noise: Floats, counted: Floats) -> Floats:
    """[k] the weighted medians of G_ij / a_j over the others."""
    weights = counted * (1.0 - np.clip(noise, 0.0, 1.0)) ** 2 * loadings  # [k, k]; 0 with itself
    found = gram / loadings
    order = np.argsort(found, axis=1, kind="stable")
    reached = np.take_along_axis(weights, order, axis=1).cumsum(axis=1)
    place = np.argmax(reached >= reached[:, -1:] / 2, axis=1)[:, None]
    return np.asarray(np.take_along_axis(np.take_along_axis(found, order, axis=1), place, axis=1)[:, 0])


def _mean(gram: Floats, loadings: Floats, noise: Floats, counted: Floats) -> Floats:
    """[k] Σ_j w_ij·G_ij / Σ_j w_ij·a_j over those whose noise is not far more alike than is usual.

    In what is usual, pairs count by their signal: wallets that hold nothing but noise are not asked.
    """
    pairs = np.outer(loadings, loadings) * _others(len(loadings))
    usual = NORMAL * median(np.abs(noise).ravel(), pairs.ravel())
    far = min(max(FAR * usual, NEAR), 1.0)
    weights = counted * np.clip(1.0 - (noise / far) ** 2, 0.0, None) ** 2
    np.fill_diagonal(weights, 0.0)
    return np.asarray((weights * gram).sum(axis=1) / np.maximum(weights @ loadings, TINY))


def standing_alone(noise: Floats, loadings: Floats) -> Floats:
    """[k] 1 / (Σ_j max(ρ_ij, 0) − what is usual beyond 1), at most 1: ρ is 1 with itself and with a copy.

    In what is usual, each counts by its signal and as far as it stands alone, 1 / MANY at least.
    """
    sums = np.clip(noise, 0.0, 1.0).sum(axis=1)
    usual = median(sums, loadings / np.minimum(sums, MANY)) - 1.0
    return np.asarray(1.0 / np.maximum(sums - usual, 1.0))


def median(values: Floats, weights: Floats) -> float:
    """The value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][min(int(np.searchsorted(reached, reached[-1] / 2)), len(values) - 1)])


def _first(gram: Floats, start: Floats) -> Floats:
    """The start, scaled to the cosines: a_i = f·start_i with Σ (G_ij − a_i·a_j)·a_i·a_j = 0 over pairs.

    Nobody starts above the median of those that start above 0: it only says which signal is meant.
    """
    shape = np.clip(np.nan_to_num(start), 0.0, None)
    usual = float(np.median(shape[shape > 0])) if shape.any() else 1.0
    shape = np.minimum(shape / usual, 1.0) if shape.any() else np.ones_like(shape)
    pairs = np.outer(shape, shape) * _others(len(shape))
    scale = (pairs * gram).sum() / max((pairs**2).sum(), TINY)
    return np.asarray(np.clip(shape * np.sqrt(max(scale, 0.0)), 0.01, TOP))


def _strangers(gram: Floats) -> Floats:
    """[k, k] 0 for two whose cosine is above ALIKE·√(m_i·m_j), else 1; m_i is above MOST of the cosines of i.

    Not the median: where wallets hold parts of something, two that hold a whole are alike, and are many.
    """
    k = len(gram)
    others = gram[_others(k) > 0].reshape(k, -1)  # [k, k − 1]
    usual = np.clip(np.quantile(others, MOST, axis=1), 0.0, None) if k > 1 else np.zeros(k)
    return np.where(gram > ALIKE * np.sqrt(np.outer(usual, usual)), 0.0, 1.0)


def _noise(gram: Floats, loadings: Floats) -> Floats:
    """[k, k] (G − a·aᵀ) / √((1 − a_i²)·(1 − a_j²)), with ones on the diagonal."""
    spread = np.sqrt(1.0 - loadings**2)
    found = (gram - loadings[:, None] * loadings) / (spread[:, None] * spread)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def _ties(gram: Floats, noise: Floats, alone: Floats) -> Floats:
    """[k] root mean square of the cosines with the others, copies left out; in full from half of the median on.

    Below 0, a cosine counts for no more than is usual below 0: opposite noises have nothing in common.
    """
    below = -gram[gram < 0]
    least = float(np.median(below)) if below.size else 0.0
    weights = (1.0 - np.clip(noise, 0.0, 1.0) ** 2) ** 2
    found = np.sqrt((weights * np.clip(gram, -least, None) ** 2).sum(axis=1) / np.maximum(weights.sum(axis=1), TINY))
    usual = median(found, alone)
    return np.minimum(1.0, 2.0 * found / usual) if usual > 0 else np.ones_like(found)


def _unexplained(noise: Floats, loadings: Floats, counted: Floats) -> float:
    """2·rms(ρ) / mean(a)² over pairs: what the noises have in common passes for signal or hides it.

    Each counts as far as it stands alone and has something in common with anybody: what sells noise does not make what
    the others show unclear.

    k loadings fit k·(k − 1)/2 cosines. What is left falls short of what was there by the degrees of freedom over the
    pairs, f = k·(k − 3)/2, and little is known of it where f is small: three sellers can always be explained.
    """
    k = len(loadings)
    pairs, free = k * (k - 1) / 2, k * (k - 3) / 2
    if free < FEWEST:
        return UNKNOWN
    pairs_counted = np.outer(counted, counted) * _others(k)
    left = (pairs_counted * noise**2).sum() / max(pairs_counted.sum(), TINY)
    rms = np.sqrt(left * pairs / free * (1.0 + FEW / free))
    usual = (counted * loadings).sum() / max(counted.sum(), TINY)
    return float(min(UNKNOWN, 2.0 * rms / max(usual**2, TINY)))


def _others(count: int) -> Floats:
    return 1.0 - np.eye(count)
