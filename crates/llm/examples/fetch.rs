//! Fetches models by name into the cache: `cargo run --package ferrocm-llm --example fetch -- smollm2`.

use std::process::ExitCode;

use llm::models;

fn main() -> ExitCode {
    for name in std::env::args().skip(1) {
        match models::fetch(&name, &mut |_| {}) {
            Ok(path) => println!("{name}: {}", path.display()),
            Err(error) => {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
