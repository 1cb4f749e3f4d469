//! Compiles the kernels, also for targets that the virtual GPU does not support yet, and embeds them.

fn main() {
    kernel_build::Builder::new("kernels")
        .targets(["gfx1030", "gfx1100", "gfx90a", "gfx942", "gfx1201"])
        .embed_or_exit();
}
