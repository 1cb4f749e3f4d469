//! The timeline of a process for <https://ui.perfetto.dev>: what its threads, queues and devices do, and
//! when.
//!
//! With `FERROCM_TRACE=trace.json` in the environment, this crate and the crates below it write a timeline;
//! the repository's page about profiling describes its contents. The program need not do anything, but can
//! add its own spans:
//!
//! ```
//! # fn forward() {}
//! // Adds the `tracing` spans of the program and its libraries. If the program has its own subscriber, use
//! // `Spans::over`.
//! tracing::subscriber::set_global_default(hip::timeline::Spans::new())?;
//! tracing::info_span!("forward", layer = 3).in_scope(forward);
//!
//! // Adds a slice by hand.
//! let mut span = hip::timeline::Span::enter("training", "step");
//! span.number("step", 7);
//! drop(span);
//! # Ok::<(), tracing::subscriber::SetGlobalDefaultError>(())
//! ```

pub use ::timeline::{Span, Spans, is_on};
