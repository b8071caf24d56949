//! Adapters, limits, memory, loss and fork: what goes wrong goes wrong as an error.

mod support;

use rustarr_interface::{
    Args, Backend, DType, ErrorKind, Layout, Op, ProgramBuilder, Reduce, Scalar,
};
use rustarr_wgpu::{Choice, Fault, WgpuBackend, adapters};
use support::*;

#[test]
fn adapters_are_listed_and_refused_with_reasons() {
    let Some(gpu) = gpu() else { return };
    let all = adapters(&Choice {
        allow_software: true,
        ..Choice::default()
    })
    .unwrap();
    assert!(
        all.iter()
            .any(|a| a.refused.is_none() && !a.name.is_empty() && a.max_buffer_size > 0)
    );
    assert_eq!(gpu.name(), format!("wgpu:{}", gpu.adapter().index));
    // Software adapters are never taken by surprise.
    let strict = adapters(&Choice::default()).unwrap();
    for adapter in &strict {
        assert_eq!(
            adapter.is_software(),
            adapter.refused.is_some(),
            "{adapter:?}"
        );
    }
    let none = Choice {
        name: Some("no such adapter".to_owned()),
        allow_software: true,
        index: None,
    };
    let error = WgpuBackend::open(&none, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.detail().contains(&all[0].name), "{error}");
    assert!(
        error.detail().contains("another name was asked for"),
        "{error}"
    );
    if strict.iter().all(|a| a.is_software()) {
        let error = WgpuBackend::open(&Choice::default(), None).unwrap_err();
        assert!(error.detail().contains("allow_software=True"), "{error}");
    }
}

#[test]
fn bytes_come_back_from_any_offset() {
    let Some(gpu) = gpu() else { return };
    let n = (1 << 20) + 7;
    let mut host: Vec<u8> = (0..n).map(|i| (i * 31 % 251) as u8).collect();
    let buffer = gpu.alloc(n).unwrap();
    gpu.write(&buffer, 0, &host).unwrap();
    for (offset, len) in [
        (0, n),
        (1, 1),
        (3, 6),
        (5, 1000),
        (n - 1, 1),
        (n - 6, 6),
        (4, 0),
        (8, 8),
    ] {
        let mut got = vec![0; len];
        gpu.read(&buffer, offset, &mut got).unwrap();
        assert_eq!(got, &host[offset..offset + len], "read {len} at {offset}");
        let fresh: Vec<u8> = (0..len).map(|i| (i * 17 + offset) as u8).collect();
        gpu.write(&buffer, offset, &fresh).unwrap();
        host[offset..offset + len].copy_from_slice(&fresh);
        let mut whole = vec![0; n];
        gpu.read(&buffer, 0, &mut whole).unwrap();
        assert!(whole == host, "write {len} at {offset}");
    }
    let mut beyond = [0; 4];
    assert!(gpu.read(&buffer, n - 3, &mut beyond).is_err());
    assert!(gpu.write(&buffer, usize::MAX, &beyond).is_err());
    let empty = gpu.alloc(0).unwrap();
    gpu.write(&empty, 0, &[]).unwrap();
    gpu.read(&empty, 0, &mut []).unwrap();
}

#[test]
fn buffers_beyond_one_binding_are_windowed() {
    let Some(gpu) = gpu() else { return };
    // Over 128 MiB in, with another order of axes, and over 128 MiB out.
    let (rows, cols) = (6000usize, 6000usize);
    let values: Vec<u32> = (0..rows * cols)
        .map(|i| (i as u32).wrapping_mul(2654435761))
        .collect();
    let a = upload(&gpu, &[rows, cols], &values);
    let flipped = Arr {
        layout: a.layout.permute(&[1, 0]),
        ..a.clone()
    };
    let out = run(
        &gpu,
        &single(Op::Add, DType::U32),
        &[rows, cols],
        &[&a, &flipped],
        &[],
    )
    .remove(0);
    let got = raw::<u32>(&gpu, &out);
    for i in (0..rows * cols).step_by(9973) {
        let (r, c) = (i / cols, i % cols);
        assert_eq!(
            got[i],
            values[i].wrapping_add(values[c * cols + r]),
            "element {i}"
        );
    }
    for axis in 0..2 {
        let sums: Vec<u32> = download(
            &gpu,
            &fold(
                &gpu,
                Reduce::Sum,
                &identity(DType::U32),
                &[rows, cols],
                &[axis],
                &[&a],
            ),
        );
        for k in (0..6000).step_by(577) {
            let want = (0..6000).fold(0u32, |s, j| {
                s.wrapping_add(
                    values[if axis == 0 {
                        j * cols + k
                    } else {
                        k * cols + j
                    }],
                )
            });
            assert_eq!(sums[k], want, "sum {k} over {axis}");
        }
    }
    let all: Vec<u32> = download(
        &gpu,
        &fold(
            &gpu,
            Reduce::Sum,
            &identity(DType::U32),
            &[rows, cols],
            &[0, 1],
            &[&a],
        ),
    );
    assert_eq!(all[0], values.iter().fold(0u32, |s, v| s.wrapping_add(*v)));
}

