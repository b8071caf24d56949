"""Loops as tasks: the forms that `Parallel` takes, both modes, faults, laziness, and curves of what loops cost."""

import asyncio
import itertools
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from math import log10

import joblib
import numpy as np
import pytest
import rustarr
from rustarr import tasks
from rustarr.tasks import _cpus, parallel
from rustarr.tasks._cpus import cgroup_quota, usable_cpus
from rustarr.tasks.parallel import Parallel, delayed, effective_n_jobs
from rustarr.tasks.perfmodel import PerfModels

POWERS = [10**i for i in range(10)]
LOGARITHMS = [float(i) for i in range(10)]


@pytest.fixture(params=[1, 2, -1])
def n_jobs(request):
    return request.param


def multiply(a, b):
    for i in range(len(a)):
        a[i] = a[i] * b[i]
    return a


def scale(factor, x):
    for i in range(len(x)):
        x[i] = x[i] * factor
    return x


def double(xp_array):
    xp_array *= 2


# The forms


def test_a_generator_of_calls(n_jobs):
    assert Parallel(mode="normal", n_jobs=n_jobs)(delayed(log10)(p) for p in POWERS) == LOGARITHMS


def test_an_object_is_used_again(n_jobs):
    loop = Parallel(n_jobs=n_jobs)
    for _ in range(3):
        assert loop(delayed(log10)(p) for p in POWERS) == LOGARITHMS


def test_a_list_of_different_functions(n_jobs):
    said = []
    calls = [
        delayed(said.append)("hello"),
        delayed(lambda a, b: a * b)(2, 3),
        delayed(max)(1.2, 2.5, 3.6, 4.9),
        delayed(divmod)(17, 5),
        delayed(dict)(one=1),
    ]
    assert Parallel(n_jobs=n_jobs)(calls) == [None, 6, 4.9, (3, 2), {"one": 1}]
    assert said == ["hello"]


def test_numpy_arrays_are_split_and_changed_in_place(n_jobs):
    a, b = np.arange(10), np.arange(10, 20)
    want = [i * (i + 10) for i in range(10)]
    assert Parallel(n_jobs=n_jobs)(delayed(multiply)(a, b)) == want
    assert a.tolist() == want and b.tolist() == list(range(10, 20))


def test_generators_are_split_into_lists(n_jobs):
    a = np.arange(10)
    want = [i * (i + 10) for i in range(10)]
    assert Parallel(n_jobs=n_jobs)(delayed(multiply)((i for i in a), (j for j in range(10, 20)))) == want
    assert a.tolist() == list(range(10))


def test_keywords_and_mixtures(n_jobs):
    a = np.arange(10)
    want = [i * (i + 10) for i in range(10)]
    assert Parallel(n_jobs=n_jobs)(delayed(multiply)(b=(j for j in range(10, 20)), a=a)) == want
    assert a.tolist() == want
    t = np.arange(10)
    assert Parallel(n_jobs=n_jobs)(delayed(scale)(2, (i for i in t))) == list(range(0, 20, 2))
    assert t.tolist() == list(range(10))
    assert Parallel(n_jobs=n_jobs)(delayed(scale)(2, t)) == list(range(0, 20, 2))
    assert t.tolist() == list(range(0, 20, 2))


def test_arrays_of_ours_are_split_and_changed_in_place(cpu, n_jobs):
    x = cpu.arange(1001)
    assert Parallel(n_jobs=n_jobs)(delayed(double)(x)) == [None] * min(Parallel(n_jobs=n_jobs).n_jobs, 1001)
    assert x.tolist() == list(range(0, 2002, 2))
    results = Parallel(n_jobs=n_jobs)(delayed(cpu.add)(x, cpu.ones(1001, dtype=x.dtype)))
    assert results == list(range(1, 2003, 2))


