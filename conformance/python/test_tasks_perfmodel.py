"""Performance models: statistics, curves, files that processes share, pictures, and the command line."""

import json
import math
import os
import statistics
import subprocess
import sys
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor

import pytest
from rustarr.tasks import Runtime, task_submit
from rustarr.tasks._files import replacing
from rustarr.tasks.perfmodel import PerfModels, fit, perfmodel_plot


@pytest.fixture
def models(tmp_path):
    return PerfModels(tmp_path)


def test_mean_and_deviation_are_those_of_the_samples(models):
    samples = [0.5, 0.7, 0.4, 0.9]
    for seconds in samples:
        models.record("f", "cpu", 100, seconds)
    estimate = models.estimate("f", "cpu", 100)
    assert estimate.source == "history" and estimate.samples == 4
    assert math.isclose(estimate.seconds, statistics.mean(samples))
    assert math.isclose(estimate.deviation, statistics.stdev(samples))


def test_workers_sizes_and_models_are_kept_apart(models):
    models.record("f", "cpu", 100, 1.0)
    models.record("f", "gpu", 100, 2.0)
    models.record("g", "cpu", 100, 3.0)
    assert [models.estimate(*where, 100).seconds for where in (("f", "cpu"), ("f", "gpu"), ("g", "cpu"))] == [1, 2, 3]
    assert models.estimate("f", "cpu", 101) is None  # one size makes no curve
    assert models.estimate("f", "other", 100) is None and models.estimate("h", "cpu", 100) is None


@pytest.mark.parametrize("a, b, c", [(2e-9, 1.0, 1e-5), (3e-10, 1.5, 2e-4), (1e-11, 3.0, 0.0), (1e-4, 0.5, 1e-3)])
def test_the_curve_of_exact_times_is_found(models, a, b, c):
    for n in (10, 100, 1000, 3000, 10_000, 100_000):
        models.record("f", "cpu", n, a * n**b + c)
    curve = models.regression("f", "cpu")
    assert curve.error < 1e-2
    for n in (300, 30_000, 500_000):
        estimate = models.estimate("f", "cpu", n)
        assert estimate.source == "regression" and estimate.samples == 6
        assert math.isclose(estimate.seconds, a * n**b + c, rel_tol=0.03)


def test_two_sizes_give_a_line_and_falling_times_a_constant(models):
    assert fit([10], [1.0], [1]) is None
    line = fit([10, 30], [1.0, 2.0], [1, 1])
    assert line.b == 1 and math.isclose(line(20), 1.5)
    falling = fit([10, 20, 30], [3.0, 2.0, 1.0], [1, 1, 1])
    assert falling.a >= 0 and falling.c >= 0 and 1 <= falling(1000) <= 3


def test_noise_is_told_as_deviation(models):
    for number, n in enumerate((10, 20, 40, 80, 160, 320)):
        models.record("f", "cpu", n, n * 1e-6 * (1.2 if number % 2 else 0.8))
    estimate = models.estimate("f", "cpu", 100)
    assert 0.1 < estimate.deviation / estimate.seconds < 0.4


def test_new_sizes_bend_the_curve(models):
    for n in (10, 100, 1000):
        models.record("f", "cpu", n, n * 1e-6)
    before = models.estimate("f", "cpu", 50_000).seconds
    models.record("f", "cpu", 100_000, 100_000 * 1e-5)
    assert models.estimate("f", "cpu", 50_000).seconds > 2 * before


@pytest.mark.parametrize("seconds, size", [(-1.0, 1), (math.inf, 1), (math.nan, 1), (1.0, -1)])
def test_what_is_no_measurement_is_refused(models, seconds, size):
    with pytest.raises(ValueError, match="no measurement"):
        models.record("f", "cpu", size, seconds)
    assert models.estimate("f", "cpu", 1) is None


def test_files_are_readable_and_read_again(models, tmp_path):
    name = 'a name/with "signs" ü'
    models.record(name, "cpu-serial", 10, 0.25, flops=1e6)
    models.record(name, "cpu-serial", 10, 0.75, flops=1e6)
    models.record(name, "wgpu: some GPU", 20, 1.0)
    models.save()
    content = json.loads(models.path(name).read_text())
    assert content["model"] == name
    entry = content["workers"]["cpu-serial"]["10"]
    assert entry["samples"] == 2 and entry["mean"] == 0.5 and entry["flops"] == 1e6
    again = PerfModels(tmp_path)
    assert again.models() == [name]
    assert again.estimate(name, "cpu-serial", 10) == models.estimate(name, "cpu-serial", 10)
    assert again.estimate(name, "wgpu: some GPU", 20).seconds == 1.0
    assert again.history(name)["cpu-serial"][10].flops == 1e6


