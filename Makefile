# make demo   set up, build, run every example on every backend and print the table
# make test   set up, build with assertions on, run every test
# make check  formatting, lints and documentation of the Rust code
# make miri   interpret tests of the CPU kernels and the front end, to find undefined behaviour (minutes)
# make asan   run tests of the CPU backends with AddressSanitizer, to find stray accesses and leaks (minutes)
# make bench  compare with NumPy on both CPU backends, and tasks with other schedulers'
# make build  set up and install the optimised extension into .venv
# make stubs  write the type stubs of the compiled module anew
# make clean  remove everything that was built
#
# Every target makes what it needs: system packages (installed when root, else the one line to run
# is printed), the virtual environment .venv and the Python extension in it. PYTHON chooses the
# interpreter (3.11 or newer). All paths are relative, so the checkout may lie anywhere.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
VENV_PYTHON := $(VENV)/bin/python
# maturin reads the environment it installs into from here.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
# One interpreter for cargo and maturin, so that neither rebuilds what the other has built.
export PYO3_PYTHON := $(CURDIR)/$(VENV_PYTHON)
# Software GPUs are refused unless asked for; tests and examples ask.
export RUSTARR_ALLOW_SOFTWARE ?= 1

# What the extension is built from. The Python files are installed in place and need no rebuild.
SOURCES := $(shell find Cargo.toml Cargo.lock pyproject.toml array-api backends shaders python-bindings \
	\( -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.wgsl' \) -not -path '*/target/*')

.PHONY: demo test check miri miri-library miri-tests asan bench build stubs clean
demo: $(VENV)/.built-release
	$(VENV_PYTHON) examples/demo.py

test: $(VENV)/.built-dev
	cargo test --workspace
	RUSTARR_DEFER=always RUSTARR_GRAIN=1 $(VENV_PYTHON) -m pytest -q conformance/python/test_behaviours.py \
		conformance/python/test_array.py conformance/python/test_numpy_interop.py conformance/python/test_errors.py
	RUSTARR_DEFER=always RUSTARR_GRAIN=1 RUSTARR_EXAMPLES=50 $(VENV_PYTHON) -m pytest -q \
		conformance/python/test_properties.py
	$(VENV_PYTHON) -m pytest conformance/python

check: $(VENV)/.packages
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Miri and the sanitizers are parts of the nightly toolchain.
NIGHTLY ?= nightly

# Tree borrows and exposed addresses are for rayon's deques: they fail under stacked borrows, and tag pointers by integers.
# Its workers and the tests' pools live to the end of the process, as does what they own: leaks are for `make asan`.
miri miri-library miri-tests: export MIRIFLAGS ?= -Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-permissive-provenance \
	-Zmiri-ignore-leaks
miri:
	@$(call need_nightly,miri rust-src)
	cargo +$(NIGHTLY) miri setup
	$(MAKE) -j2 --output-sync=target miri-library miri-tests

miri-library:
	env -u MAKEFLAGS cargo +$(NIGHTLY) miri test -p rustarr-cpu-kernels --lib -- $(MIRI_LIBRARY)

miri-tests:
	env -u MAKEFLAGS cargo +$(NIGHTLY) miri test -p rustarr-cpu-kernels --test elementwise --test reductions
	env -u MAKEFLAGS cargo +$(NIGHTLY) miri test -p rustarr --test ndarray --test gate --test manipulation

# The modules whose own loops hold `unsafe`; products of integers are one loop for all of them.
MIRI_LIBRARY := compact fft gather matmul memory nest pool random reduce search sort --skip int16 --skip int32 --skip uint

# Dependencies are instrumented too, but not optimised as far: that takes half of the time away.
ASAN := cargo +$(NIGHTLY) test --target x86_64-unknown-linux-gnu --target-dir target/asan \
	$(foreach package,"*" rustarr-cpu-kernels rustarr-cpu-linalg,--config 'profile.dev.package.$(package).opt-level=1')
asan: export RUSTFLAGS := -Zsanitizer=address
asan: export CARGO_INCREMENTAL := 0
asan:
	@$(call need_nightly,rust-std)
	$(ASAN) -p rustarr-cpu-kernels --lib --test elementwise --test reductions
	$(ASAN) -p rustarr --tests

bench: $(VENV)/.built-release
	$(VENV_PYTHON) benches/python/bench.py
	$(VENV_PYTHON) benches/python/tasks.py

build: $(VENV)/.built-release

stubs: $(VENV)/.built-dev
	$(VENV_PYTHON) python-bindings/stubs.py

clean:
	rm -rf $(VENV) target dist build python-bindings/python/rustarr/_core*.so
	find . -name __pycache__ -not -path './target/*' -prune -exec rm -rf {} +

# One profile is installed at a time: a build takes the other one's stamp away.
$(VENV)/.built-release: PROFILE := --release
$(VENV)/.built-dev $(VENV)/.built-release: $(VENV)/.packages $(SOURCES)
	rm -f $(VENV)/.built-*
	$(VENV_PYTHON) -m maturin develop $(PROFILE)
	touch $@

$(VENV)/.packages: requirements-dev.txt $(VENV)/.created
	$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

$(VENV)/.created:
	@command -v cargo >/dev/null || { echo "cargo is missing. Install a Rust toolchain: https://rustup.rs" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is missing or older than 3.11. Choose another one: make PYTHON=python3.12" >&2; exit 1; }
	@$(call need_packages)
	$(PYTHON) -m venv --clear $(VENV)
	touch $@

# The toolchain with these components, installed if it lacks one.
define need_nightly
	command -v rustup >/dev/null || { echo "rustup is missing, which installs the $(NIGHTLY) toolchain: https://rustup.rs" >&2; exit 1; }; \
	for component in $(1); do \
		rustup component list --toolchain $(NIGHTLY) --installed 2>/dev/null | grep -q "^$$component" || \
			{ rustup toolchain install $(NIGHTLY) --profile minimal $(addprefix --component ,$(1)); break; }; \
	done
endef

# Debian's names for: a linker, the venv module, the Vulkan loader and Mesa's drivers with the
# software adapter. Elsewhere the system has to bring them.
define need_packages
	missing=(); \
	command -v cc >/dev/null || missing+=(build-essential); \
	$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv); \
	if command -v dpkg-query >/dev/null; then \
		for package in libvulkan1 mesa-vulkan-drivers; do \
			[[ "$$(dpkg-query -W -f='$${db:Status-Status}' $$package 2>/dev/null)" == installed ]] || missing+=($$package); \
		done; \
	fi; \
	if (( $${#missing[@]} )); then \
		if command -v apt-get >/dev/null && (( EUID == 0 )); then \
			apt-get update -q; \
			DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$${missing[@]}"; \
		else \
			echo "Packages are missing. Run this and try again:" >&2; \
			echo "  sudo apt-get install -y $${missing[*]}" >&2; \
			exit 1; \
		fi; \
	fi
endef