def test_rows_of_matrices(n_jobs):
    m = np.arange(12.0).reshape(4, 3)
    rows = Parallel(n_jobs=n_jobs)(delayed(np.sqrt)(m))
    np.testing.assert_array_equal(np.stack(rows), np.sqrt(m))
    assert Parallel(n_jobs=n_jobs)(delayed(np.sum)(np.empty((0, 3)))) == []
    assert Parallel(n_jobs=n_jobs)(delayed(log10)(100)) == [2.0]  # nothing to split


def test_parts_meet_all_elements_once():
    seen = []
    a = np.arange(103)
    Parallel(n_jobs=7)(delayed(lambda part: seen.append(part.copy()))(a))
    assert len(seen) == 7 and {len(part) for part in seen} <= {14, 15}
    assert sorted(np.concatenate(seen).tolist()) == a.tolist()


def test_lengths_that_differ():
    with pytest.raises(ValueError, match=r"multiply.*0: 3, 'b': 4"):
        Parallel(n_jobs=2)(delayed(multiply)(np.ones(3), b=iter(range(4))))


def test_calls_of_joblib_and_futures_of_tasks():
    calls = [joblib.delayed(log10)(10), tasks.submit(log10, 100), delayed(log10)(tasks.submit(pow, 10, 3))]
    assert Parallel(n_jobs=2)(calls) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("mode", ["normal", "future"])
def test_the_other_delayed_gives_the_same(n_jobs, mode):
    def outcome(calls):
        result = tasks.Parallel(n_jobs=n_jobs, mode=mode)(calls)
        return result.result(60) if mode == "future" else result

    for kind in (iter, list):
        assert outcome(kind(tasks.delayed(log10)(p) for p in POWERS)) == LOGARITHMS
        pairs = kind(tasks.delayed(divmod)(i, 3) for i in range(5))
        assert outcome(pairs) == [divmod(i, 3) for i in range(5)]
    same = tasks.submit(log10, 100)
    assert outcome([same, delayed(log10)(10), same, same]) == [2.0, 1.0, 2.0, 2.0]
    a, b = np.arange(10), np.arange(10, 20)
    want = (a * b).tolist()
    assert outcome(tasks.delayed(multiply)(a, b)) == want == a.tolist()
    assert outcome(tasks.delayed(max)(1, 2)) == [2]


@pytest.mark.parametrize("mode", ["normal", "future"])
def test_errors_of_the_other_delayed(mode):
    def outcome(calls):
        result = tasks.Parallel(n_jobs=2, mode=mode)(calls)
        return result.result(60) if mode == "future" else result

    @tasks.delayed
    def invert(i):
        begun.append(i)
        return 1 / (i - 3)

    begun = []
    with pytest.raises(ZeroDivisionError) as caught:
        outcome(invert(i) for i in range(1000))
    assert caught.value.__notes__ == ["in call 3 of Parallel, to invert"]
    assert caught.traceback[-1].name == "invert" and len(begun) < 20
    with pytest.raises(ZeroDivisionError):
        outcome(invert(3))


def test_the_other_delayed_is_taken_as_the_tasks_progress():
    taken = itertools.count()
    release = threading.Event()

    def calls():
        for _ in range(100):
            next(taken)
            yield tasks.delayed(release.wait)(60)

    with tasks.Runtime(["cpu-serial"] * 3):
        future = tasks.Parallel(n_jobs=2, mode="future")(calls())
        time.sleep(0.1)
        assert next(taken) == 2
        release.set()
        assert future.result(60) == [True] * 100


def test_loops_of_the_other_delayed_inside_a_task():
    def inner(i):
        return sum(tasks.Parallel(n_jobs=2)(tasks.delayed(pow)(i, k) for k in range(4)))

    with tasks.Runtime(["cpu-serial"]):
        assert tasks.Parallel(n_jobs=2)(tasks.delayed(inner)(i) for i in range(6)) == [
            sum(i**k for k in range(4)) for i in range(6)
        ]


