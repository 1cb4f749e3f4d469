//! Whole models, against llama.cpp, and the engine that runs them. `../references` has llama.cpp's results and
//! the programs that made them.

mod engine;
mod real;
mod support;
mod tiny;
