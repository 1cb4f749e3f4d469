//! The sample component from end to end.