def test_what_is_no_call_is_named():
    with pytest.raises(TypeError, match=r"item 2 is a float.*delayed\(function\)\(arguments\)"):
        Parallel(n_jobs=1)([delayed(log10)(1), delayed(log10)(1), log10(1)])
    for no_calls in (3, None, log10, delayed(log10)):
        with pytest.raises(TypeError, match=r"no iterable of calls.*delayed\(function\)\(arguments\)"):
            Parallel()(no_calls)
    with pytest.raises(TypeError, match="cannot be called"):
        delayed(3)


def test_the_comparison_of_the_forms():
    n = 20_000
    a, b = np.arange(n), np.arange(n, 2 * n)
    want = (a * b).tolist()
    assert Parallel(n_jobs=-1)(delayed(lambda i, j: i * j)(i, j) for i, j in zip(a, b, strict=True)) == want
    assert Parallel(n_jobs=-1)(delayed(multiply)((i for i in a), (j for j in b))) == want
    assert Parallel(n_jobs=-1)(delayed(multiply)(a, b)) == want and a.tolist() == want


# Modes and options


def test_futures(capsys):
    future = Parallel(mode="future", n_jobs=3, end_msg="The logarithms are ready.")(delayed(log10)(p) for p in POWERS)
    assert isinstance(future, Future) and future.result(60) == LOGARITHMS
    assert capsys.readouterr().out == "The logarithms are ready.\n"

    async def both():
        loops = [Parallel(mode="future", n_jobs=2)(delayed(log10)(p) for p in POWERS) for _ in range(2)]
        return await loops[0], await asyncio.gather(*loops)

    first, gathered = asyncio.run(both())
    assert first == LOGARITHMS and gathered == [LOGARITHMS] * 2


def test_a_future_keeps_others_off_its_arrays(cpu):
    x = cpu.zeros(1000)

    def slow(part):
        time.sleep(0.1)
        part += 1

    future = Parallel(mode="future", n_jobs=2)(delayed(slow)(x))
    assert float(cpu.sum(x)) == 1000  # waits for the tasks
    future.result(60)


def test_the_end_is_told_only_of_results(capsys):
    assert Parallel(end_msg="done")(delayed(log10)(p) for p in POWERS) == LOGARITHMS
    assert capsys.readouterr().out == "done\n"
    with pytest.raises(ValueError):
        Parallel(end_msg="done")([delayed(log10)(-1)])
    failed = Parallel(mode="future", end_msg="done")([delayed(log10)(-1)])
    assert isinstance(failed.exception(60), ValueError)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "given, want", [(None, 1), (1, 1), (2, 2), (100, 100), (-1, 8), (-2, 7), (-8, 1), (np.int64(3), 3)]
)
def test_jobs_are_counted_as_joblib_does(monkeypatch, given, want):
    monkeypatch.setattr(parallel, "usable_cpus", lambda: 8)
    assert effective_n_jobs(given) == Parallel(n_jobs=given).n_jobs == want


@pytest.mark.parametrize(
    "given, error", [(0, ValueError), (-9, ValueError), (2.0, TypeError), ("2", TypeError), (True, TypeError)]
)
def test_jobs_out_of_range(monkeypatch, given, error):
    monkeypatch.setattr(parallel, "usable_cpus", lambda: 8)
    with pytest.raises(error, match="n_jobs"):
        Parallel(n_jobs=given)


def test_wrong_options_are_told_at_once():
    with pytest.raises(ValueError, match='mode=\'later\' is not "normal" or "future"'):
        Parallel(mode="later")
    with pytest.raises(TypeError, match="colour"):
        Parallel(colour="red")
    with pytest.raises(TypeError, match="ret_future"):
        Parallel(ret_future=False)


def test_no_more_tasks_than_jobs_at_a_time():
    lock = threading.Lock()
    now, most = 0, 0

    def work():
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1

    runtime = tasks.Runtime(workers=[rustarr.Context("cpu-serial") for _ in range(4)])
    with runtime:
        Parallel(n_jobs=2)(delayed(work)() for _ in range(20))
    assert most == 2