def test_long_names_that_differ_late_have_files_of_their_own(models, tmp_path):
    names = ["x" * 300 + end for end in "ab"]
    for name in names:
        models.record(name, "cpu", 1, 1.0)
    models.save()
    assert PerfModels(tmp_path).models() == names


def test_two_stores_add_up(models, tmp_path):
    other = PerfModels(tmp_path)
    models.record("f", "cpu", 1, 1.0)
    other.record("f", "cpu", 1, 3.0)
    models.save()
    other.save()
    other.save()  # nothing is counted twice
    assert other.estimate("f", "cpu", 1).samples == 2 and other.estimate("f", "cpu", 1).seconds == 2.0
    models.record("f", "cpu", 1, 5.0)
    models.load()
    assert models.estimate("f", "cpu", 1).samples == 3 and models.estimate("f", "cpu", 1).seconds == 3.0
    models.save()
    assert PerfModels(tmp_path).estimate("f", "cpu", 1).samples == 3


WRITER = """
import sys
from rustarr.tasks.perfmodel import PerfModels
models = PerfModels(sys.argv[1])
for i in range(200):
    models.record("shared", sys.argv[2], 10, 1.0 + i)
    models.record("shared", "all", 10, 2.0)
    if i % 5 == 0:
        models.save()
models.save()
"""


def test_processes_that_save_at_once_lose_nothing(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), f"w{i}"]) for i in range(4)]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    models = PerfModels(tmp_path)
    history = models.history("shared")
    assert history["all"][10].samples == 800 and math.isclose(history["all"][10].mean, 2.0)
    for i in range(4):
        assert history[f"w{i}"][10].samples == 200 and math.isclose(history[f"w{i}"][10].mean, 100.5)
    assert sorted(path.suffix for path in models.directory.iterdir() if path.name != ".lock") == [".json"]


def test_threads_record_at_once(models):
    def work(number):
        for _ in range(500):
            models.record("f", "cpu", 10, 1.0)
            models.record("f", "cpu", number, 2.0)
            models.estimate("f", "cpu", 7)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(20, 28)))
    assert models.estimate("f", "cpu", 10).samples == 4000


def test_a_damaged_file_is_kept_aside(models, tmp_path):
    models.record("f", "cpu", 1, 1.0)
    models.save()
    models.path("f").write_text("{ half a file")
    again = PerfModels(tmp_path)
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert again.estimate("f", "cpu", 1) is None
    assert [p.read_text() for p in again.directory.glob("f.damaged-*")] == ["{ half a file"]
    again.record("f", "cpu", 1, 4.0)
    again.save()
    assert PerfModels(tmp_path).estimate("f", "cpu", 1).seconds == 4.0


