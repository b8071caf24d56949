"""The namespaces under test: `xp` runs a test in each, `cpu` in those of the host."""

import os
import tempfile

import pytest
import rustarr

# A software GPU is as good as any other for these tests.
os.environ.setdefault("RUSTARR_ALLOW_SOFTWARE", "1")
# Nothing that tests measure is kept.
_models = tempfile.TemporaryDirectory(prefix="rustarr-models-")
os.environ["RUSTARR_PERF_DIR"] = _models.name
# Read when SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

CPU = ("cpu-serial", "cpu-parallel")
ALL = (*CPU, "wgpu")


def open_namespace(name):
    """The namespace. Without any adapter, a software one included, tests of the GPU fail unless left out on purpose."""
    if name == "wgpu" and os.environ.get("RUSTARR_TEST_NO_GPU") == "1":
        pytest.skip("RUSTARR_TEST_NO_GPU=1")
    return rustarr.namespace(name)


@pytest.fixture(params=ALL)
def xp(request):
    """Each namespace."""
    return open_namespace(request.param)


@pytest.fixture(params=CPU)
def cpu(request):
    """Each namespace of the host."""
    return open_namespace(request.param)


@pytest.fixture
def gpu():
    """The GPU's namespace."""
    return open_namespace("wgpu")


@pytest.fixture(autouse=True)
def no_fallback_noise():
    """Host fallbacks are right by design; the tests that are about their warnings ask for them."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rustarr.FallbackWarning)
        yield


@pytest.fixture
def time_limit():
    """Ends the process, with all stacks, if a test hangs."""
    import faulthandler

    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
