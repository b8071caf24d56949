//! Pools, cancellation and fork, seen from outside: threads are counted in `/proc`,
//! children are real processes.
#![cfg(target_os = "linux")]

use std::cell::Cell;
use std::collections::HashSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustarr_cpu_kernels::cores::{NUM_THREADS, OMP_NUM_THREADS, current_affinity, default_threads};
use rustarr_cpu_kernels::fork;
use rustarr_cpu_kernels::memory::HostPool;
use rustarr_cpu_kernels::par::{Cancel, Par, ParError};
use rustarr_cpu_kernels::pool::Pool;
use rustarr_interface::interrupt;

const ROLE: &str = "RUSTARR_TEST_ROLE";

/// Runs `body` in a process of its own, this test binary called again for one test, so that
/// it has the threads, limits and variables of the process to itself. Kills it after 120 s.
fn isolated(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(ROLE).is_some_and(|role| role == test) {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env_remove(NUM_THREADS)
        .env_remove(OMP_NUM_THREADS)
        .envs(variables.iter().copied())
        .env(ROLE, test);
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{test} hangs");
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{test} failed in its own process");
}

/// The names of this process's threads that belong to a pool.
fn workers() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let comm = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    let mut names: Vec<String> = tasks
        .filter_map(comm)
        .filter(|name| name.starts_with("rustarr-"))
        .map(|name| name.trim().to_owned())
        .collect();
    names.sort();
    names
}

/// Waits up to 10 s for `f`.
fn eventually(what: &str, f: impl Fn() -> bool) {
    let start = Instant::now();
    while !f() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until this process has `n` pool threads: they take their names, and go, when they
/// get to run.
fn have_workers(n: usize) {
    eventually(&format!("{n} workers"), || workers().len() == n);
}

/// 0 + 1 + ... + (n - 1), computed by tasks.
fn sum(par: Par, n: usize) -> usize {
    let total = AtomicUsize::new(0);
    par.for_each(n, |i| {
        total.fetch_add(i, SeqCst);
    })
    .unwrap();
    total.into_inner()
}

fn pool(threads: usize) -> Pool {
    Pool::new(Some(threads), None).unwrap()
}

/// Counts how many run at once.
#[derive(Default)]
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
    threads: Mutex<HashSet<ThreadId>>,
}

impl Busy {
    fn work(&self, time: Duration) {
        let now = self.now.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(now, SeqCst);
        self.threads.lock().unwrap().insert(thread::current().id());
        thread::sleep(time);
        self.now.fetch_sub(1, SeqCst);
    }
}

#[test]
fn every_task_runs_once() {
    let pools = [pool(1), pool(2), pool(5)];
    let pars = pools.iter().map(Par::Pool).chain([Par::Seq]);
    for par in pars {
        for tasks in [0, 1, 2, 3, 7, 64, 1000] {
            let runs: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
            par.for_each(tasks, |i| {
                runs[i].fetch_add(1, SeqCst);
            })
            .unwrap();
            assert!(runs.iter().all(|n| n.load(SeqCst) == 1));
        }
    }
}

#[test]
fn seq_runs_in_order_on_the_caller() {
    let pool = pool(1);
    for par in [Par::Seq, Par::Pool(&pool)] {
        assert_eq!(par.threads(), 1);
        let order = Mutex::new(Vec::new());
        let caller = thread::current().id();
        par.for_each(100, |i| {
            assert_eq!(thread::current().id(), caller);
            order.lock().unwrap().push(i);
        })
        .unwrap();
        assert!(order.into_inner().unwrap().into_iter().eq(0..100));
        assert_eq!(par.run(|| thread::current().id()), Ok(caller));
    }
}

#[test]
fn scratch_is_per_worker_and_lives_through_its_tasks() {
    let pool = pool(3);
    for par in [Par::Seq, Par::Pool(&pool)] {
        let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
        struct Scratch<'a>(usize, ThreadId, &'a AtomicUsize);
        impl Drop for Scratch<'_> {
            fn drop(&mut self) {
                self.2.fetch_add(self.0, SeqCst);
            }
        }
        par.for_each_with(
            500,
            || {
                made.fetch_add(1, SeqCst);
                Scratch(0, thread::current().id(), &dropped)
            },
            |scratch, _| {
                assert_eq!(scratch.1, thread::current().id());
                scratch.0 += 1;
            },
        )
        .unwrap();
        assert!((1..=par.threads()).contains(&made.into_inner()));
        assert_eq!(
            dropped.into_inner(),
            500,
            "each task counted in one scratch"
        );
    }
}

