"""The first programs that people write with tasks: submit, await, decorate, chain."""

import asyncio
import os
import subprocess
import sys
import threading
import xml.etree.ElementTree

import pytest
import rustarr
from rustarr.tasks import Future, Runtime, delayed, perfmodel_plot, submit, task_submit, trace
from rustarr.tasks.perfmodel import PerfModels


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def awaited(make):
    """What a future gives that is made and awaited in an event loop."""

    async def main():
        return await make()

    return asyncio.run(main())


@pytest.fixture
def runtime(tmp_path):
    with Runtime([rustarr.Context("cpu-serial")], models=PerfModels(tmp_path)) as runtime:
        yield runtime


def test_submit_without_options(runtime):
    future = task_submit()(add, 1, 2)
    assert isinstance(future, Future) and future.result(60) == 3
    assert submit(add, 1, b=2).result(60) == 3  # keywords too


def test_submit_with_every_option(runtime):
    options = {"name": "sum", "priority": 7, "color": 0xFF8800, "flops": 1.0, "perfmodel": "add", "sizebase": 4}
    with trace() as recorded:
        assert task_submit(**options)(add, 1, 2).result(60) == 3
        assert task_submit(synchronous=True)(add, 3, 4).done()
    first, second = recorded.records
    assert (first.name, first.model, first.size, second.name) == ("sum", "add", 4, "add")
    assert 'label="sum", fillcolor="#ff8800"' in recorded.to_dot()
    assert runtime.models.history("add")["cpu-serial"][4].flops == 1.0


def test_functions_go_by_name(runtime):
    assert submit("math.log10", 1000).result(60) == 3.0
    assert submit("max", 1, 5, 2).result(60) == 5


def test_futures_are_awaited(runtime):
    assert awaited(lambda: task_submit(perfmodel="add")(add, 1, 2)) == 3


def test_decorated_functions_are_tasks(runtime):
    @delayed
    def plain(a, b):
        return a + b

    @delayed(name="add", color=2, perfmodel="decorated")
    def with_options(a, b):
        return a + b

    assert awaited(lambda: plain(1, 2)) == 3
    with trace() as recorded:
        assert awaited(lambda: with_options(1, 2)) == 3
    assert recorded.records[0].name == "add" and recorded.records[0].model == "decorated"


def test_a_future_is_the_next_tasks_argument(runtime):
    order, go_on = [], threading.Event()

    def slow_add(a, b):
        assert go_on.wait(60)
        order.append("add")
        return a + b

    def then_subtract(a, b):
        order.append("subtract")
        return subtract(a, b)

    with trace() as recorded:
        first = task_submit(perfmodel="add")(slow_add, 1, 2)
        second = task_submit(perfmodel="subtract")(then_subtract, first, 1)
        assert not first.done()  # nobody has waited
        go_on.set()
        assert second.result(60) == 2 and order == ["add", "subtract"]
    ids = {record.name: record.id for record in recorded.records}
    assert f"task{ids['slow_add']} -> task{ids['then_subtract']};" in recorded.to_dot()


def test_a_trace_has_every_task_when_the_last_future_is_done(runtime):
    for _ in range(50):
        with trace() as recorded:
            futures = [submit(add, i, i) for i in range(10)]
            for future in futures:
                future.result(60)
        assert len(recorded.records) == 10
        assert {record.state for record in recorded.records} == {"done"}


def test_a_run_is_written_in_every_format(runtime, tmp_path):
    paths = [tmp_path / f"run.{suffix}" for suffix in ("dot", "json", "svg")]
    with trace(*paths) as recorded:
        done = submit(add, 1, 2)
        failed = submit(add, 1, "a")
        late = submit(add, failed, 1)
        assert done.result(60) == 3 and failed.exception(60) and late.exception(60)
    assert [record.state for record in recorded.records].count("failed") == 2
    assert paths[0].read_text().count("->") == 1 and '"ph": "X"' in paths[1].read_text()
    xml.etree.ElementTree.parse(paths[2])


def test_what_tasks_cost_is_drawn(runtime, tmp_path):
    xp = rustarr.namespace("cpu-serial")
    for n in (100, 1000, 10_000):
        task_submit(perfmodel="sum", flops=n)(lambda x, xp: float(xp.sum(x)), xp.ones(n)).result(60)
    assert sorted(runtime.models.history("sum")["cpu-serial"]) == [100, 1000, 10_000]
    picture = perfmodel_plot("sum", path=tmp_path / "sum.png", models=runtime.models)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_what_was_measured_is_there_in_the_next_process(tmp_path):
    program = "from rustarr.tasks import task_submit; task_submit(perfmodel='kept', sizebase=5)(sum, [1]).result()"
    for count in (1, 2):
        for arguments in (["-c", program], ["-m", "rustarr", "tasks", "perfmodels", "kept"]):
            out = subprocess.run(
                [sys.executable, *arguments],
                capture_output=True,
                text=True,
                timeout=60,
                env={**os.environ, "RUSTARR_PERF_DIR": str(tmp_path)},
            )
            assert out.returncode == 0, out.stderr
        worker, size, samples = out.stdout.splitlines()[1].split()[:3]
        assert (worker, size, samples) == ("cpu-serial", "5", str(count))


def test_a_runtime_takes_names_and_delayed_functions_too(runtime):
    class Counter:
        @delayed
        def next(self, x):
            return x + 1

    assert runtime.submit("math.log10", 100).result(60) == 2.0
    assert runtime.submit(delayed(add), 1, 2).result(60) == 3
    assert runtime.submit(Counter().next, 1).result(60) == 2 == submit(Counter().next, 1).result(60)
    with pytest.raises(ValueError, match="nowhere"):
        runtime.submit("nowhere.to_be_found")
