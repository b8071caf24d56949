"""joblib's loops as tasks: ``joblib.parallel_config(backend="rustarr")``, for scikit-learn too.

Importing ``rustarr.tasks`` registers the backend, at once or as soon as somebody imports joblib. Options of
``task_submit`` may follow the name: ``parallel_config(backend="rustarr", priority=1, where="process")``.
"""

import contextlib
import importlib.abc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from .future import here
from .parallel import effective_n_jobs
from .submit import task_submit


def _make_backend() -> type:
    """The class, whose base is joblib's."""
    from joblib.parallel import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend

    class RustarrBackend(AutoBatchingMixin, ParallelBackendBase):
        """Runs joblib's batches as tasks of the current runtime."""

        uses_threads = True
        supports_sharedmem = True
        supports_retrieve_callback = True

        def __init__(self, nesting_level: int | None = None, inner_max_num_threads: int | None = None, **options: Any):
            super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
            task_submit(**options)  # unknown options are a TypeError here
            self._options = options
            if options.get("where") == "process":
                self.uses_threads = self.supports_sharedmem = False
            self._futures: set[Future] = set()

        def effective_n_jobs(self, n_jobs: int | None) -> int:
            """The number of jobs: as joblib counts, so that too small a number is 1 here."""
            if n_jobs is not None and n_jobs < 0:
                try:
                    return effective_n_jobs(n_jobs)
                except ValueError:
                    return 1
            return effective_n_jobs(n_jobs)

        def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
            """Prepares for a call of ``joblib.Parallel``."""
            n_jobs = self.effective_n_jobs(n_jobs)
            if n_jobs == 1:
                raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
            self.parallel = parallel
            return n_jobs

        def submit(self, func: Callable[[], Any], callback: Callable[[Future], Any] | None = None) -> Future:
            """Submits a batch."""
            future = task_submit(**{"name": "joblib", **self._options})(func)
            self._futures.add(future)
            future.add_done_callback(self._futures.discard)
            if callback is not None:
                future.add_done_callback(callback)
            return future

        def retrieve_result_callback(self, out: Future) -> Any:
            """The result of a batch that has ended."""
            return out.result()

        def abort_everything(self, ensure_ready: bool = True) -> None:
            """Cancels what has not started."""
            for future in list(self._futures):
                future.cancel()

        @contextlib.contextmanager
        def retrieval_context(self) -> Iterator[None]:
            """Around the wait for results, in which joblib sleeps: inside a task, others get the worker meanwhile."""
            task = here.task
            if task is None:
                yield
            else:
                with task.runtime.blocked(task, []):
                    yield

        def get_nested_backend(self) -> tuple[Any, int | None]:
            """What ``Parallel`` inside a task runs on: tasks too, since a task that waits gives up its worker."""
            options = dict(self._options)
            if not self.uses_threads:
                # Processes do not start more of them.
                del options["where"]
            return type(self)(nesting_level=(self.nesting_level or 0) + 1, **options), None

        def __reduce__(self) -> Any:
            # Batches take the nested backend along, to other processes too.
            return _restored, (self.nesting_level, self._options)

    return RustarrBackend


def _restored(nesting_level: int | None, options: dict[str, Any]) -> Any:
    """A backend that another process has sent."""
    from joblib.parallel import BACKENDS

    return BACKENDS["rustarr"](nesting_level=nesting_level, **options)


def register() -> None:
    """Makes the backend known to joblib."""
    import joblib

    joblib.register_parallel_backend("rustarr", _make_backend())


class _OnImport(importlib.abc.MetaPathFinder):
    """Registers the backend when joblib is imported: importing joblib here would cost everybody its start-up time."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Finds joblib as the other finders do, and has `register` called after it, if it is executed."""
        if name != "joblib":
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not self and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: Any) -> None:
                execute(module)
                # Not before: who asks for a spec need not import it.
                with contextlib.suppress(ValueError):
                    sys.meta_path.remove(self)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register_now_or_later() -> None:
    """Registers the backend if joblib is imported, else as soon as it is."""
    if "joblib" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _OnImport())
