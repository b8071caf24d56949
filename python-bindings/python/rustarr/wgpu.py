"""The namespace of "wgpu" as a module; the context is opened when it is first needed."""

import sys

from ._namespace import _named

sys.modules[__name__] = _named("wgpu")
