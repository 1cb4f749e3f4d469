//! Compares a call through a function table with a linked call and with a symbol look-up per call.
//!
//! `cargo xtask bench sys` runs it; docs/use/loading.md has figures.

#[cfg(linked)]
mod load;
#[cfg(linked)]
mod measure;

#[cfg(linked)]
fn main() -> std::process::ExitCode {
    match measure::run(&mut std::io::stdout()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(linked))]
fn main() -> std::process::ExitCode {
    eprintln!("error: this benchmark cannot run: {}", env!("SYS_CALL_MISSING"));
    std::process::ExitCode::FAILURE
}