@pytest.mark.parametrize(
    "size, entry",
    [
        ("1", {"samples": 1e400}), ("1", {"samples": 0}), ("1", {"mean": -1}), ("1", {"mean": float("nan")}),
        ("1", {"deviation": -1}), ("-1", {}), ("x", {}), ("1", {"flops": "many"}), ("1", {"flops": -1}),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_have_been_measured_is_damage(models, tmp_path, size, entry):
    models.directory.mkdir(parents=True)
    whole = {"samples": 1, "mean": 1.0, "deviation": 0.0, "flops": 1.0}
    content = {"model": "f", "workers": {"cpu": {"1": whole, size: {**whole, **entry}}}}
    models.path("f").write_text(json.dumps(content))
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert models.estimate("f", "cpu", 1) is None


@pytest.mark.parametrize("text", ["", "null", "[]", '{"model": "f"}', '{"workers": 3, "model": "f"}', "[" * 100_000])
def test_what_is_no_model_is_damage(models, text):
    models.directory.mkdir(parents=True)
    models.path("f").write_text(text)
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert models.estimate("f", "cpu", 1) is None


def test_a_folder_that_cannot_be_written_costs_the_measurements_only(tmp_path):
    (tmp_path / "file").write_text("")
    program = "from rustarr.tasks import task_submit; print(task_submit(perfmodel='f')(abs, -3).result())"
    variables = {**os.environ, "RUSTARR_PERF_DIR": str(tmp_path / "file")}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=variables, timeout=120)
    assert (run.returncode, run.stdout) == (0, "3\n") and "models were not saved" in run.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_save_what_its_parent_measured(models, tmp_path):
    models.record("f", "cpu", 1, 1.0)
    pid = os.fork()
    if pid == 0:
        try:
            models.record("f", "cpu", 1, 3.0)
            models.save()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    models.save()
    estimate = PerfModels(tmp_path).estimate("f", "cpu", 1)
    assert estimate.samples == 2 and estimate.seconds == 2.0


def test_models_are_removed(models, tmp_path):
    models.record("f", "cpu", 1, 1.0)
    models.save()
    assert models.remove("f") and not models.remove("f")
    assert models.models() == PerfModels(tmp_path).models() == []


def filled(directory):
    models = PerfModels(directory)
    for n in (10, 100, 1000):
        models.record("log list", "cpu-serial", n, 1e-7 * n + 1e-5, flops=20 * n)
        models.record("log list", "cpu-parallel", n, 3e-8 * n + 1e-4, flops=20 * n)
    models.save()
    return models


def test_points_curves_and_rates_are_drawn(tmp_path):
    models = filled(tmp_path)
    path = perfmodel_plot("log list", path=tmp_path / "curve.svg", models=models)
    texts = path.read_text()
    xml.etree.ElementTree.fromstring(texts)
    for text in ("cpu-serial", "cpu-parallel", "GFlop/s", "seconds", "n^1"):
        assert f"<!-- {text}" in texts or text in texts
    png = perfmodel_plot("log list", path=tmp_path / "curve.png", models=models)
    assert png.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no model 'log'.*'log list'"):
        perfmodel_plot("log", models=models)


def command(*arguments, directory, cwd):
    return subprocess.run(
        [sys.executable, "-m", "rustarr", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "RUSTARR_PERF_DIR": str(directory)},
    )


def test_the_command_lists_shows_draws_and_removes(tmp_path):
    filled(tmp_path / "perf")
    run = {"directory": tmp_path / "perf", "cwd": tmp_path}
    listed = command("tasks", "perfmodels", **run)
    assert listed.returncode == 0, listed.stderr
    assert "log list" in listed.stdout and "cpu-parallel" in listed.stdout and "10 .. 1000" in listed.stdout
    shown = command("tasks", "perfmodels", "log list", **run)
    assert shown.returncode == 0 and len([line for line in shown.stdout.splitlines() if "cpu-serial" in line]) == 3
    drawn = command("tasks", "perfmodels", "log list", "--plot", "out.png", **run)
    assert drawn.returncode == 0 and (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    refused = command("tasks", "perfmodels", "log list", "--plot", "out.xyz", **run)
    assert refused.returncode == 1 and "xyz" in refused.stderr and "Traceback" not in refused.stderr
    assert command("tasks", "perfmodels", "log list", "--remove", **run).returncode == 0
    gone = command("tasks", "perfmodels", "log list", **run)
    assert gone.returncode == 1 and "no model 'log list'" in gone.stderr
    assert "no performance models" in command("tasks", "perfmodels", **run).stdout


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"rustarr\[plot\]"):
        filled(tmp_path).plot("log list", path=tmp_path / "x.png")


def test_the_models_of_a_runtime_are_saved_when_it_is_closed(tmp_path):
    models = PerfModels(tmp_path)
    with Runtime(["cpu-serial"], models=models):
        task_submit(perfmodel="m", sizebase=3)(int).result(60)
        assert not models.path("m").exists()
    assert PerfModels(tmp_path).history("m")["cpu-serial"][3].samples == 1


def test_the_models_of_a_runtime_are_saved_at_exit(tmp_path):
    program = f"""if True:
        from rustarr.tasks import Runtime, PerfModels, task_submit
        from rustarr.tasks.worker import current_runtime
        current_runtime.set(Runtime(["cpu-serial"], models=PerfModels({str(tmp_path)!r})))
        task_submit(perfmodel="m", sizebase=3)(int)
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert PerfModels(tmp_path).history("m")["cpu-serial"][3].samples == 1


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_files_have_the_mode_of_others(tmp_path):
    old = os.umask(0o027)
    try:
        with replacing(tmp_path / "new") as path:
            path.write_text("x")
    finally:
        os.umask(old)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640 and len(list(tmp_path.iterdir())) == 1


def test_names_that_no_terminal_can_show(tmp_path):
    names = ["lone \ud800", "$x^", "\xe9"]
    models = PerfModels(tmp_path / "perf")
    for name in names:
        for size in (1, 2):
            models.record(name, "cpu", size, 1.0)
    models.save()
    assert PerfModels(tmp_path / "perf").models() == sorted(names)
    for name in names:
        assert models.plot(name, path=tmp_path / "x.svg").exists()
    run = {"directory": tmp_path / "perf", "cwd": tmp_path}
    listed = command("tasks", "perfmodels", **run)
    assert listed.returncode == 0 and "lone \\ud800" in listed.stdout, listed.stderr


def test_a_damaged_file_costs_the_others_nothing(models, tmp_path):
    for name in ("good", "bad"):
        models.record(name, "cpu", 1, 1.0)
    with pytest.raises(ValueError, match="no measurement"):
        models.record("good", "cpu", 10**400, 1.0)
    models.save()
    text = models.path("bad").read_text()
    models.path("bad").write_text(text.replace('"1":', f'"{10**400}":'))
    listed = command("tasks", "perfmodels", directory=tmp_path, cwd=tmp_path)
    assert listed.returncode == 0 and "good" in listed.stdout and "Traceback" not in listed.stderr
    assert len(list(models.directory.glob("bad.damaged-*"))) == 1
