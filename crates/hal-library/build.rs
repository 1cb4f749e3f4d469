//! Compiles the device library and embeds it. The published package contains the compiled code.

use kernel_build::Builder;

fn main() {
    Builder::new("device").types("::code_object::embedded").embed_prebuilt_or_exit("prebuilt");
}
