# SPDX-License-Identifier: BSD-3-Clause
"""The same in Python, by mpi4py: buffers, MPI_IN_PLACE, a user's operator, pickled objects."""

from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
root = min(1, ranks - 1)

everything = array("i", [3 * i for i in range(2 * ranks)]) if rank == root else None
mine = array("i", [-1, -1])
world.Scatter([everything, 2, MPI.INT] if rank == root else None, [mine, 2, MPI.INT], root=root)
assert mine[1] == 3 * (2 * rank + 1), mine

gathered = array("i", [0] * (2 * ranks))
world.Allgather([mine, 2, MPI.INT], [gathered, 2, MPI.INT])
assert list(gathered) == [3 * i for i in range(2 * ranks)], gathered

total = array("i", [rank])
world.Allreduce(MPI.IN_PLACE, [total, 1, MPI.INT], op=MPI.SUM)
assert total[0] == ranks * (ranks - 1) // 2, total

total = array("i", [rank])
world.Scan(MPI.IN_PLACE, [total, 1, MPI.INT], op=MPI.SUM)
assert total[0] == rank * (rank + 1) // 2, total
assert world.exscan(str(rank)) == (None if rank == 0 else "".join(map(str, range(rank))))

word = array("i", [7 if rank == 0 else -1])
block = array("i", [-1, -1])
waiting = [
    world.Ibcast([word, 1, MPI.INT], root=0),
    world.Iscatter(
        [everything, 2, MPI.INT] if rank == root else None, [block, 2, MPI.INT], root=root
    ),
]
MPI.Request.Waitall(waiting)
assert word[0] == 7, word
assert block[1] == 3 * (2 * rank + 1), block

words = world.bcast({"any": "object"} if rank == 0 else None, root=0)
assert words == {"any": "object"}, words
assert world.allgather(str(rank)) == [str(r) for r in range(ranks)]

half = world.Split(rank % 2, rank)
assert half.bcast(rank, root=0) == rank % 2
half.Free()
world.Barrier()
if rank == 0:
    print("all right")
