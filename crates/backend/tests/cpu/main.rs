//! Every operation on the CPU against loops in f64.

#[path = "../cases/attention.rs"]
mod attention;
#[path = "../cases/common.rs"]
mod common;
#[path = "../cases/delta.rs"]
mod delta;
#[path = "../cases/elementwise.rs"]
mod elementwise;
#[path = "../cases/experts.rs"]
mod experts;
#[path = "../cases/fused.rs"]
mod fused;
#[path = "../cases/memory.rs"]
mod memory;
#[path = "../cases/products.rs"]
mod products;
#[path = "../cases/rows.rs"]
mod rows;
#[path = "../cases/sampling.rs"]
mod sampling;

use std::sync::Arc;

use backend::{CpuBackend, DType, KernelBackend};

/// The backend under test.
fn backend() -> Arc<dyn KernelBackend> {
    Arc::new(CpuBackend::with_threads(2).unwrap())
}

#[test]
fn work_within_runs_once_on_a_thread_of_the_backend_and_its_panic_goes_on() {
    for threads in [1, 2] {
        let backend: Arc<dyn KernelBackend> = Arc::new(CpuBackend::with_threads(threads).unwrap());
        let (mut times, mut name) = (0, None);
        backend.within(&mut || {
            times += 1;
            name = std::thread::current().name().map(str::to_owned);
            // Operations of work that is on such a thread run there, too.
            let x = backend.tensor(DType::F32, &[1, 512], &[1.0; 512]).unwrap();
            let w = backend.tensor(DType::F32, &[512, 512], &[1.0; 512 * 512]).unwrap();
            let out = backend.empty(DType::F32, &[1, 512]).unwrap();
            backend.matmul(&x, &w, &out).unwrap();
            assert_eq!(backend.to_f32(&out).unwrap(), [512.0; 512]);
        });
        assert_eq!(times, 1);
        let is_its_own = name.unwrap().starts_with("ferrocm-cpu-");
        assert_eq!(is_its_own, threads > 1, "one thread is the caller's");
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            backend.within(&mut || panic!("in work"));
        }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"in work"));
        backend.within(&mut || times += 1);
        assert_eq!(times, 2, "the backend goes on");
    }
}