def test_iterables_are_taken_as_the_tasks_progress():
    taken = itertools.count()
    started = threading.Event()
    release = threading.Event()

    def calls():
        for _ in range(1000):
            next(taken)
            yield delayed(work)()

    def work():
        started.set()
        release.wait(60)

    future = Parallel(n_jobs=2, mode="future")(calls())
    assert started.wait(60)
    assert next(taken) <= 3
    release.set()
    assert future.result(60) == [None] * 1000


def test_cheap_calls_are_batched_and_costly_ones_are_not():
    with tasks.trace() as trace:
        assert len(Parallel(n_jobs=2)(delayed(log10)(i + 1) for i in range(20_000))) == 20_000
        cheap = len(trace.records)
        Parallel(n_jobs=2)(delayed(time.sleep)(0.03) for _ in range(10))
    assert cheap < 1000
    assert len(trace.records) - cheap == 10


def test_exceptions_name_the_call_and_end_the_loop():
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(0.02)
        if i == 3:
            raise KeyError("three")

    with pytest.raises(KeyError, match="three") as caught:
        Parallel(n_jobs=2)(delayed(work)(i) for i in range(1000))
    assert caught.value.__notes__ == ["in call 3 of Parallel, to work"]
    assert caught.traceback[-1].name == "work"
    count = len(begun)
    time.sleep(0.1)
    assert count == len(begun) < 20  # nothing of it runs on


def test_exceptions_of_calls_with_arrays_name_them_too(cpu):
    def fail(part):
        raise KeyError(len(part))

    with pytest.raises(KeyError) as caught:
        Parallel(n_jobs=2)([delayed(log10)(1), delayed(fail)(cpu.ones(3))])
    assert caught.value.__notes__ == ["in call 1 of Parallel, to fail"]
    with pytest.raises(KeyError) as caught:
        Parallel(n_jobs=1)(delayed(fail)(np.ones(4)))
    assert caught.value.__notes__ == ["in the elements from 0 to 4 of Parallel, to fail"]


def test_an_iterable_that_fails():
    def calls():
        yield delayed(log10)(1)
        raise RuntimeError("no more")

    for mode in ("normal", "future"):
        with pytest.raises(RuntimeError, match="no more"):
            result = Parallel(n_jobs=2, mode=mode)(calls())
            result.result(60)


def test_loops_inside_tasks(n_jobs):
    def inner(i):
        return sum(Parallel(n_jobs=2)(delayed(pow)(i, k) for k in range(4)))

    runtime = tasks.Runtime(workers=[rustarr.Context("cpu-serial")])
    with runtime:
        got = Parallel(n_jobs=n_jobs)(delayed(inner)(i) for i in range(6))
    assert got == [sum(i**k for k in range(4)) for i in range(6)]


def test_progress(capsys):
    Parallel(n_jobs=2, progress=True)([delayed(log10)(p) for p in POWERS])
    assert "10/10" in capsys.readouterr().err
    Parallel(n_jobs=2, progress=True)(delayed(log10)(p) for p in POWERS)
    assert "10it" in capsys.readouterr().err
    a = np.arange(10)
    Parallel(n_jobs=2, progress=True)(delayed(multiply)(a, a.copy()))
    assert "10/10" in capsys.readouterr().err


def test_progress_without_tqdm_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"rustarr\[progress\]"):
        Parallel(progress=True)


