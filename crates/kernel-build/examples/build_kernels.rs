//! Builds a folder of kernels and prints what came out: `build_kernels <folder> [include folder]…`.

use kernel_build::{Builder, Event};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("which folder?")?;
    let builder = args.fold(Builder::new(folder), Builder::include).on_event(|event| {
        if let Event::Finished { module, target, cached, duration } = event {
            println!("{module} for {target}: {duration:.2?}{}", if cached { " (cached)" } else { "" });
        }
    });
    let build = builder.build()?;
    for warning in build.warnings() {
        println!("{warning}");
    }
    for row in build.kernel_uses() {
        println!(
            "{:8} {:8} {:28} {:4} VGPRs {:4} SGPRs {:6} bytes of LDS, wave{} {:6} bytes of code",
            row.module, row.target, row.kernel, row.vgprs, row.sgprs, row.lds, row.wave, row.code_bytes
        );
    }
    Ok(())
}
