"""The operations of `vectors` as vector instructions of LLVM."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 8

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_FLAGS = ("contract", "nsz")
_SUMS = 4


class _Code:
    """The code of one call, as it is being written; arguments are named as in the call."""

    def __init__(self, names: Sequence[str], context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder = context, builder
        self.values = dict(zip(names, args, strict=True))
        self.types = dict(zip(names, signature.args, strict=True))

    def number(self, array: str, k: Any) -> Any:
        """Load number k of an array."""
        return self.builder.load(self.builder.gep(self._data(array), [k]))

    def load(self, array: str, entry: Any) -> Any:
        """Load an entry of an array, eight numbers, as float64."""
        pointer, element = self._pointer(array, entry)
        loaded = self.builder.load(pointer)
        loaded.align = self.context.get_abi_sizeof(element)
        return loaded if element == _DOUBLE else self.builder.fpext(loaded, _VECTOR)

    def store(self, array: str, entry: Any, value: Any) -> None:
        """Store an entry of an array."""
        pointer, element = self._pointer(array, entry)
        if element != _DOUBLE:
            value = self.builder.fptrunc(value, ir.VectorType(element, LANES))
        self.builder.store(value, pointer).align = self.context.get_abi_sizeof(element)

    def _data(self, array: str) -> Any:
        return self.context.make_array(self.types[array])(self.context, self.builder, self.values[array]).data

    def _pointer(self, array: str, entry: Any) -> tuple[Any, Any]:
        element = self.context.get_data_type(self.types[array].dtype)
        first = self.builder.gep(self._data(array), [self.builder.mul(entry, _int(LANES))])
        return self.builder.bitcast(first, ir.VectorType(element, LANES).as_pointer()), element

    def broadcast(self, value: Any) -> Any:
        """Copy one number into all lanes."""
        nothing, zeros = ir.Constant(_VECTOR, ir.Undefined), ir.VectorType(ir.IntType(32), LANES)
        single = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(single, nothing, ir.Constant(zeros, [0] * LANES))

    def add(self, one: Any, other: Any) -> Any:
        """Add two vectors."""
        return self.builder.fadd(one, other, flags=_FLAGS)

    def subtract(self, one: Any, other: Any) -> Any:
        """Subtract one vector from another."""
        return self.builder.fsub(one, other, flags=_FLAGS)

    def multiply(self, one: Any, other: Any) -> Any:
        """Multiply two vectors."""
        return self.builder.fmul(one, other, flags=_FLAGS)

    def sum(self, lo: Any, hi: Any, term: Callable[[Any], Any]) -> Any:
        """Sum `term(k)` for k from lo to below hi, in four sums, so that no addition waits for the last."""
        b, zero = self.builder, ir.Constant(_VECTOR, [0.0] * LANES)
        totals = [cgutils.alloca_once_value(b, zero) for _ in range(_SUMS)]
        for total in totals:
            b.store(zero, total)
        even = b.sub(hi, b.and_(b.sub(hi, lo), _int(_SUMS - 1)))
        for first, end, some in ((lo, even, totals), (even, hi, totals[:1])):
            with cgutils.for_range_slice(b, first, end, _int(len(some))) as (k, _):
                for i, total in enumerate(some):
                    b.store(self.add(b.load(total), term(b.add(k, _int(i)))), total)
        return functools.reduce(self.add, [b.load(total) for total in totals])

    def weighted_sum(self) -> Any:
        """Compute the value to which `add_weighted` sets an entry."""
        values = self.values

        def term(k: Any) -> Any:
            place = self.builder.add(values["start"], self.number("places", k))
            return self.multiply(self.load("table", place), self.broadcast(self.number("weights", k)))

        return self.add(self.load("before", values["entry"]), self.sum(values["lo"], values["hi"], term))


def _int(value: int) -> Any:
    return ir.Constant(_INT, value)


def _operation(write: Callable[[_Code], None], names: Sequence[str], *types_of: Any) -> tuple[Any, Any]:
    """Return the signature of a call, and the function that writes its code."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        write(_Code(names, context, builder, signature, args))
        return context.get_dummy_value()

    return types.void(*types_of), generate


_WEIGHTED = ("out", "at", "before", "entry", "table", "start", "places", "weights", "lo", "hi")


@intrinsic
def _add_weighted(typing, out, at, before, entry, table, start, places, weights, lo, hi):  # type: ignore[no-untyped-def]
    """Set out[at] to before[entry] plus a weighted sum of entries of a table."""

    def write(code: _Code) -> None:
        code.store("out", code.values["at"], code.weighted_sum())

    return _operation(write, _WEIGHTED, out, at, before, entry, table, start, places, weights, lo, hi)


@intrinsic
def _subtract_square(typing, out, at, before, entry, table, start, places, weights, lo, hi):  # type: ignore[no-untyped-def]
    """Subtract from out[at] the square of the value to which `add_weighted` would set it."""

    def write(code: _Code) -> None:
        along, at = code.weighted_sum(), code.values["at"]
        code.store("out", at, code.subtract(code.load("out", at), code.multiply(along, along)))

    return _operation(write, _WEIGHTED, out, at, before, entry, table, start, places, weights, lo, hi)


@intrinsic
def _set_products(typing, out, at, x, x_from, y, y_from, n):  # type: ignore[no-untyped-def]
    """Set out[at] to the sum of products of n entries of two arrays, lane by lane."""

    def write(code: _Code) -> None:
        b, values = code.builder, code.values

        def term(k: Any) -> Any:
            ours, theirs = b.add(values["x_from"], k), b.add(values["y_from"], k)
            return code.multiply(code.load("x", ours), code.load("y", theirs))

        code.store("out", values["at"], code.sum(_int(0), values["n"], term))

    return _operation(write, ("out", "at", "x", "x_from", "y", "y_from", "n"), out, at, x, x_from, y, y_from, n)


@intrinsic
def _subtract_outer(typing, out, row_start, x, first, row, columns, n, n_steps, stride):  # type: ignore[no-untyped-def]
    """Subtract outer products of steps from the first n columns of a row of a matrix."""
    if not isinstance(n_steps, types.IntegerLiteral):
        return None

    def write(code: _Code) -> None:
        b, values = code.builder, code.values
        steps = [b.add(values["first"], b.mul(values["stride"], _int(k))) for k in range(n_steps.literal_value)]
        factors = [code.load("x", b.add(step, values["row"])) for step in steps]
        with cgutils.for_range(b, values["n"]) as loop:
            j = code.number("columns", loop.index)
            entry = b.add(values["row_start"], j)
            rest = code.load("out", entry)
            for step, factor in zip(steps, factors, strict=True):
                rest = code.subtract(rest, code.multiply(factor, code.load("x", b.add(step, j))))
            code.store("out", entry, rest)

    names = ("out", "row_start", "x", "first", "row", "columns", "n", "n_steps", "stride")
    return _operation(write, names, out, row_start, x, first, row, columns, n, n_steps, stride)


# The types are those of the arguments that kernels pass; Numba adds the typing context as the first.
add_weighted: Callable[..., None] = _add_weighted
subtract_square: Callable[..., None] = _subtract_square
set_products: Callable[..., None] = _set_products
subtract_outer: Callable[..., None] = _subtract_outer