INTERRUPTED = """
import os, signal, threading, time
from rustarr.tasks.parallel import Parallel, delayed
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    Parallel(n_jobs=2)(delayed(time.sleep)(0.05) for _ in range(10_000))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_ends_a_loop():
    out = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert out.stdout == "interrupted\n" and out.returncode == 0, out.stdout + out.stderr


# Options of tasks


def test_names_and_colours_reach_the_trace():
    with tasks.trace() as trace:
        Parallel(n_jobs=2, color="#123456")([delayed(log10)(1)])
        Parallel(n_jobs=2, name="mine", priority=3)([delayed(log10)(1)])
    assert [(r.name, r.color) for r in trace.records] == [("log10", "#123456"), ("mine", None)]


def runtime_with_models(path):
    return tasks.Runtime(workers=[rustarr.Context("cpu-serial") for _ in range(2)], models=PerfModels(path))


def log10_in_place(x):
    for i in range(len(x)):
        x[i] = log10(x[i])
    return x


def test_curves_of_logarithms_over_growing_ranges(tmp_path):
    sizes = [x * factor for x in (10, 100, 1000) for factor in range(1, 10)]
    with runtime_with_models(tmp_path) as runtime:
        for n in sizes:
            Parallel(n_jobs=-1, perfmodel="log_list")(delayed(log10)(i + 1) for i in range(n))
            a = np.arange(1.0, n + 1)
            got = Parallel(n_jobs=-1, perfmodel="log_arr", flops=20.0 * n)(delayed(log10_in_place)(a))
            np.testing.assert_allclose(a, np.log10(np.arange(1, n + 1)))
            assert got == a.tolist()
        models = runtime.models
    (history,) = models.history("log_list").values()
    assert len(history) > 5 and sum(n * m.samples for n, m in history.items()) == sum(sizes)
    (history,) = models.history("log_arr").values()
    assert sum(n * m.samples for n, m in history.items()) == sum(sizes)
    jobs = effective_n_jobs(-1)
    assert all(m.flops == pytest.approx(20 * n) for n, m in history.items()) and max(history) == -(-9000 // jobs)
    for name in ("log_list", "log_arr"):
        picture = tasks.perfmodel_plot(name, path=tmp_path / f"{name}.png", models=models)
        assert picture.read_bytes().startswith(b"\x89PNG")
        # A curve through times that grow has to grow.
        (worker,) = models.history(name)
        curve = models.regression(name, worker)
        assert curve(9000) > curve(10)


# CPUs


def files(root, **contents):
    for name, text in contents.items():
        path = root / name.replace("__", "/").replace("cpu_max", "cpu.max").replace("cpu_cfs", "cpu.cfs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return cgroup_quota(root)


@pytest.mark.parametrize(
    "text, quota", [("150000 100000\n", 1.5), ("max 100000\n", None), ("", None), ("nonsense", None)]
)
def test_quotas_of_version_2(tmp_path, text, quota):
    assert files(tmp_path, proc__self__cgroup="0::/a/b\n", sys__fs__cgroup__a__b__cpu_max=text) == quota


def test_a_group_is_limited_by_those_above(tmp_path):
    assert cgroup_quota(tmp_path) is None
    more = {"sys__fs__cgroup__a__cpu_max": "100000 100000", "sys__fs__cgroup__a__b__cpu_max": "300000 100000"}
    assert files(tmp_path, proc__self__cgroup="0::/a/b\n", **more) == 1.0
    # The path of the host, seen from inside a container.
    inside = tmp_path / "inside"
    assert files(inside, proc__self__cgroup="0::/x/y/z\n", sys__fs__cgroup__cpu_max="200000 100000") == 2.0


def test_quotas_of_version_1(tmp_path):
    more = {
        "sys__fs__cgroup__cpu__d__cpu_cfs_quota_us": "250000\n",
        "sys__fs__cgroup__cpu__d__cpu_cfs_period_us": "100000\n",
    }
    assert files(tmp_path, proc__self__cgroup="4:cpuacct,cpu:/d\n3:memory:/m\n", **more) == 2.5
    more["sys__fs__cgroup__cpu__d__cpu_cfs_quota_us"] = "-1\n"
    assert files(tmp_path, **more) is None


def test_cpus_follow_mask_and_quota(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 4, 9}, raising=False)
    for quota, want in ((None, 4), (1.5, 2), (0.1, 1), (64.0, 4)):
        monkeypatch.setattr(_cpus, "cgroup_quota", lambda root, quota=quota: quota)
        assert usable_cpus() == want


def test_parameters_of_any_name():
    def named(self, func=2):
        return self, func

    assert Parallel(n_jobs=1)(delayed(named)(self=i, func=3) for i in range(2)) == [(0, 3), (1, 3)]
    assert Parallel(n_jobs=1)([delayed(named)(self=tasks.submit(int))]) == [(0, 2)]