#[test]
fn nested_calls_do_not_deadlock() {
    let (outer, other) = (pool(2), pool(2));
    let count = AtomicUsize::new(0);
    Par::Pool(&outer)
        .for_each(8, |_| {
            for inner in [Par::Pool(&outer), Par::Pool(&other), Par::Seq] {
                inner
                    .for_each(8, |_| {
                        let n = sum(Par::Pool(&outer), 10);
                        count.fetch_add(n, SeqCst);
                    })
                    .unwrap();
            }
            assert_eq!(Par::Pool(&outer).run(|| sum(Par::Pool(&outer), 10)), Ok(45));
        })
        .unwrap();
    assert_eq!(count.into_inner(), 8 * 3 * 8 * 45);
}

#[test]
fn work_stays_on_the_pools_own_workers() {
    isolated("work_stays_on_the_pools_own_workers", &[], || {
        let (two, three) = (pool(2), pool(3));
        assert!(workers().is_empty(), "no worker before the first use");
        let busy = [Busy::default(), Busy::default()];
        // Three callers at once for each pool.
        thread::scope(|scope| {
            for (pool, busy) in [(&two, &busy[0]), (&three, &busy[1])] {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let work = |_| busy.work(Duration::from_millis(2));
                        Par::Pool(pool).for_each(20, work).unwrap();
                        Par::Pool(pool).run(|| work(0)).unwrap();
                        let caller = thread::current().id();
                        assert!(!busy.threads.lock().unwrap().contains(&caller));
                    });
                }
            }
        });
        for (busy, n) in busy.iter().zip([2, 3]) {
            assert_eq!(busy.most.load(SeqCst), n);
            assert_eq!(busy.threads.lock().unwrap().len(), n);
        }
        let names = [
            "rustarr-0",
            "rustarr-0",
            "rustarr-1",
            "rustarr-1",
            "rustarr-2",
        ];
        assert_eq!(workers(), names);
        drop(two);
        have_workers(3);
        drop(three);
        have_workers(0);
        for _ in 0..100 {
            assert_eq!(sum(Par::Pool(&pool(3)), 10), 45);
        }
        have_workers(0);
    });
}

#[test]
fn one_thread_without_cores_needs_no_worker() {
    isolated("one_thread_without_cores_needs_no_worker", &[], || {
        let one = pool(1);
        assert_eq!(sum(Par::Pool(&one), 100), 4950);
        assert_eq!(Par::Pool(&one).run(|| 7), Ok(7));
        assert!(workers().is_empty());
    });
}

#[test]
fn workers_run_on_the_listed_cores() {
    isolated("workers_run_on_the_listed_cores", &[], || {
        let allowed = current_affinity();
        let core = allowed[allowed.len() - 1];
        let pool = Pool::new(Some(2), Some(&[core])).unwrap();
        let seen = Mutex::new(HashSet::new());
        Par::Pool(&pool)
            .for_each(50, |_| {
                seen.lock().unwrap().insert(current_affinity());
            })
            .unwrap();
        assert_eq!(seen.into_inner().unwrap(), HashSet::from([vec![core]]));
        have_workers(2);
        assert_eq!(current_affinity(), allowed, "the caller is not bound");
        assert_eq!(pool.take_warning(), None);
    });
}

#[test]
fn panics_become_errors() {
    let pool = pool(3);
    for par in [Par::Seq, Par::Pool(&pool)] {
        let text = |error: ParError| error.to_string();
        let run = AtomicUsize::new(0);
        let result = par.for_each(1000, |i| {
            run.fetch_add(1, SeqCst);
            assert!(i != 5, "task {i} is odd");
        });
        assert_eq!(text(result.unwrap_err()), "internal error: task 5 is odd");
        if let Par::Seq = par {
            assert_eq!(run.into_inner(), 6, "the rest is left out");
        }
        let result = par.for_each_with(10, || panic!("no scratch"), |(), _| ());
        assert_eq!(text(result.unwrap_err()), "internal error: no scratch");
        let result = par.run(|| -> usize { std::panic::panic_any(7u8) });
        assert!(text(result.unwrap_err()).contains("without a message"));
        let result = par.run(|| par.run(|| panic!("within")).unwrap_err());
        assert_eq!(result, Ok(ParError::Panicked("within".into())));
        assert_eq!(sum(par, 100), 4950, "the pool goes on");
    }
}

