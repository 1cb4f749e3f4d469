//! Whole models, against llama.cpp. `../references` has its results and the programs that made them.

mod real;
mod support;
