"""Match the cell that a step is: an LSTM's, a simple RNN's, or none that TFLite has a kernel for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fuseconv.transforms.rnn.polynomial import (
    ONE,
    Atom,
    Call,
    Columns,
    Monomial,
    Opaque,
    Part,
    Poly,
    Product,
    Source,
    Vector,
    bounds,
    factors,
    of_atom,
    poly,
)
from fuseconv.transforms.rnn.recurrence import Loop
from fuseconv.transforms.rnn.symbolic_step import Step

# What the kernels call the functions that they apply.
ACTIVATIONS = {"Tanh": "tanh", "Relu": "relu", "Relu6": "relu6"}


class NoCell(Exception):
    """The step is no cell that TFLite has a kernel for. The message says why."""


@dataclass(frozen=True)
class Gate:
    """A sum x @ kernel + h @ recurrent + bias (+ cell state * peephole), or the same with the sign changed. Parts of
    one sum are added up; bias: vectors of weights and a number."""

    kernel: tuple[Part, ...]
    recurrent: tuple[Part, ...]
    bias: Poly
    peephole: Part | None = None
    negative: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell.

    input: the number of the loop's input. states: loop variables, h and, of an LSTM, c. gates: of an LSTM in the order
    i, f, c, o; of a coupled one, where i is 1 - f, f, c, o. projection: of the output [units, out]. cell_clip,
    proj_clip: where the cell state and the projected output are clipped, 0 for nowhere."""

    kind: str
    input: int
    states: tuple[int, ...]
    units: int
    gates: tuple[Gate, ...]
    activation: str
    cell_clip: float = 0.0
    projection: Part | None = None
    proj_clip: float = 0.0

    @property
    def coupled(self) -> bool:
        return self.kind == "lstm" and len(self.gates) == 3


def recognize(loop: Loop) -> Cell:
    """Return the cell that a loop runs at each step. Raises NoCell."""
    step = Step(loop)
    if len(loop.states) == 2:
        for h, c in (loop.states, loop.states[::-1]):
            if any(_of_new(atom, c) for atom in _let_through(step, h)):
                return _lstm(step, h, c)
        raise NoCell(
            "a step carries two states, and computes neither as an LSTM does its output: output gate * tanh(cell state)"
        )
    if len(loop.states) == 1:
        return _rnn(step, loop.states[0])
    raise NoCell(f"a step hands {len(loop.states)} states on, where TFLite's RNN has one and its LSTM two")


def _let_through(step: Step, h: int) -> list[Atom]:
    """Return the factors of an LSTM's output, if the state h is one."""
    columns = step.definition(h)
    output = columns.whole if columns is not None else None
    return (output and _projected(output)[0].factors) or []


def _projected(output: Poly) -> tuple[Poly, Part | None, float]:
    """Return an output before it is projected, the matrix that does so, and where the result is clipped."""
    product, clip = output.atom, 0.0
    if isinstance(product, Call) and isinstance(product.argument.atom, Product):
        unclipped, clip = _unclipped(output, "output")
        product = unclipped.atom
    return (product.source, product.matrix, clip) if isinstance(product, Product) else (output, None, 0.0)


def _of_new(atom: Atom, c: int) -> bool:
    """Return whether a value is a function of what the step makes of the state c."""
    source = atom.argument.atom if isinstance(atom, Call) else None
    return isinstance(source, Source) and source.role == "next" and source.index == c


def _whole(columns: Columns | None) -> Poly:
    whole = columns.whole if columns is not None else None
    if whole is None:
        raise NoCell("a new state is put together from several parts, which TFLite's LSTM and RNN do not do")
    return whole


def _rnn(step: Step, h: int) -> Cell:
    """Match the step of an RNN with the state h: activation(W x + R h + b). Raises NoCell, which says what differs."""
    new = _whole(step.definition(h))
    units = step.width(h)
    assert units is not None
    function = new.atom
    activation, argument = "none", new
    if isinstance(function, Call):
        if function.name not in ("Tanh", "Relu"):
            raise NoCell(f"the activation is {describe(function)}, which TFLite's RNN lacks")
        activation, argument = ACTIVATIONS[function.name], function.argument
    if any(_is_sigmoid(atom) for monomial, _ in argument.terms for atom in factors(monomial) if len(monomial) > 1):
        raise NoCell("TFLite has no fused op for a GRU, or for gates that mix states as a GRU's do")
    number, gate = _gate(argument, h)
    return Cell("rnn", number, (h,), units, (gate,), activation)