#[test]
fn cancelling_stops_between_tasks() {
    let pool = pool(2);
    for par in [Par::Seq, Par::Pool(&pool)] {
        let (cancel, other) = (Cancel::new(), Cancel::new());
        let run = AtomicUsize::new(0);
        let result = cancel.scope(|| {
            par.for_each(1000, |i| {
                // Tasks see the token, and other tokens do not meddle.
                assert!(Cancel::current().is_some());
                other.scope(|| sum(par, 3));
                run.fetch_add(1, SeqCst);
                match i {
                    10 => cancel.set(),
                    11.. => eventually("set", || cancel.is_set()),
                    _ => {}
                }
            })
        });
        assert_eq!(result, Err(ParError::Cancelled));
        // The other worker may have begun a task before the token was set.
        assert!((11..=12).contains(&run.into_inner()));
        assert!(Cancel::current().is_none());
        assert_eq!(
            cancel.scope(|| par.for_each(1, |_| ())),
            Err(ParError::Cancelled)
        );
        assert_eq!(cancel.scope(|| par.for_each(0, |_| ())), Ok(()));
        assert_eq!(
            cancel.scope(|| par.run(|| Cancel::current().unwrap().is_set())),
            Ok(true)
        );
        // Set by the last task: all work is done, so the result counts.
        let late = Cancel::new();
        assert_eq!(late.scope(|| par.for_each(1, |_| late.set())), Ok(()));
        assert_eq!(sum(par, 100), 4950);
    }
}

#[test]
fn faer_stays_inside_the_pool() {
    isolated("faer_stays_inside_the_pool", &[], || {
        let pools = [pool(1), pool(2), pool(3)];
        let n = 300;
        let product = |par: faer::Par| {
            let a = faer::Mat::from_fn(n, n, |i, j| ((i * 7 + j) % 5) as f64);
            let b = faer::Mat::from_fn(n, n, |i, j| ((i + j * 3) % 7) as f64);
            let mut c = faer::Mat::<f64>::zeros(n, n);
            faer::linalg::matmul::matmul(&mut c, faer::Accum::Replace, &a, &b, 1.0, par);
            (rayon::current_num_threads(), c)
        };
        let (_, expected) = Par::Seq.run_faer(product).unwrap();
        thread::scope(|scope| {
            for pool in &pools {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for _ in 0..5 {
                            let (threads, c) = Par::Pool(pool).run_faer(product).unwrap();
                            assert_eq!(c, expected);
                            assert!(pool.threads() == 1 || threads == pool.threads());
                        }
                    });
                }
            }
        });
        have_workers(2 + 3);
        let par = |par| matches!(par, faer::Par::Seq);
        assert_eq!(Par::Pool(&pools[0]).run_faer(par), Ok(true));
        assert_eq!(Par::Pool(&pools[1]).run_faer(par), Ok(false));
    });
}

#[test]
fn the_default_follows_the_affinity_mask() {
    isolated("the_default_follows_the_affinity_mask", &[], || {
        let core = current_affinity()[0];
        let mut mask = [0u64; 1024];
        mask[core / 64] |= 1 << (core % 64);
        // SAFETY: the mask is as long as said.
        let rc = unsafe { libc::sched_setaffinity(0, size_of_val(&mask), mask.as_ptr().cast()) };
        assert_eq!(rc, 0);
        assert_eq!(current_affinity(), [core]);
        assert_eq!(default_threads(), Ok(1));
        assert_eq!(Pool::new(None, None).unwrap().threads(), 1);
        let text = Pool::new(None, Some(&[core + 1])).unwrap_err().to_string();
        assert!(text.ends_with(&format!("may use: {core}")), "{text}");
    });
}

#[test]
fn variables_are_read_and_checked() {
    let name = "variables_are_read_and_checked";
    isolated(
        name,
        &[(NUM_THREADS, "zero"), (OMP_NUM_THREADS, "1,2")],
        || {
            let text = Pool::new(None, None).unwrap_err().to_string();
            assert!(text.contains("RUSTARR_NUM_THREADS=\"zero\""), "{text}");
            assert_eq!(Pool::new(Some(2), None).unwrap().threads(), 2);
            // SAFETY: this process has no other thread that reads or writes variables.
            unsafe { std::env::remove_var(NUM_THREADS) };
            assert_eq!(default_threads(), Ok(1));
        },
    );
}

