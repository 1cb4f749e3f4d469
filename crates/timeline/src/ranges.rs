//! Marks and ranges that a program sets through a profiler's interface (NVTX, ROCTX).
//!
//! Ranges of a thread are nested within a *domain*: [`pop`] ends the last range that the thread has pushed in
//! that domain. Ranges of different domains may overlap. [`start`] begins a range that any thread may end.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::span::Owned;
use crate::{Slice, Track, Value, event, is_on, now, slice};

/// What is shown of a mark or range.
#[derive(Debug, Clone, Default)]
pub struct Label {
    category: &'static str,
    name: String,
    values: Vec<(&'static str, Owned)>,
}

/// A range that a thread has pushed and not popped.
struct Open {
    domain: usize,
    label: Label,
    start: u64,
}

/// The open ranges of a thread, of all domains, in the order of their starts.
#[derive(Default)]
struct Stack(Vec<Open>);

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack(Vec::new())) };
}

/// What the end of a started range repeats: its track, category and name.
type Started = (Track, &'static str, String);

/// The started ranges by their numbers.
static STARTED: LazyLock<Mutex<HashMap<u64, Started>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Label {
    /// A label with this name. The category is the interface: `nvtx`.
    pub fn new(category: &'static str, name: impl Into<String>) -> Self {
        Self { category, name: name.into(), values: Vec::new() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds an unsigned integer.
    pub fn number(&mut self, name: &'static str, number: u64) {
        self.values.push((name, Owned::Number(number)));
    }

    /// Adds an integer.
    pub fn signed(&mut self, name: &'static str, number: i64) {
        self.values.push((name, Owned::Signed(number)));
    }

    /// Adds a number that need not be an integer.
    pub fn real(&mut self, name: &'static str, real: f64) {
        self.values.push((name, Owned::Real(real)));
    }

    /// Adds a text.
    pub fn text(&mut self, name: &'static str, text: impl fmt::Display) {
        self.values.push((name, Owned::Text(text.to_string())));
    }

    fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        self.values.iter().map(|(name, value)| (*name, value.get())).collect()
    }
}

/// Marks this moment on the calling thread's track.
pub fn mark(label: &Label) {
    event::instant(Track::host(), label.category, &label.name, now(), &label.values());
}

/// Begins a range of the calling thread. Returns how many of this domain are open around it.
///
/// The range is written when it ends, or when its thread does.
pub fn push(domain: usize, label: Label) -> usize {
    let open = Open { domain, label, start: now() };
    // While the thread exits, its ranges have already been written.
    let depth = STACK.try_with(|stack| {
        let stack = &mut stack.borrow_mut().0;
        let depth = stack.iter().filter(|other| other.domain == domain).count();
        stack.push(open);
        depth
    });
    depth.unwrap_or(0)
}

/// Ends the range that the calling thread has pushed last in this domain. Returns how many are open around
/// it; none if there is no range.
pub fn pop(domain: usize) -> Option<usize> {
    let popped = STACK.try_with(|stack| {
        let stack = &mut stack.borrow_mut().0;
        let at = stack.iter().rposition(|open| open.domain == domain)?;
        let depth = stack[..at].iter().filter(|open| open.domain == domain).count();
        let is_innermost = at + 1 == stack.len();
        Some((stack.remove(at), depth, is_innermost))
    });
    let (open, depth, is_innermost) = popped.ok().flatten()?;
    open.write(is_innermost);
    Some(depth)
}

/// Begins a range that any thread may end. Its number is not 0.
#[must_use]
pub fn start(label: &Label) -> u64 {
    let (id, track) = (NEXT.fetch_add(1, Ordering::Relaxed), Track::host());
    event::overlapping('b', track, label.category, &label.name, id, now(), &label.values());
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    started.insert(id, (track, label.category, label.name.clone()));
    id
}

/// Ends a started range. Returns whether there was one.
pub fn end(id: u64) -> bool {
    let ended = STARTED.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    let Some((track, category, name)) = ended else { return false };
    event::overlapping('e', track, category, &name, id, now(), &[]);
    true
}

impl Open {
    /// Writes the range, which ends now. Slices of a thread must nest; a range that ends before one that
    /// began later is written as one that may overlap others.
    fn write(&self, is_nested: bool) {
        if !is_on() {
            return;
        }
        let (track, start, end, values) = (Track::host(), self.start, now(), self.label.values());
        let (category, name) = (self.label.category, &*self.label.name);
        if is_nested {
            slice(&Slice { track, category, name, start, end, values: &values });
        } else {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            event::overlapping('b', track, category, name, id, start, &values);
            event::overlapping('e', track, category, name, id, end, &[]);
        }
    }
}

impl Drop for Stack {
    /// The thread ends: so do its ranges.
    fn drop(&mut self) {
        while let Some(open) = self.0.pop() {
            open.write(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_domain_has_a_stack_of_its_own() {
        let label = |name: &str| Label::new("test", name);
        assert_eq!((push(1, label("a")), push(2, label("b")), push(1, label("c"))), (0, 0, 1));
        assert_eq!((pop(2), pop(2), pop(1), pop(1), pop(1)), (Some(0), None, Some(1), Some(0), None));
    }

    #[test]
    fn ranges_of_one_thread_are_not_those_of_another() {
        push(7, Label::new("test", "here"));
        assert_eq!(std::thread::spawn(|| pop(7)).join().unwrap(), None);
        assert_eq!(pop(7), Some(0));
    }

    #[test]
    fn a_started_range_ends_once_and_on_any_thread() {
        let id = start(&Label::new("test", "far"));
        assert_ne!(id, 0);
        assert!(std::thread::spawn(move || end(id)).join().unwrap());
        assert!(!end(id));
    }
}
