"""Traces: what is recorded, and the graph, the timeline and the chart that are made from it."""

import json
import os
import re
import sys
import threading
import xml.etree.ElementTree

import pytest
from rustarr.tasks import trace as recording
from rustarr.tasks.trace import TaskRecord, Trace, current


def record(number, name="task", worker="cpu-serial:0", start=None, end=None, color=None, after=(), **more):
    state = more.pop("state", "done")
    return TaskRecord(number, name, color, worker, 1.0 + number / 100, start, end, tuple(after), state, **more)


def sample():
    trace = Trace()
    trace.add(record(1, 'load "x"', start=2.0, end=3.0, color="#ff0000"))
    trace.add(
        record(2, "scale", "wgpu:0", start=3.0, end=3.5, color=0x00FF00, after=[1], model="s", size=10, transfers=1)
    )
    trace.add(record(3, "sum", start=3.5, end=4.0, after=[1, 2, 99], state="failed"))
    trace.add(record(4, "never", None, state="cancelled"))
    trace.add(record(5, "inner", start=3.6, end=3.7))
    return trace


def test_the_graph_has_names_colours_and_dependencies():
    dot = sample().to_dot()
    assert re.search(r'task1 \[label="load \\"x\\"", fillcolor="#ff0000"', dot)
    assert re.search(r'task2 \[label="scale", fillcolor="#00ff00"', dot)
    assert re.search(r'task3 \[label="sum".*dashed', dot)
    edges = set(re.findall(r"(task\d+) -> (task\d+);", dot))
    assert edges == {("task1", "task2"), ("task1", "task3"), ("task2", "task3")}  # 99 is not in the trace
    assert dot.startswith("digraph") and dot.count("{") == dot.count("}") == 1


def test_the_timeline_has_an_event_for_each_task_and_each_dependency():
    content = sample().to_perfetto()
    json.dumps(content)
    events = content["traceEvents"]
    ran = {event["args"]["id"]: event for event in events if event["ph"] == "X"}
    assert set(ran) == {1, 2, 3, 5}
    assert ran[2]["dur"] == pytest.approx(0.5e6) and ran[2]["ts"] - ran[1]["ts"] == pytest.approx(1e6)
    assert ran[2]["args"]["dependencies"] == [1] and ran[2]["args"]["transfers"] == 1 and ran[2]["args"]["model"] == "s"
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert threads[ran[1]["tid"]] == "cpu-serial:0" and threads[ran[2]["tid"]] == "wgpu:0"
    # A task inside another one's wait has a line of its own, since events of one line may only nest.
    assert ran[3]["tid"] == ran[1]["tid"] != ran[5]["tid"]
    arrows = {(e["ph"], e["id"]) for e in events if e["ph"] in "sf"}
    assert arrows == {(end, arrow) for end in "sf" for arrow in ("1-2", "1-3", "2-3")}
    assert [e["args"]["state"] for e in events if e["ph"] == "i"] == ["cancelled"]


def test_every_format_is_written(tmp_path):
    trace = sample()
    assert trace.write(tmp_path / "t.dot").read_text() == trace.to_dot()
    assert json.loads(trace.write(tmp_path / "t.json").read_text()) == trace.to_perfetto()
    assert trace.write(tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    svg = trace.write(tmp_path / "t.svg").read_text()
    xml.etree.ElementTree.fromstring(svg)
    for text in ("cpu-serial:0", "wgpu:0", "scale", "seconds"):
        assert text in svg
    for suffix in ("dot", "json", "svg"):  # of a run without tasks
        Trace().write(tmp_path / f"empty.{suffix}")


def test_an_unknown_suffix_is_refused_before_the_run():
    with pytest.raises(ValueError, match=r"'.txt'.*\.dot, \.json"), recording("trace.txt"):
        raise AssertionError("the block has run")
    assert current() is None


def test_only_the_block_records_and_traces_nest(tmp_path):
    assert current() is None
    with recording(tmp_path / "outer.json") as outer:
        current().add(record(1))
        with recording() as inner:
            current().add(record(2))
        current().add(record(3))
    assert current() is None
    assert [r.id for r in outer.records] == [1, 2, 3] and [r.id for r in inner.records] == [2]
    assert (tmp_path / "outer.json").exists()


def test_an_exception_leaves_a_file(tmp_path):
    with pytest.raises(KeyError), recording(tmp_path / "t.dot"):
        current().add(record(1, "before"))
        raise KeyError("x")
    assert "before" in (tmp_path / "t.dot").read_text() and current() is None


def test_threads_record_into_one_trace():
    with recording() as trace:
        threads = [
            threading.Thread(target=lambda k=k: [current().add(record(k * 1000 + i)) for i in range(1000)])
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(r.id for r in trace.records) == list(range(4000))


@pytest.mark.skipif(sys.platform == "win32", reason="no umask")
def test_files_have_the_permissions_of_others(tmp_path):
    before = os.umask(0o027)
    try:
        for name in ("run.json", "run.dot"):
            Trace().write(tmp_path / name)
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_names_that_no_file_can_hold(tmp_path):
    trace = Trace()
    for number, name in enumerate(["lone \ud800", "$x^"]):
        trace.add(record(number, name, start=1.0 + number, end=2.0 + number))
    for suffix in (".dot", ".json", ".svg"):
        assert trace.write(tmp_path / f"out{suffix}").stat().st_size > 0
    assert "lone \\ud800" in (tmp_path / "out.dot").read_text(encoding="utf-8")
