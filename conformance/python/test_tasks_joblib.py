"""joblib's programs, scikit-learn's among them, run on rustarr's tasks."""

import os
import subprocess
import sys
from math import sqrt

import joblib
import numpy as np
import pytest
import rustarr
from rustarr import tasks

ROOTS = [sqrt(i) for i in range(100)]


@pytest.fixture(autouse=True)
def backend():
    with joblib.parallel_config(backend="rustarr", n_jobs=2):
        yield


def test_loops_are_tasks():
    with tasks.trace() as trace:
        assert joblib.Parallel()(joblib.delayed(sqrt)(i) for i in range(100)) == ROOTS
    assert trace.records and {record.name for record in trace.records} == {"joblib"}


@pytest.mark.parametrize("kind", ["generator", "generator_unordered"])
def test_results_are_streamed(kind):
    got = list(joblib.Parallel(return_as=kind)(joblib.delayed(sqrt)(i) for i in range(100)))
    assert sorted(got) == ROOTS and (kind == "generator_unordered" or got == ROOTS)


def test_jobs():
    assert joblib.effective_n_jobs(3) == 3
    assert joblib.effective_n_jobs(-1) == tasks.parallel.effective_n_jobs(-1)
    assert joblib.effective_n_jobs(-1000) == 1  # as joblib has it
    with pytest.raises(ValueError, match="n_jobs"):
        joblib.Parallel(n_jobs=0)(joblib.delayed(sqrt)(i) for i in range(3))
    with tasks.trace() as trace:
        assert joblib.Parallel(n_jobs=1)(joblib.delayed(sqrt)(i) for i in range(100)) == ROOTS
    assert not trace.records  # one job is no parallelism


def test_exceptions_end_the_loop():
    for _ in range(2):
        with pytest.raises(ValueError, match="math domain error"):
            joblib.Parallel()(joblib.delayed(sqrt)(50 - i) for i in range(10_000))


def test_loops_inside_loops_do_not_wait_for_each_other():
    def inner(i):
        return sum(joblib.Parallel(n_jobs=2)(joblib.delayed(pow)(i, k) for k in range(5)))

    with tasks.Runtime(workers=[rustarr.Context("cpu-serial")]):
        got = joblib.Parallel(n_jobs=3)(joblib.delayed(inner)(i) for i in range(10))
    assert got == [sum(i**k for k in range(5)) for i in range(10)]


def test_options_of_tasks():
    with joblib.parallel_config(backend="rustarr", n_jobs=2, name="named", priority=2), tasks.trace() as trace:
        joblib.Parallel()(joblib.delayed(sqrt)(i) for i in range(10))
    assert {record.name for record in trace.records} == {"named"}
    with pytest.raises(TypeError, match="colour"), joblib.parallel_config(backend="rustarr", colour="red"):
        pass


def nested(i):
    with joblib.parallel_config(n_jobs=2):
        return os.getpid(), sum(joblib.Parallel()(joblib.delayed(pow)(i, k) for k in range(4)))


def test_loops_in_processes():
    with joblib.parallel_config(backend="rustarr", n_jobs=2, where="process"):
        assert joblib.Parallel()(joblib.delayed(sqrt)(i) for i in range(100)) == ROOTS
        got = joblib.Parallel()(joblib.delayed(nested)(i) for i in range(4))
    assert [total for _, total in got] == [sum(i**k for k in range(4)) for i in range(4)]
    assert os.getpid() not in {pid for pid, _ in got}


def test_shared_memory_is_what_threads_have():
    x = np.zeros(10)
    joblib.Parallel(require="sharedmem")(joblib.delayed(x.__setitem__)(i, i) for i in range(10))
    assert x.tolist() == list(range(10))


@pytest.mark.parametrize(
    "imports",
    [
        "import joblib, rustarr.tasks",
        "import rustarr.tasks, joblib",
        "import rustarr.tasks, importlib.util; importlib.util.find_spec('joblib'); import joblib",
    ],
)
def test_the_order_of_imports_does_not_matter(imports):
    program = f"""if 1:
        {imports}
        with joblib.parallel_config(backend="rustarr", n_jobs=2):
            print(joblib.Parallel()(joblib.delayed(abs)(-i) for i in range(3)))
    """
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert out.stdout == "[0, 1, 2]\n", out.stderr


def test_importing_tasks_does_not_import_joblib():
    program = "import sys, rustarr.tasks; print('joblib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert out.stdout == "False\n", out.stderr


def test_a_forest_of_scikit_learn():
    from sklearn import ensemble

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    unseen = rng.normal(size=(200, 8))
    with joblib.parallel_config(backend="sequential"):
        alone = ensemble.RandomForestClassifier(n_estimators=40, random_state=0, n_jobs=1).fit(X, y)
        want = alone.predict_proba(unseen)
    with joblib.parallel_config(backend="rustarr"), tasks.trace() as trace:
        forest = ensemble.RandomForestClassifier(n_estimators=40, random_state=0, n_jobs=2).fit(X, y)
        got = forest.predict_proba(unseen)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(forest.feature_importances_, alone.feature_importances_)
    assert {record.name for record in trace.records} == {"joblib"}
    assert alone.score(X, y) > 0.9


def test_a_search_over_parameters():
    from sklearn import model_selection
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] > 0).astype(int)
    grid = {"C": [0.01, 0.1, 1.0, 10.0]}
    scores = [
        model_selection.GridSearchCV(LogisticRegression(), grid, n_jobs=n).fit(X, y).cv_results_["mean_test_score"]
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)


def test_looking_for_joblib_before_importing_it():
    program = """if True:
        import importlib.util, sys
        import rustarr.tasks
        before = len(sys.meta_path)
        assert importlib.util.find_spec("joblib") is not None
        import joblib
        assert len(sys.meta_path) == before - 1
        with joblib.parallel_config(backend="rustarr", n_jobs=2):
            print(joblib.Parallel()(joblib.delayed(abs)(-i) for i in range(3)))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[0, 1, 2]\n", done.stderr