#[test]
fn refused_threads_mean_fewer_workers() {
    isolated("refused_threads_mean_fewer_workers", &[], || {
        // SAFETY: plain system calls on this test's own process.
        unsafe {
            if libc::geteuid() == 0 {
                // The limit does not bind root.
                assert_eq!(libc::setgid(65534), 0);
                assert_eq!(libc::setuid(65534), 0);
            }
        }
        let limit = |n: usize| {
            let mut limit = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: the struct is written and read during the calls.
            unsafe {
                assert_eq!(libc::getrlimit(libc::RLIMIT_NPROC, &mut limit), 0);
                limit.rlim_cur = limit.rlim_max.min(n as libc::rlim_t);
                assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &limit), 0);
            }
        };
        // The limit counts the user's threads everywhere, so look for one that bites midway.
        let mut fewer = false;
        for n in (1..4000).step_by(3) {
            limit(n);
            let pool = pool(8);
            let busy = Busy::default();
            Par::Pool(&pool)
                .for_each(64, |_| busy.work(Duration::from_micros(200)))
                .unwrap();
            assert_eq!(sum(Par::Pool(&pool), 1000), 499_500);
            let warning = pool.take_warning();
            assert_eq!(pool.take_warning(), None, "said once");
            let expected = |text: &str| {
                let warning = warning.as_ref().unwrap();
                assert!(warning.contains("refused to start 8 worker threads"));
                assert!(warning.contains("ulimit -u"));
                warning.contains(text)
            };
            let got = match &warning {
                None => 8,
                Some(_) if expected("runs on the calling thread") => 0,
                Some(_) => (1..8)
                    .find(|n| expected(&format!("runs on {n} worker")))
                    .unwrap(),
            };
            have_workers(got);
            assert!(busy.most.load(SeqCst) <= got.max(1));
            drop(pool);
            have_workers(0);
            fewer |= (1..8).contains(&got);
            if got == 8 {
                break;
            }
        }
        assert!(fewer, "some limit left between 1 and 7 workers");
    });
}

/// Forks; the child runs `body` and exits, 0 if it returned true. The parent waits for it
/// 20 s, then kills it and fails.
fn forked(body: impl FnOnce() -> bool) {
    // SAFETY: the child runs what this crate says a child may run, and leaves by _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork fails");
    if pid == 0 {
        // A child that hangs ends with its parent at the latest.
        // SAFETY: a plain system call.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
        // SAFETY: ends the process.
        unsafe { libc::_exit(if good { 0 } else { 1 }) }
    }
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: waits for, and at worst kills, the child made above.
    unsafe {
        while libc::waitpid(pid, &mut status, libc::WNOHANG) == 0 {
            if start.elapsed() > Duration::from_secs(20) {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, &mut status, 0);
                panic!("the forked child hangs");
            }
            thread::sleep(Duration::from_micros(200));
        }
    }
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "status {status}"
    );
}

/// Ends the loops of other threads, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// What a forked child must be able to do: compute in its parent's pool and in a new one,
/// use its parent's memory, drop both.
fn child_works(pool_: Pool, memory: HostPool) -> bool {
    let block = memory.alloc(1 << 20).unwrap();
    let small = memory.alloc(100).unwrap();
    let sums = sum(Par::Pool(&pool_), 1000) == 499_500 && sum(Par::Pool(&pool(3)), 10) == 45;
    eventually("own workers", || workers().len() >= pool_.threads());
    let inside = Par::Pool(&pool_).run(rayon::current_num_threads) == Ok(pool_.threads());
    drop((block, small));
    memory.release();
    drop(pool_);
    sums && inside
}

/// Copies the pool's handle for a child, which drops it, while the parent keeps its own.
fn bitwise(pool: &Pool) -> Pool {
    // SAFETY: only used in a forked child that leaves by _exit without dropping the first.
    unsafe { std::ptr::read(pool) }
}

#[test]
fn a_forked_child_computes() {
    isolated("a_forked_child_computes", &[], || {
        let (pool, memory) = (pool(2), HostPool::new());
        forked(|| child_works(bitwise(&pool), memory.clone()));
        assert_eq!(sum(Par::Pool(&pool), 100), 4950);
        drop(memory.alloc(1 << 20).unwrap());
        let generation = fork::generation();
        for _ in 0..10 {
            forked(|| {
                // And the child's child.
                forked(|| child_works(bitwise(&pool), memory.clone()));
                fork::generation() == generation + 1 && child_works(bitwise(&pool), memory.clone())
            });
        }
        assert_eq!(fork::generation(), generation);
        have_workers(2);
        assert_eq!(sum(Par::Pool(&pool), 100), 4950);
    });
}

