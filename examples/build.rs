//! Compiles the kernels of `07-build-workflow`, and writes a Rust module that embeds them.

fn main() {
    kernel_build::Builder::new("07-build-workflow").embed_or_exit();
}
