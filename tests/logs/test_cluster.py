"""A real cluster of two worker processes, on this machine."""

import operator

from fairbandits import cluster


def test_here_and_there_the_same():
    def cut(n):
        return [range(start, 1000, n) for start in range(n)]

    assert cluster.map_reduce(cut, sum, operator.add) == 499500
    assert cluster.map_reduce(cut, sum, operator.add, "local") == 499500
