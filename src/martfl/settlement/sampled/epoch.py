"""One epoch's aggregation and proof, in the two steps that the chain puts between them.

    aggregate_model     before the randomness: the new model, whose root is posted
    state_samples       after it: statement and witness for the sampled parameters
    prove_samples       the proof

A provider of weight 0 may be absent (None): EMPTY stands in its place, and zeros in the witness.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from martfl.arrays import Integers
from martfl.settlement.errors import SettlementError
from martfl.settlement.sampled import groth16, quantise
from martfl.settlement.sampled.circuit import Witness, solve
from martfl.settlement.sampled.groth16 import Proof, ProvingKey
from martfl.settlement.sampled.quantise import Divided, Ints, Quantisation, check_range
from martfl.settlement.sampled.statement import Shape, Statement, fill
from martfl.settlement.sampled.update import empty_commitment, update_commitment
from martfl.settlement.weights import check_weights

Update = Integers


@dataclass(frozen=True)
class Aggregation:
    """The new model and what proves it: the aggregate and both remainders.

    Examples:
        >>> import numpy as np
        >>> mixed, moved = (Divided(np.array(values), np.zeros(2, int)) for values in ([3, 1], [8, 6]))
        >>> Aggregation(np.array([5, 5]), mixed, moved).model.tolist()
        [8, 6]
    """

    before: Ints  # (m,) W
    aggregate: Divided  # (m,) U', Ra
    update: Divided  # (m,) W', Ru

    @property
    def model(self) -> Ints:
        """W', the model to publish."""
        return self.update.values


def aggregate_model(
    *, before: Update, weights: Sequence[int], updates: Sequence[Update | None], terms: Quantisation
) -> Aggregation:
    """Equations (4) and (6) over the whole model.

    W' = W + Σ K_i·u_i / 2^16, in the integers of equations (4) and (6)

    Examples:
        >>> import numpy as np
        >>> shape = Shape(providers=1, samples=2)
        >>> terms = Quantisation.symmetric(shape, update_limit=0.5, model_limit=4.0, epsilon=1e-3)
        >>> before = terms.model.quantise([1.0, -1.0, 0.0]).values
        >>> update = terms.update.quantise([0.25, 0.0, -0.25]).values
        >>> bought = {'weights': [2**16], 'updates': [update]}
        >>> made = aggregate_model(before=before, **bought, terms=terms)
        >>> terms.model.dequantise(made.model).round(3).tolist()
        [1.25, -1.0, -0.25]
    """
    units = check_weights(weights, providers=len(updates))
    bought = [(k, u) for k, u in zip(units, updates, strict=True) if k]
    for i, (k, u) in enumerate(zip(units, updates, strict=True)):
        if k and u is None:
            raise SettlementError(f"provider {i} has weight {k} but no update")
    old = check_range(before, bits=terms.model.bits, name="model")
    mixed = quantise.aggregate([u for _, u in bought if u is not None], [k for k, _ in bought], terms=terms)
    return Aggregation(old, mixed, quantise.update(old, mixed.values, terms=terms))


def state_samples(
    aggregated: Aggregation,
    *,
    shape: Shape,
    terms: Quantisation,
    weights: Sequence[int],
    updates: Sequence[Update | None],
    blindings: Sequence[int],
    indices: Sequence[int],
) -> tuple[Statement, Witness]:
    """What is to be proved about the sampled parameters, with every slot of the market filled.

    Examples:
        >>> import numpy as np
        >>> shape = Shape(providers=1, samples=2)
        >>> terms = Quantisation.symmetric(shape, update_limit=0.5, model_limit=4.0, epsilon=1e-3)
        >>> before = terms.model.quantise([1.0, -1.0, 0.0]).values
        >>> update = terms.update.quantise([0.25, 0.0, -0.25]).values
        >>> bought = {'weights': [2**16], 'updates': [update]}
        >>> made = aggregate_model(before=before, **bought, terms=terms)
        >>> parts = {'shape': shape, 'terms': terms, 'blindings': [7], 'indices': [0, 2]}
        >>> statement, witness = state_samples(made, **parts, **bought)
        >>> statement.weights, statement.new == tuple(made.model[[0, 2]].tolist())
        ((65536,), True)
    """
    units = fill(check_weights(weights, providers=len(updates)), count=shape.providers, with_=0)
    rows = [_sampled(u, indices) if k else (0,) * len(indices) for k, u in zip(units, updates, strict=False)]
    rows += [(0,) * len(indices)] * (shape.providers - len(rows))
    hidden = [r if k else 0 for k, r in zip(units, fill(blindings, count=shape.providers, with_=0), strict=True)]
    witness = Witness(
        updates=tuple(rows),
        blindings=tuple(hidden),
        aggregate=_sampled(aggregated.aggregate.values, indices),
        aggregate_remainders=_sampled(aggregated.aggregate.remainders, indices),
        update_remainders=_sampled(aggregated.update.remainders, indices),
    )
    return _statement(aggregated, witness, shape=shape, terms=terms, weights=units, indices=indices), witness


def prove_samples(key: ProvingKey, statement: Statement, witness: Witness) -> Proof:
    """The proof; raises where the statement is false.

    Examples:
        >>> import numpy as np
        >>> from martfl.settlement.sampled.keys import cached_keys
        >>> shape = Shape(providers=1, samples=1)
        >>> terms = Quantisation.symmetric(shape, update_limit=0.5, model_limit=4.0, epsilon=1e-3)
        >>> before, update = terms.model.quantise([1.0, -1.0]).values, terms.update.quantise([0.25, 0.0]).values
        >>> bought = {'weights': [2**16], 'updates': [update]}
        >>> made = aggregate_model(before=before, **bought, terms=terms)
        >>> parts = {'shape': shape, 'terms': terms, 'blindings': [7], 'indices': [0]}
        >>> statement, witness = state_samples(made, **parts, **bought)
        >>> key = cached_keys(shape)
        >>> groth16.verify(key.verifying, prove_samples(key, statement, witness), statement.public_inputs())
        True
    """
    return groth16.prove(key, solve(statement, witness))


def sampled_values(values: Update, indices: Sequence[int]) -> tuple[int, ...]:
    """The values at the sampled indices, as plain integers."""
    return _sampled(values, indices)


def _statement(
    aggregated: Aggregation,
    witness: Witness,
    *,
    shape: Shape,
    terms: Quantisation,
    weights: Sequence[int],
    indices: Sequence[int],
) -> Statement:
    empty = empty_commitment(shape)
    rows = zip(weights, witness.updates, witness.blindings, strict=True)
    return Statement(
        shape=shape,
        constants=terms.constants(),
        weights=tuple(weights),
        old=_sampled(aggregated.before, indices),
        new=_sampled(aggregated.model, indices),
        commitments=tuple(update_commitment(q, blinding=r, shape=shape) if k else empty for k, q, r in rows),
    )


def _sampled(values: Update | None, indices: Sequence[int]) -> tuple[int, ...]:
    if values is None:
        raise SettlementError("a provider with a weight has an update, got none")
    return tuple(int(values[j]) for j in indices)
