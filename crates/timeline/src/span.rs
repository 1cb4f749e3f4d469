//! Slices on the calling thread's track.

use std::fmt;

use crate::{Slice, Track, Value, is_on, now, slice};

/// An activity of the calling thread, from now until the value is dropped.
///
/// ```
/// fn step() {
///     let _span = timeline::Span::enter("training", "step");
///     // …
/// }
/// # step();
/// ```
#[must_use = "it lasts as long as the value lives"]
pub struct Span(Option<Open>);

struct Open {
    category: &'static str,
    name: &'static str,
    start: u64,
    values: Vec<(&'static str, Owned)>,
    /// The track is the thread's, so another thread must not drop the span.
    _thread: std::marker::PhantomData<*const ()>,
}

/// A value of an event that is not written yet.
#[derive(Debug, Clone)]
pub(crate) enum Owned {
    Number(u64),
    Signed(i64),
    Real(f64),
    Text(String),
}

impl Owned {
    pub(crate) fn get(&self) -> Value<'_> {
        match self {
            Self::Number(number) => Value::Number(*number),
            Self::Signed(number) => Value::Signed(*number),
            Self::Real(real) => Value::Real(*real),
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// The path of the function that contains a closure, without the crate: `api::copy::hipMemcpy` for the type
/// of a closure in that function. It names slices of APIs whose functions have their bodies in a closure.
#[must_use]
pub fn function_around<F>() -> &'static str {
    let path = std::any::type_name::<F>();
    let path = path.strip_suffix("::{{closure}}").unwrap_or(path);
    path.split_once("::").map_or(path, |(_, rest)| rest)
}

impl Span {
    /// Begins a span. Does nothing if no timeline is written.
    #[inline]
    pub fn enter(category: &'static str, name: &'static str) -> Span {
        if is_on() { Span::begin(category, name) } else { Span(None) }
    }

    #[cold]
    fn begin(category: &'static str, name: &'static str) -> Span {
        let (start, values) = (now(), Vec::new());
        Span(Some(Open { category, name, start, values, _thread: std::marker::PhantomData }))
    }

    /// Whether the span will be written. Use it to skip work that only fills in values.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds an integer.
    pub fn number(&mut self, name: &'static str, number: u64) {
        self.value(name, Owned::Number(number));
    }

    /// Adds a number that need not be an integer.
    pub fn real(&mut self, name: &'static str, real: f64) {
        self.value(name, Owned::Real(real));
    }

    /// Adds a text.
    pub fn text(&mut self, name: &'static str, text: impl fmt::Display) {
        if self.0.is_some() {
            self.value(name, Owned::Text(text.to_string()));
        }
    }

    /// The start of the span; none if no timeline is written.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.0.as_ref().map(|open| open.start)
    }

    /// Discards the span: it is not written.
    pub fn discard(mut self) {
        self.0 = None;
    }

    fn value(&mut self, name: &'static str, value: Owned) {
        if let Some(open) = &mut self.0 {
            open.values.push((name, value));
        }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = &self.0 {
            open.write();
        }
    }
}

impl Open {
    #[cold]
    fn write(&self) {
        let values: Vec<(&str, Value<'_>)> =
            self.values.iter().map(|(name, value)| (*name, value.get())).collect();
        let (category, name, start) = (self.category, self.name, self.start);
        slice(&Slice { track: Track::host(), category, name, start, end: now(), values: &values });
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Span").field(&self.0.as_ref().map(|open| open.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of<F: FnOnce()>(_: F) -> &'static str {
        function_around::<F>()
    }

    #[test]
    fn a_closure_knows_the_function_that_it_is_in() {
        let name = name_of(|| {});
        assert_eq!(name, "span::tests::a_closure_knows_the_function_that_it_is_in");
    }

    #[test]
    fn without_a_timeline_a_span_does_nothing() {
        let mut span = Span::enter("x", "y");
        span.text("z", 1);
        assert!(!span.is_on() && span.start().is_none());
    }
}
