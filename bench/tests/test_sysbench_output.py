"""What is read from the output of Debian's sysbench; captured/ has what it really printed."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from basaltcli.errors import BasaltError
from lab import sysbench
from lab.histogram import Histogram
from lab.workload import Client, Load

_CAPTURED = Path(__file__).parent / "captured"
_CLIENT = Client("readers", "oltp_read_write", 2, {"tables": 1, "table-size": 500})


def captured(name: str) -> str:
    return (_CAPTURED / f"sysbench_{name}.result").read_text()


def result(name: str, client: Client = _CLIENT, ops_file: Path | None = None
           ) -> sysbench.ClientResult:
    return sysbench._result(client, 0, captured(name), ops_file)


def test_totals_are_those_that_sysbench_prints_at_its_end():
    held = result("held")
    assert (held.events, held.queries, held.errors, held.reconnects) == (1471, 29420, 0, 0)
    assert held.seconds == 8.0174
    assert held.latency.maximum == 2534.71
    assert held.units == 1471


def test_a_second_that_sysbench_did_not_report_counts_as_nothing_done():
    assert result("held").rates == [276.54, 136.04, 0.0, 0.0, 92.94, 308.80, 294.99, 268.78]


def test_lines_about_the_queue_of_a_fixed_rate_are_not_seconds():
    assert result("rate").rates == [46.82, 51.14]


def test_the_histogram_holds_every_event():
    for name in ("held", "rate"):
        assert result(name).latency.total == result(name).events


def test_percentiles_are_those_that_sysbench_computes():
    for name, printed in (("held", 48.34), ("rate", 61.08)):
        assert result(name).latency.percentile(0.99) == pytest.approx(printed, rel=0.02)


def test_units_are_events_times_what_an_event_does():
    client = Client("writers", "oltp_insert", 2, unit="row", per_event=100)
    counted = result("rate", client)
    assert counted.units == 100 * counted.events
    assert counted.rates == [4682.0, 5114.0]


def test_a_failing_client_says_what_its_server_answered():
    with pytest.raises(BasaltError) as error:
        sysbench._require_success(_CLIENT, 1, captured("fail"))
    assert "exit code 1" in error.value.message
    assert "1146 \"Table 'bench.sbtest2' doesn't exist\"" in error.value.message


def test_the_error_is_not_hidden_by_the_seconds_around_it():
    seconds = "\n".join(f"[ {second}s ] thds: 2 tps: 5.00 qps: 9.00 (r/w/o: 1.0/1.0/1.0)"
                        for second in range(1, 40))
    with pytest.raises(BasaltError) as error:
        sysbench._require_success(_CLIENT, 1, f"FATAL: the reason\n{seconds}")
    assert "FATAL: the reason" in error.value.message
    assert "tps" not in error.value.message


def test_a_thread_that_fails_when_it_ends_fails_the_client(tmp_path):
    """sysbench's exit code is 0 then, and what the thread has recorded is missing."""
    script = tmp_path / "fails_when_done.lua"
    script.write_text("""
function event() end
function thread_done() error("no such place") end
""")
    with pytest.raises(BasaltError, match="no such place"):
        sysbench.run_command(Client("ends", script, 2, {}), Path("/nowhere"), "run", events=4)


def test_output_without_totals_is_an_error_and_not_a_zero():
    with pytest.raises(BasaltError, match="has no events"):
        sysbench._result(_CLIENT, 0, captured("held").replace("total number of events", "x"),
                         None)


def test_buckets_that_are_printed_alike_are_added():
    text = "       0.001 |**** 29\n       0.001 |*    1\n       0.002 |*    4\n"
    assert sysbench.buckets(text) == {0.001: 30, 0.002: 4}


def test_operations_may_have_names_with_spaces():
    text = ("new order 1500 3\nnew order 2500 1\nnew order max 2400\n"
            "payment 500 7\npayment max 499\n")
    assert sysbench.read_operations(text) == {
        "new order": Histogram({1.5: 3, 2.5: 1}, 2.4), "payment": Histogram({0.5: 7}, 0.499)}


