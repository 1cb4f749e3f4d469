//! Compiles the benchmark's kernel.

fn main() {
    kernel_build::Builder::new("kernels").embed_or_exit();
}
