fn main() {
    kernel_build::Builder::new("kernels").embed_or_exit();

    let out = std::env::var("OUT_DIR").unwrap();
    kernel_build::Builder::new("launchers").build_lib_or_exit(format!("{out}/liblaunchers.a"));
}