#[test]
fn memory_has_limits_and_an_account() {
    let Some(_) = gpu() else { return };
    let gpu = fresh();
    let largest = gpu.adapter().max_buffer_size as usize;
    let error = gpu.alloc(largest + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.detail().contains("largest buffer"), "{error}");
    assert_eq!(gpu.memory().in_use, 0);
    gpu.set_memory_limit(Some(1 << 20));
    let first = gpu.alloc(700_000).unwrap();
    let error = gpu.alloc(700_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.detail().contains("limit of 1.0 MiB"), "{error}");
    let small = gpu.alloc(1000).expect("the next small request works");
    assert!(gpu.memory().in_use >= 701_000);
    drop((first, small));
    assert_eq!(gpu.memory().in_use, 0);
    assert!(gpu.memory().cached >= 700_000);
    // Rounds of the same sizes reuse the same buffers.
    for _ in 0..1000 {
        let (a, b) = (gpu.alloc(300_000).unwrap(), gpu.alloc(300_001).unwrap());
        drop((a, b));
    }
    assert!(gpu.memory().cached <= 1 << 20, "{:?}", gpu.memory());
    gpu.release();
    assert_eq!(gpu.memory().cached, 0);
    assert!(gpu.memory().peak >= 701_000);
}

#[test]
fn uploads_that_nothing_follows_do_not_pile_up() {
    let Some(_) = gpu() else { return };
    let gpu = fresh();
    let host = vec![7u8; 1 << 20];
    let mut most = 0;
    for _ in 0..100 {
        let buffer = gpu.alloc(host.len()).unwrap();
        gpu.write(&buffer, 0, &host).unwrap();
        most = most.max(gpu.gpu().staged());
    }
    assert!((1..=32 << 20).contains(&most), "{most} bytes staged");
    for flush in [WgpuBackend::release as fn(&WgpuBackend), |gpu| {
        gpu.sync().unwrap()
    }] {
        let buffer = gpu.alloc(host.len()).unwrap();
        gpu.write(&buffer, 0, &host).unwrap();
        assert!(gpu.gpu().staged() > 0);
        flush(&gpu);
        assert_eq!(gpu.gpu().staged(), 0);
    }
}

#[test]
fn a_lost_device_harms_only_itself() {
    let Some(_) = gpu() else { return };
    let (doomed, other) = (fresh(), fresh());
    let a = upload(&doomed, &[4], &[1f32, 2.0, 3.0, 4.0]);
    let b = upload(&other, &[4], &[1f32, 2.0, 3.0, 4.0]);
    doomed.gpu().destroy();
    let lost = |e: rustarr_interface::Error| assert_eq!(e.kind(), ErrorKind::DeviceLost, "{e}");
    let (input, output) = ([a.operand()], [a.operand()]);
    let args = Args {
        shape: &[4],
        inputs: &input,
        params: &[],
        outputs: &output,
        donated: &[Some(0)],
    };
    lost(doomed.map(&single(Op::Exp, DType::F32), args).unwrap_err());
    lost(doomed.read(&a.buffer, 0, &mut [0; 4]).unwrap_err());
    lost(doomed.write(&a.buffer, 0, &[0; 4]).unwrap_err());
    lost(doomed.sync().unwrap_err());
    lost(doomed.alloc(16).unwrap_err());
    doomed.release();
    drop(a);
    let out = run(&other, &single(Op::Square, DType::F32), &[4], &[&b], &[]);
    assert_eq!(raw::<f32>(&other, &out[0]), [1.0, 4.0, 9.0, 16.0]);
    // A new device of the same adapter works.
    let again = fresh();
    let c = upload(&again, &[2], &[3f32, 4.0]);
    let out = run(&again, &single(Op::Square, DType::F32), &[2], &[&c], &[]);
    assert_eq!(raw::<f32>(&again, &out[0]), [9.0, 16.0]);
}