def _lstm(step: Step, h: int, c: int) -> Cell:
    """Match the step of an LSTM with the states h and c: c = f * c + i * g, h = o * activation(c). Each gate is a
    function of its own sum W x + R h + b. Raises NoCell, which says what differs."""
    state, clip = _unclipped(_whole(step.definition(c)), "state")
    output, projection, proj_clip = _projected(_whole(step.definition(h)))
    units = step.width(c)
    assert units is not None
    old, new = (of_atom(Source(role, c, 0, units, units)) for role in ("state", "next"))
    through = output.factors or []
    if len(through) != 2:
        raise NoCell("the output is not output gate * activation(cell state), as TFLite's LSTM computes it")
    gate, emitted = sorted(through, key=lambda atom: _of_new(atom, c))
    activation = _activation(emitted, "state")
    sums, cells, negative = _entering(state, old, new, emitted.name if isinstance(emitted, Call) else "")
    sums.append(_gated(gate, "output"))
    candidate = sums[-2].atom
    assert candidate is not None
    if _activation(candidate, "candidate") != activation:
        raise NoCell("the cell state's input and output have different activations, and TFLite's LSTM has one for both")
    assert isinstance(candidate, Call)
    sums[-2] = candidate.argument
    found = [_gate(total, h, cell) for total, cell in zip(sums, cells)]
    if len({number for number, _ in found}) != 1:
        raise NoCell("the gates read different inputs, and those of TFLite's LSTM read the same")
    gates = [g for _, g in found]
    if negative:
        gates[0] = replace(gates[0], negative=True)
    return Cell("lstm", found[0][0], (h, c), units, tuple(gates), activation, clip, projection, proj_clip)


def _entering(state: Poly, old: Poly, new: Poly, name: str) -> tuple[list[Poly], tuple[Poly | None, ...], bool]:
    """Return what a new state is made of.

    These are: the sums of the gates i and f, or of f alone where i is 1 - f, and the candidate. The cell states that
    these gates, and the output's, may see. Whether f is 1 - the sigmoid of its sum.
    name: of the function that the output is made with."""
    coupled = _coupled(state, old)
    if coupled is not None:
        gate, candidate, negative = coupled
        return [_gated(gate, "forget"), of_atom(candidate)], (None, None, None), negative
    products = [factors(monomial) for monomial, coefficient in state.terms if coefficient == 1]
    kept = [[atom for atom in product if atom != old.atom] for product in products if old.atom in product]
    added = [product for product in products if old.atom not in product]
    if len(state.terms) != 2 or [len(p) for p in kept] != [1] or [len(p) for p in added] != [2]:
        raise NoCell(
            "the new cell state is not forget gate * old state + input gate * new values, as TFLite's LSTM computes it"
        )
    enters, candidate = sorted(added[0], key=lambda atom: (not _is_sigmoid(atom), _has_name(atom, name)))
    return [_gated(enters, "input"), _gated(kept[0][0], "forget"), of_atom(candidate)], (old, old, None, new), False


def _coupled(state: Poly, old: Poly) -> tuple[Atom, Atom, bool] | None:
    """Return the gate and the candidate of f * old + (1 - f) * new, or of (1 - f) * old + f * new, which is the third;
    None of any other state."""
    alone = [factors(m) for m, number in state.terms if number == 1 and len(factors(m)) == 1]
    taken = [factors(m) for m, number in state.terms if number == -1 and len(factors(m)) == 2]
    mixed = [factors(m) for m, number in state.terms if number == 1 and len(factors(m)) == 2]
    if [len(state.terms), len(alone), len(taken), len(mixed)] != [3, 1, 1, 1] or alone[0][0] not in taken[0]:
        return None
    whole = alone[0][0]
    gate = taken[0][1 - taken[0].index(whole)]
    if gate not in mixed[0]:
        return None
    other = mixed[0][1 - mixed[0].index(gate)]
    if old.atom not in (whole, other):
        return None
    return gate, (other if whole == old.atom else whole), whole == old.atom


