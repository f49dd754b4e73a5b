"""Loops over eight numbers at once, written for the compiler: it does not see by itself that it may.

An array is read as lines of eight numbers, each line an entry. They may be float32 or float64; sums are float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 8

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_SUM = ("contract", "nsz")
_SUMS = 4


class _Code:
    """Writes the code of one call."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.types, self.args = context, builder, signature.args, args

    def data(self, i: int) -> Any:
        """Give where the array that is argument i begins."""
        return self.context.make_array(self.types[i])(self.context, self.builder, self.args[i]).data

    def number(self, i: int, k: Any) -> Any:
        """Load number k of argument i."""
        return self.builder.load(self.builder.gep(self.data(i), [k]))

    def load(self, i: int, entry: Any) -> Any:
        """Load an entry of argument i, as float64."""
        pointer, element = self._at(i, entry)
        loaded = self.builder.load(pointer)
        loaded.align = self.context.get_abi_sizeof(element)
        return loaded if element == _DOUBLE else self.builder.fpext(loaded, _VECTOR)

    def store(self, i: int, entry: Any, value: Any) -> None:
        """Store an entry of argument i."""
        pointer, element = self._at(i, entry)
        if element != _DOUBLE:
            value = self.builder.fptrunc(value, ir.VectorType(element, LANES))
        self.builder.store(value, pointer).align = self.context.get_abi_sizeof(element)

    def _at(self, i: int, entry: Any) -> tuple[Any, Any]:
        element = self.context.get_data_type(self.types[i].dtype)
        first = self.builder.gep(self.data(i), [self.builder.mul(entry, _int(LANES))])
        return self.builder.bitcast(first, ir.VectorType(element, LANES).as_pointer()), element

    def spread(self, value: Any) -> Any:
        """Put one number into all lanes."""
        nothing, zeros = ir.Constant(_VECTOR, ir.Undefined), ir.VectorType(ir.IntType(32), LANES)
        single = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(single, nothing, ir.Constant(zeros, [0] * LANES))

    def add(self, one: Any, other: Any) -> Any:
        """Add two vectors."""
        return self.builder.fadd(one, other, flags=_SUM)

    def take(self, one: Any, other: Any) -> Any:
        """Take one vector off another."""
        return self.builder.fsub(one, other, flags=_SUM)

    def times(self, one: Any, other: Any) -> Any:
        """Multiply two vectors."""
        return self.builder.fmul(one, other, flags=_SUM)

    def sum(self, lo: Any, hi: Any, term: Callable[[Any], Any]) -> Any:
        """Sum up what `term` gives for k from lo to below hi: in four sums, of which none waits for another."""
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

    def weighted(self) -> Any:
        """Sum up what `add_weighted` sets an entry to."""
        _, _, _, entry, _, start, _, _, lo, hi = self.args

        def term(k: Any) -> Any:
            place = self.builder.add(start, self.number(6, k))
            return self.times(self.load(4, place), self.spread(self.number(7, k)))

        return self.add(self.load(2, entry), self.sum(lo, hi, term))


def _int(value: int) -> Any:
    return ir.Constant(_INT, value)


def _compiled(function: Any) -> Callable[..., None]:
    """Let kernels call a function that says what the types of its arguments are, and how its code is written."""
    compiled: Callable[..., None] = intrinsic(function)
    return compiled


def _written(signature: Any, write: Callable[[_Code], None]) -> tuple[Any, Any]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        write(_Code(context, builder, signature, args))
        return context.get_dummy_value()

    return signature, generate


@_compiled
def add_weighted(  # type: ignore[no-untyped-def]
    typing, out, at, before, entry, table, start, places, weights, lo, hi
):
    """Set out[at] to before[entry] and the sum of weights[k] * table[start + places[k]], k from lo to below hi."""

    def write(code: _Code) -> None:
        code.store(0, code.args[1], code.weighted())

    return _written(types.void(out, at, before, entry, table, start, places, weights, lo, hi), write)


@_compiled
def take_square(  # type: ignore[no-untyped-def]
    typing, out, at, before, entry, table, start, places, weights, lo, hi
):
    """Take off out[at] the square of what `add_weighted` would set it to."""

    def write(code: _Code) -> None:
        along, at = code.weighted(), code.args[1]
        code.store(0, at, code.take(code.load(0, at), code.times(along, along)))

    return _written(types.void(out, at, before, entry, table, start, places, weights, lo, hi), write)


@_compiled
def set_products(typing, out, at, x, first_x, y, first_y, n):  # type: ignore[no-untyped-def]
    """Set out[at] to the sum of x[first_x + k] * y[first_y + k], lane by lane, for k below n."""

    def write(code: _Code) -> None:
        b, (_, at, _, first_x, _, first_y, n) = code.builder, code.args

        def term(k: Any) -> Any:
            return code.times(code.load(2, b.add(first_x, k)), code.load(4, b.add(first_y, k)))

        code.store(0, at, code.sum(_int(0), n, term))

    return _written(types.void(out, at, x, first_x, y, first_y, n), write)


@_compiled
def take_outer(typing, out, line, x, first, row, columns, n, n_steps, stride):  # type: ignore[no-untyped-def]
    """Take steps off a line of a matrix: off out[line + j] the sum of x[s + row] * x[s + j] over the steps.

    j runs over the first n of `columns`, s from `first` on in strides; n_steps must be a constant.
    """
    if not isinstance(n_steps, types.IntegerLiteral):
        return None

    def write(code: _Code) -> None:
        b, (_, line, _, first, row, _, n, _, stride) = code.builder, code.args
        steps = [b.add(first, b.mul(stride, _int(k))) for k in range(n_steps.literal_value)]
        factors = [code.load(2, b.add(step, row)) for step in steps]
        with cgutils.for_range(b, n) as loop:
            j = code.number(5, loop.index)
            rest = code.load(0, b.add(line, j))
            for step, factor in zip(steps, factors, strict=True):
                rest = code.take(rest, code.times(factor, code.load(2, b.add(step, j))))
            code.store(0, b.add(line, j), rest)

    return _written(types.void(out, line, x, first, row, columns, n, n_steps, stride), write)