#[test]
fn forks_while_other_threads_compute() {
    isolated("forks_while_other_threads_compute", &[], || {
        let (pool, memory) = (pool(2), HostPool::new());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(SeqCst) {
                        assert_eq!(sum(Par::Pool(&pool), 64), 2016);
                        Par::Pool(&pool)
                            .run(|| drop(memory.alloc(1 << 18)))
                            .unwrap();
                    }
                });
                scope.spawn(|| {
                    let mut size = 1 << 17;
                    while !stop.load(SeqCst) {
                        drop(memory.alloc(size).unwrap());
                        size = size % (1 << 21) + (1 << 17);
                        if size == 1 << 20 {
                            memory.release();
                        }
                    }
                });
            }
            let _stop = Stop(&stop);
            for _ in 0..100 {
                forked(|| child_works(bitwise(&pool), memory.clone()));
            }
        });
    });
}

#[test]
fn forks_while_pools_start_and_stop() {
    isolated("forks_while_pools_start_and_stop", &[], || {
        let (lasting, memory) = (pool(2), HostPool::new());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(SeqCst) {
                    assert_eq!(sum(Par::Pool(&pool(3)), 10), 45);
                }
            });
            let _stop = Stop(&stop);
            for _ in 0..50 {
                forked(|| child_works(bitwise(&lasting), memory.clone()));
            }
        });
    });
}

#[test]
fn a_task_may_fork() {
    isolated("a_task_may_fork", &[], || {
        let (pool, memory) = (pool(2), HostPool::new());
        let computes = || {
            let nested = AtomicUsize::new(0);
            let par = Par::Pool(&pool);
            par.for_each(10, |i| {
                nested.fetch_add(sum(par, 4) + i, SeqCst);
            })
            .unwrap();
            drop(memory.alloc(1 << 20).unwrap());
            par.run(|| nested.into_inner()) == Ok(10 * 6 + 45)
        };
        for round in 0..20 {
            // From a worker, from two at once, and from a section of the calling thread.
            Par::Pool(&pool)
                .for_each(4, |i| {
                    if i <= round % 2 {
                        forked(computes);
                    }
                })
                .unwrap();
            let _section = fork::running();
            forked(|| computes() && child_works(bitwise(&pool), memory.clone()));
            assert!(computes());
        }
    });
}

#[test]
fn threads_fork_at_once_inside_and_outside_sections() {
    let name = "threads_fork_at_once_inside_and_outside_sections";
    isolated(name, &[], || {
        let (pool, memory) = (pool(2), HostPool::new());
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for inside in [false, true, false, true] {
                let (pool, memory, start) = (&pool, &memory, &start);
                scope.spawn(move || {
                    for _ in 0..15 {
                        start.wait();
                        let _section = inside.then(fork::running);
                        forked(|| child_works(bitwise(pool), memory.clone()));
                    }
                });
            }
        });
        assert_eq!(sum(Par::Pool(&pool), 100), 4950);
    });
}

#[test]
fn a_fork_waits_for_running_sections() {
    isolated("a_fork_waits_for_running_sections", &[], || {
        let pool = pool(2);
        let (started, done) = (Barrier::new(2), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let section = fork::running();
                started.wait();
                thread::sleep(Duration::from_millis(100));
                // Part of the section, so not held up by the fork that waits for it.
                assert_eq!(sum(Par::Pool(&pool), 100), 4950);
                done.store(true, SeqCst);
                drop(section);
            });
            started.wait();
            forked(|| done.load(SeqCst));
        });
    });
}

thread_local! {
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn a_forking_thread_may_hold_what_the_interrupt_hook_wants() {
    let name = "a_forking_thread_may_hold_what_the_interrupt_hook_wants";
    isolated(name, &[], || {
        // The interpreter's lock: a thread that forks has it, a thread that computes asks
        // for it now and then.
        static LOCK: Mutex<()> = Mutex::new(());
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        interrupt::set_hook(|| {
            ASKED.fetch_add(1, SeqCst);
            if !HOLDS.get() {
                drop(LOCK.lock().unwrap());
            }
            false
        });
        let (pool, memory) = (pool(2), HostPool::new());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(SeqCst) {
                    let pause = |_| thread::sleep(Duration::from_millis(5));
                    Par::Pool(&pool).for_each(40, pause).unwrap();
                    // The same where the system grants no worker: a section computes here.
                    let _section = fork::running();
                    Par::Seq.for_each(20, pause).unwrap();
                }
            });
            let _stop = Stop(&stop);
            for _ in 0..20 {
                let _lock = LOCK.lock().unwrap();
                HOLDS.set(true);
                thread::sleep(Duration::from_millis(30));
                forked(|| child_works(bitwise(&pool), memory.clone()));
                HOLDS.set(false);
            }
        });
        assert!(ASKED.load(SeqCst) > 0);
    });
}
