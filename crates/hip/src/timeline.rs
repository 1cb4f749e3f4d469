//! The timeline of a process: what its threads, queues and devices do, and when, for <https://ui.perfetto.dev>.
//!
//! With `FERROCM_TRACE=trace.json` in the environment, this crate and what is below it write a timeline; the page about profiling in the
//! repository says what is in it. Nothing has to be done in the program. It can add its own:
//!
//! ```
//! # fn forward() {}
//! // The spans of `tracing` that the program and its libraries have; over a subscriber of the program's own with `Spans::over`.
//! tracing::subscriber::set_global_default(hip::timeline::Spans::new())?;
//! tracing::info_span!("forward", layer = 3).in_scope(forward);
//!
//! // Or a slice by hand.
//! let mut span = hip::timeline::Span::enter("training", "step");
//! span.number("step", 7);
//! drop(span);
//! # Ok::<(), tracing::subscriber::SetGlobalDefaultError>(())
//! ```

pub use ::timeline::{Span, Spans, is_on};