def _unclipped(state: Poly, name: str) -> tuple[Poly, float]:
    """Return a state before it is clipped, and at which number."""
    clip = state.atom
    limits = bounds(clip.name) if isinstance(clip, Call) else None
    if limits is None or not isinstance(clip, Call):
        return state, 0.0
    low, high = limits
    if low != -high or not 0 < high < float("inf"):
        raise NoCell(f"the {name} is clipped to [{low:g}, {high:g}], which TFLite's LSTM cannot do")
    return clip.argument, high


def _is_sigmoid(atom: Atom) -> bool:
    return _has_name(atom, "Sigmoid")


def _has_name(atom: Atom, name: str) -> bool:
    return isinstance(atom, Call) and atom.name == name


def _gated(atom: Atom, name: str) -> Poly:
    """Return what a gate is the sigmoid of."""
    if isinstance(atom, Call) and atom.name == "Sigmoid":
        return atom.argument
    if isinstance(atom, Call):
        raise NoCell(f"the recurrent activation is {describe(atom)}, which TFLite's LSTM lacks")
    raise NoCell(f"the {name} gate is {describe(atom)}, no sigmoid")


def _activation(atom: Atom, name: str) -> str:
    if not isinstance(atom, Call) or atom.name not in ACTIVATIONS:
        raise NoCell(f"the activation of the {name} is {describe(atom)}, which TFLite's LSTM lacks")
    return ACTIVATIONS[atom.name]


def _gate(argument: Poly, h: int, cell: Poly | None = None) -> tuple[int, Gate]:
    """Return the weights of a gate, with the number of the loop's input that it reads."""
    kernel: list[Part] = []
    recurrent: list[Part] = []
    peephole: list[Part] = []
    bias: list[tuple[Monomial, float]] = []
    inputs: set[int] = set()
    for monomial, coefficient in argument.terms:
        atoms = factors(monomial)
        first = atoms[0] if atoms else None
        if monomial == ONE or (len(atoms) == 1 and isinstance(first, Vector) and coefficient == 1):
            bias.append((monomial, coefficient))
            continue
        if coefficient != 1:
            raise NoCell(f"a part of a gate is multiplied by {coefficient:g}")
        vectors = [atom for atom in atoms if isinstance(atom, Vector)]
        if cell is not None and len(atoms) == 2 and len(vectors) == 1:
            (other,) = [atom for atom in atoms if atom is not vectors[0]]
            if other == cell.atom:
                peephole.append(vectors[0].part)
                continue
        source = first.source.atom if isinstance(first, Product) and len(atoms) == 1 else None
        if not isinstance(source, Source) or not source.whole or not isinstance(first, Product):
            raise NoCell(f"a gate reads {' * '.join(sorted(map(describe, atoms)))}")
        if source.role == "x":
            kernel.append(first.matrix)
            inputs.add(source.index)
        elif source.role == "state" and source.index == h:
            recurrent.append(first.matrix)
        else:
            raise NoCell("a gate reads another state than the last output, which TFLite's LSTM has no weights for")
    if not kernel or not recurrent or len(inputs) != 1 or len(peephole) > 1:
        raise NoCell("a gate is not weights * input + weights * last output + bias, as in TFLite's LSTM and RNN")
    return inputs.pop(), Gate(tuple(kernel), tuple(recurrent), poly(bias), peephole[0] if peephole else None)


def describe(atom: Atom) -> str:
    """Return an atom in words, for a reason."""
    if isinstance(atom, Call):
        return atom.name if atom.name == "hard_sigmoid" else atom.name.partition(" ")[0].lower()
    if isinstance(atom, Opaque):
        return f"the result of {atom.value.op.type}" if atom.value.op is not None else atom.value.name
    if isinstance(atom, Source):
        return {"x": "the input", "state": "the last state", "next": "the new state"}[atom.role]
    return "a product of matrices" if isinstance(atom, Product) else "a weight"
