"""The namespaces under test: `xp` runs a test in each, `cpu` in those of the host."""

import os

import pytest
import rustarr

# A software GPU is as good as any other for these tests.
os.environ.setdefault("RUSTARR_ALLOW_SOFTWARE", "1")

CPU = ("cpu-serial", "cpu-parallel")
ALL = (*CPU, "wgpu")


def open_namespace(name):
    """The namespace, or a skip that says why this machine has none."""
    try:
        return rustarr.namespace(name)
    except ValueError as error:
        if name != "wgpu":
            raise
        pytest.skip(f"no GPU adapter: {error}")


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
