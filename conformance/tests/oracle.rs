//! Random programs on the oracle and on every way to run the front end.
//!
//! `RUSTARR_ORACLE_SEED` starts at another seed (or repeats a failing one), `RUSTARR_ORACLE_PROGRAMS` says how
//! many programs run; without it, as many as fit into the time limit.

use rustarr::{Context, ContextOptions, Defer};
use rustarr_conformance::oracle::checked::Checked;
use rustarr_conformance::oracle::drive::{Config, listing, run_all, shrink};
use rustarr_conformance::oracle::generate::generate;
use rustarr_conformance::suite::targets::cpu;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);

fn checked(max_instrs: usize, max_operands: usize, defer: Defer) -> Context {
    let backend = Arc::new(Checked::new(max_instrs, max_operands));
    let options = ContextOptions {
        defer,
        ..ContextOptions::default()
    };
    Context::new("checked", backend.clone(), backend, options)
}

/// Every CPU backend eager, deferring and mixed; the second context of each is what arrays are relabelled to.
fn configs() -> Vec<Config> {
    use Defer::{Always, Auto, Never};
    let wide = |defer| checked(64, 16, defer);
    let narrow = |defer| checked(8, 4, defer);
    let serial = |defer| cpu("cpu-serial", None, defer, (defer == Always).then_some(1));
    let parallel = |threads, defer| cpu("cpu-parallel", Some(threads), defer, Some(1));
    let config = |name: &str, group, first, second| Config {
        name: name.to_owned(),
        group,
        contexts: vec![first, second],
    };
    vec![
        config("checked, eager", 0, wide(Never), wide(Never)),
        config("checked, deferred", 0, wide(Always), wide(Always)),
        config("checked, narrow", 0, narrow(Always), narrow(Auto)),
        config("checked, mixed", 0, wide(Always), wide(Never)),
        config("serial, eager", 1, serial(Never), serial(Never)),
        config("serial", 1, serial(Auto), serial(Auto)),
        config("serial, deferred", 1, serial(Always), serial(Always)),
        config("parallel 1, mixed", 1, parallel(1, Always), serial(Auto)),
        config(
            "parallel 2, deferred",
            1,
            parallel(2, Always),
            parallel(3, Always),
        ),
        config("parallel 3, mixed", 1, parallel(3, Auto), serial(Always)),
    ]
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|v| {
        v.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {v:?}"))
    })
}

#[test]
fn random_programs_agree() {
    let first = setting("RUSTARR_ORACLE_SEED").unwrap_or(0);
    let count = setting("RUSTARR_ORACLE_PROGRAMS");
    let configs = configs();
    let started = Instant::now();
    let mut programs = 0;
    let (mut elements, mut free) = (0, 0);
    let mut failure = None;
    while count.map_or(started.elapsed() < LIMIT, |n| programs < n) {
        let seed = first + programs;
        let program = generate(seed);
        match run_all(&configs, &program) {
            Ok(coverage) => {
                elements += coverage.elements;
                free += coverage.free;
            }
            Err(_) => {
                failure = Some((seed, shrink(&configs, &program)));
                break;
            }
        }
        programs += 1;
    }
    if let Some((seed, (program, error))) = failure {
        panic!(
            "seed {seed}: {error}\n{}repeat with RUSTARR_ORACLE_SEED={seed} RUSTARR_ORACLE_PROGRAMS=1",
            listing(&program)
        );
    }
    println!(
        "{programs} programs in {:.1?}: {elements} elements compared, {free} of them free",
        started.elapsed()
    );
    assert!(programs > 0, "not one program ran");
    // Else the programs are too wild for the oracle to say anything.
    assert!(
        programs < 100 || free * 5 < elements,
        "{free} of {elements} elements are free"
    );
}