#[test]
fn many_threads_share_a_device() {
    let Some(gpu) = gpu() else { return };
    std::thread::scope(|scope| {
        for seed in 0..6u32 {
            let gpu = &gpu;
            scope.spawn(move || {
                for round in 0..20u32 {
                    let x: Vec<u32> = (0..1000).map(|i| i * seed + round).collect();
                    let a = upload(gpu, &[1000], &x);
                    let out =
                        run(gpu, &single(Op::Square, DType::U32), &[1000], &[&a], &[]).remove(0);
                    let want: Vec<u32> = x.iter().map(|v| v.wrapping_mul(*v)).collect();
                    assert_eq!(raw::<u32>(gpu, &out), want);
                }
            });
        }
    });
}

/// A forked child gets an error from every use, and its exit does not hang.
#[cfg(unix)]
#[test]
fn a_forked_child_gets_an_error() {
    let Some(_) = gpu() else { return };
    let gpu = fresh();
    let a = upload(&gpu, &[4], &[1f32; 4]);
    // SAFETY: the child only calls code that takes no lock which another thread of this
    // process may hold: every entry of the backend asks for the process first.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let lost = |kind: Option<ErrorKind>| kind == Some(ErrorKind::DeviceLost);
        let read = gpu.read(&a.buffer, 0, &mut [0; 4]).err().map(|e| e.kind());
        let alloc = gpu.alloc(16).err().map(|e| e.kind());
        let sync = gpu.sync().err().map(|e| e.kind());
        let open = WgpuBackend::open(&Choice::default(), None)
            .err()
            .map(|e| e.kind());
        let listed = matches!(adapters(&Choice::default()), Err(Fault::Lost(_)));
        gpu.release();
        drop(a);
        drop(gpu);
        let fine = lost(read) && lost(alloc) && lost(sync) && lost(open) && listed;
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(if fine { 0 } else { 1 }) }
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let mut status = 0;
    loop {
        // SAFETY: waits for the child made above; `status` outlives the call.
        let done = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if done == child {
            break;
        }
        if std::time::Instant::now() > deadline {
            // SAFETY: the child made above, which is still running.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the forked child hangs");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "status {status}"
    );
    // The parent goes on.
    assert_eq!(raw::<f32>(&gpu, &a), [1.0; 4]);
}

#[test]
fn far_parts_of_one_buffer_do_not_need_one_window() {
    let Some(gpu) = gpu() else { return };
    let reach = gpu.gpu().limits().max_storage_buffer_binding_size as usize;
    let len = reach / 4 + 4096;
    if len * 4 > gpu.adapter().max_buffer_size as usize || reach > 256 << 20 {
        // No buffer of this device is out of one binding's reach; the plan is tested on its own.
        return;
    }
    let buffer = gpu.alloc(len * 4).unwrap();
    gpu.write(&buffer, (len - 100) * 4, &[7; 400]).unwrap();
    let whole = Layout::contiguous(&[len]);
    let part = |start| Arr {
        buffer: buffer.clone(),
        layout: whole.slice(0, start, 1, 100),
        dtype: DType::U32,
    };
    run_into(
        &gpu,
        &identity(DType::U32),
        &[100],
        &[&part(len - 100)],
        &[],
        &[&part(0)],
        &[],
    );
    assert_eq!(download::<u32>(&gpu, &part(0)), [0x0707_0707; 100]);
}

#[test]
fn no_dispatch_runs_for_long() {
    let Some(_) = gpu() else { return };
    let gpu = fresh();
    if !gpu.adapter().is_software() {
        return;
    }
    // Heavy work on many elements is cut into several dispatches.
    let n = 6_000_000;
    let a = blank(&gpu, &[n], DType::F32);
    let mut b = ProgramBuilder::new();
    let (x, p) = (b.load(DType::F32), b.param(DType::F32));
    let mut y = x;
    for _ in 0..6 {
        y = b.apply(Op::Pow, &[y, p]).unwrap();
        y = b.apply(Op::Sin, &[y]).unwrap();
    }
    let program = b.finish(&[y]).unwrap();
    gpu.sync().unwrap();
    let before = gpu.counters().dispatches;
    let start = std::time::Instant::now();
    run(&gpu, &program, &[n], &[&a], &[Scalar::new(0.5f32)]);
    gpu.sync().unwrap();
    let dispatches = gpu.counters().dispatches - before;
    println!("{dispatches} dispatches in {:?}", start.elapsed());
    assert!(dispatches >= 5, "{dispatches} dispatches");
}
