//! Models on the CPU, against llama.cpp, and the engine that runs them. `../references` has llama.cpp's results
//! and the programs that made them.

mod architectures;
mod engine;
mod real;
mod support;
mod tiny;
