//! Copies, memory and graphs.

use backend::{Activation, BackendKind, DType, Error, StepGraphs};

use crate::common::{Bench, random};

#[test]
fn bytes_come_back_as_they_went() {
    let bench = Bench::open();
    // Some pieces of pinned memory, and a part of one.
    let bytes: Vec<u8> = (0..(20 << 20) + 12_u32).map(|i| (i ^ i >> 9) as u8).collect();
    let x = bench.backend.empty(DType::I8, &[bytes.len()]).unwrap();
    bench.backend.upload(&bytes, &x).unwrap();
    let part = bench.backend.read_back(&x.narrow(0, 5, 1000).unwrap()).unwrap();
    assert!(bench.backend.download(&x).unwrap() == bytes);
    assert_eq!(part.wait().unwrap(), bytes[5..1005]);
    let error = bench.backend.upload(&bytes[1..], &x).unwrap_err();
    assert!(matches!(error, Error::Shape { operation: "upload", .. }), "{error}");
    let failed = bench.backend.upload_from(&x, &mut |_, _| Err(std::io::Error::other("no disk")));
    assert!(failed.unwrap_err().to_string().contains("no disk"));
    assert!(bench.backend.memory().unwrap().in_use >= bytes.len() as u64);
    drop(x);
    assert!(bench.backend.memory().unwrap().in_use < bytes.len() as u64);
}

#[test]
fn tensors_of_several_types_share_bytes() {
    let bench = Bench::open();
    let bytes: Vec<u8> = (0..64).collect();
    let all = bench.backend.empty(DType::I8, &[bytes.len()]).unwrap();
    bench.backend.upload(&bytes, &all).unwrap();
    let words = all.in_bytes(DType::U32, 16, &[2, 3]).unwrap();
    assert!(words.shares_memory_with(&all) && words.shape() == [2, 3]);
    assert_eq!(bench.backend.download(&words).unwrap(), bytes[16..40]);
    let long = all.narrow(0, 8, 56).unwrap().in_bytes(DType::I64, 8, &[6]).unwrap();
    assert_eq!(bench.backend.download(&long).unwrap(), bytes[16..64]);
    let wrong = [
        (&all, DType::U32, 2, 1),
        (&all, DType::U32, 56, 3),
        (&all, DType::U32, usize::MAX - 3, 1),
        (&words, DType::F32, 0, 1),
    ];
    for (from, dtype, at, count) in wrong {
        let error = from.in_bytes(dtype, at, &[count]).unwrap_err();
        assert!(matches!(error, Error::Shape { operation: "in_bytes", .. }), "{error}");
    }
}

#[test]
fn a_captured_step_runs_on_what_its_tensors_have_then() {
    let bench = Bench::open();
    let b = &*bench.backend;
    let x = bench.empty(DType::F32, &[1, 64]);
    let w = bench.tensor(DType::F32, &[32, 64], &random(32 * 64, 71, 1.0));
    let bias = bench.tensor(DType::F32, &[32], &random(32, 72, 1.0));
    let (captured, direct) = (bench.empty(DType::F32, &[1, 32]), bench.empty(DType::F32, &[1, 32]));
    let step = |out: &backend::Tensor| {
        b.linear(&x, &w, Some(&bias), out)?;
        // Memory of the graph's own.
        let between = b.empty(DType::F32, &[1, 32])?;
        b.activate(Activation::Gelu, out, &between)?;
        b.add(&between, out, out)
    };
    b.upload_f32(&random(64, 73, 1.0), &x).unwrap();
    let graph = b.capture(&mut || step(&captured)).unwrap();
    assert_eq!(graph.is_none(), b.info().kind == BackendKind::Cpu);
    for seed in 74..77 {
        b.upload_f32(&random(64, seed, 1.0), &x).unwrap();
        match &graph {
            Some(graph) => graph.launch().unwrap(),
            None => step(&captured).unwrap(),
        }
        step(&direct).unwrap();
        assert_eq!(b.to_f32(&captured).unwrap(), b.to_f32(&direct).unwrap());
    }
    if graph.is_some() {
        let failed = b.capture(&mut || b.add(&x, &w, &x));
        assert!(matches!(failed, Err(Error::Shape { operation: "add", .. })), "{failed:?}");
        let waits = b.capture(&mut || b.download(&x).map(drop));
        assert!(matches!(waits, Err(Error::Hip(_))), "{waits:?}");
        step(&direct).unwrap();
        assert_eq!(
            b.to_f32(&captured).unwrap(),
            b.to_f32(&direct).unwrap(),
            "a failed capture leaves no trace"
        );
    }
}

#[test]
fn each_number_of_sequences_has_a_graph() {
    let bench = Bench::open();
    let b = &*bench.backend;
    let x = bench.tensor(DType::F32, &[4, 8], &[1.0; 32]);
    let mut graphs = StepGraphs::default();
    for (round, sequences) in [1, 4, 1, 4].into_iter().enumerate() {
        let part = x.narrow(0, 0, sequences).unwrap();
        graphs.run(b, sequences, &mut || b.affine(&part, 2.0, 0.0, &part)).unwrap();
        let numbers = b.to_f32(&x).unwrap();
        let first = 2.0_f32.powi(round as i32 + 1);
        let last = 2.0_f32.powi((round as i32 + 1) / 2);
        assert_eq!((numbers[0], numbers[31]), (first, last), "{round}");
    }
    let on_gpu = b.info().kind != BackendKind::Cpu;
    assert_eq!((graphs.len(), graphs.is_empty()), if on_gpu { (2, false) } else { (0, true) });
    graphs.clear();
    assert!(graphs.is_empty());
}

#[test]
fn several_threads_share_a_backend() {
    let bench = Bench::open();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let bench = &bench;
            scope.spawn(move || {
                let numbers = random(1000, 80 + seed, 2.0);
                for _ in 0..5 {
                    let x = bench.tensor(DType::F32, &[10, 100], &numbers);
                    bench.backend.affine(&x, 2.0, 1.0, &x).unwrap();
                    let expected: Vec<f32> = numbers.iter().map(|x| x * 2.0 + 1.0).collect();
                    assert_eq!(bench.backend.to_f32(&x).unwrap(), expected);
                }
            });
        }
    });
}
