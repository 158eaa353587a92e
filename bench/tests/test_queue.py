"""A table as a queue: clients keep its length, what they leave is right, and damage is found."""

from __future__ import annotations

import glob

import pytest
from damaging import assert_each_damage_is_found

from lab import sysbench
from workloads.queue import Queue


def run(target, workload: Queue, threads: int = 4, seconds: float = 2) -> sysbench.ClientResult:
    result, = sysbench.run_load(workload.load(threads, seconds, 1), target.server.socket)
    return result


def lengths(target) -> tuple[int, int, int]:
    """Rows, and the least and the greatest id."""
    return target.query("SELECT COUNT(*), MIN(id), MAX(id) FROM queue")[0]


def test_each_damage_is_found(target):
    assert_each_damage_is_found(target, Queue(rows=200))


def test_the_rows_pass_through_and_the_queue_keeps_its_length(target):
    workload = Queue(rows=400)
    workload.prepare(target)
    assert (lengths(target)[0], workload.check(target)) == (400, [])
    for _ in range(2):
        result = run(target, workload)
        assert workload.check(target) == []
    # The oldest were taken; each side was at most two events ahead, in either load.
    count, least, greatest = lengths(target)
    assert 320 <= count <= 480
    assert least > 400 and greatest > 800
    assert result.client.unit == "row" and result.units == 10 * result.events > 0
    assert set(result.operations) == {"put", "take"}


def test_rows_of_all_names_pass_through(target):
    workload = Queue(rows=400, names=4)
    workload.prepare(target)
    assert workload.check(target) == []
    assert run(target, workload).units > 0
    assert workload.check(target) == []
    left = target.query("SELECT name, COUNT(*), MIN(producer) FROM queue GROUP BY name")
    assert len(left) == 4
    assert all(60 <= count <= 140 and producer > 0 for _, count, producer in left)


def test_as_many_clients_take_as_put(server_of):
    target = server_of("innodb")
    target.empty()
    workload = Queue(rows=400)
    workload.prepare(target)
    result = run(target, workload, threads=8)
    puts, takes = (result.operations[name].total for name in ("put", "take"))
    assert abs(puts - takes) <= 0.1 * puts + 4
    producers = {row[0] for row in target.query("SELECT DISTINCT producer FROM queue")}
    assert producers <= {0, 1, 2, 3, 4} and len(producers) > 1


def test_nothing_is_left_of_what_the_clients_wait_by(server_of):
    target = server_of("innodb")
    target.empty()
    workload = Queue(rows=200)
    workload.prepare(target)
    run(target, workload, threads=2, seconds=1)
    assert glob.glob("/dev/shm/sem.basalt-queue-*") == []


def test_a_run_of_so_many_events_ends(server_of):
    """Also where one side has done its last, and the other waits for it."""
    target = server_of("innodb")
    target.empty()
    workload = Queue(rows=200)
    workload.prepare(target)
    target.sysbench(workload.load(2, 0, 1).clients[0], events=51)
    assert workload.check(target) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_half_of_the_clients_cannot_put_when_they_are_odd(threads):
    with pytest.raises(ValueError, match="half of the clients"):
        Queue().load(threads, 1, 1)