def test_the_threads_of_a_client_are_put_together_by_operation():
    text = "get 100 2\nget max 90\nget 100 3\nget 200 1\nget max 150\nget 100 1\nget max 20\n"
    assert sysbench.read_operations(text) == {"get": Histogram({0.1: 6, 0.2: 1}, 0.15)}


def test_operations_are_read_from_the_file_of_the_client(tmp_path):
    file = tmp_path / "0.ops"
    assert result("rate", ops_file=file).operations == {}
    file.write_text("get 100 2\nget max 90\n")
    assert result("rate", ops_file=file).operations == {"get": Histogram({0.1: 2}, 0.09)}


def test_options_of_the_script_win_over_the_common_ones():
    client = Client("x", "oltp_insert", 3, {"rand-type": "pareto"}, seed=7, rate=50)
    words = sysbench.command_line(client, Path("/s"), "run", seconds=4, ops_file=Path("/o"))
    assert words[:2] == ["sysbench", "oltp_insert"] and words[-1] == "run"
    assert {"--rand-type=pareto", "--rand-seed=7", "--threads=3", "--rate=50", "--time=4",
            "--events=0", "--report-interval=1", "--histogram=on", "--ops-file=/o",
            "--mysql-socket=/s"} <= set(words)
    assert "--rand-type=uniform" not in words


def test_deadlocks_lock_waits_and_changed_rows_are_tried_again():
    words = sysbench.command_line(_CLIENT, Path("/s"), "run")
    ignored, = (word for word in words if word.startswith("--mysql-ignore-errors="))
    assert set(ignored.partition("=")[2].split(",")) == {"1213", "1205", "1020"}


def script(tmp_path: Path, name: str, event: str, start: str = "") -> Path:
    """A client that needs no server, but reports queries as the others do."""
    path = tmp_path / f"{name}.lua"
    path.write_text("function thread_init()\ndriver = sysbench.sql.driver()\n"
                    f"{start}\nend\n"
                    f"function event()\n{event}\nend\n")
    return path


def test_clients_run_side_by_side_and_the_first_comes_first(tmp_path):
    labels = ("first", "second", "third")
    there = tmp_path / "there"
    there.mkdir()
    # Each waits for the others: one that began when another is done would wait forever.
    clients = tuple(Client(label, script(
        tmp_path, label, "os.execute('sleep 0.1')",
        f"os.execute('touch {there}/{label}; while [ $(ls {there} | wc -l) -lt 3 ]; "
        "do sleep 0.02; done')"), 1) for label in labels)
    results = sysbench.run_load(Load(clients, seconds=1), tmp_path / "socket")
    assert [each.client.label for each in results] == list(labels)
    # 0.1 s and more each, in a second and the time that the last one took.
    assert all(each.events <= 11 for each in results)


def test_a_load_of_events_ends_after_them(tmp_path):
    client = Client("x", script(tmp_path, "nothing", ""), 2)
    counted, = sysbench.run_load(Load((client,), events=30), tmp_path / "socket")
    assert counted.events == 30 and counted.latency.total == 30


def test_one_failing_client_fails_the_load_with_its_own_error(tmp_path):
    good = Client("good", script(tmp_path, "good", "os.execute('sleep 0.1')"), 1)
    bad = Client("bad", script(tmp_path, "bad", "error('my own words')"), 1)
    with pytest.raises(BasaltError) as error:
        sysbench.run_load(Load((good, bad), seconds=1), tmp_path / "socket")
    assert "my own words" in error.value.message and "bad.lua" in error.value.message


def test_a_client_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(sysbench, "_PATIENCE", 0.5)
    processes = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **more: processes.append(
        popen(*words, **more)) or processes[-1])
    hang = script(tmp_path, "hang", "", "os.execute('exec sleep 60')")
    started = time.monotonic()
    with pytest.raises(BasaltError, match="did not end"):
        sysbench.run_load(Load((Client("x", hang, 1),), seconds=1), tmp_path / "socket")
    assert time.monotonic() - started < 50
    assert [process.returncode for process in processes] == [-signal.SIGKILL]
