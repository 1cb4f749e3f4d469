//! The spans of a program that uses `tracing`.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

use crate::{Slice, Track, Value, is_on, now, slice};

/// A subscriber that shows entered spans on the track of their thread and forwards everything to another
/// subscriber.
///
/// ```
/// // Alone; `Spans::over(tracing_subscriber::fmt().finish())` has messages written, too.
/// tracing::subscriber::set_global_default(timeline::Spans::new())?;
/// tracing::info_span!("forward", layer = 3).in_scope(|| { /* … */ });
/// # Ok::<(), tracing::subscriber::SetGlobalDefaultError>(())
/// ```
///
/// Each slice shows the span's name, target and fields. Spans that the inner subscriber disables are left
/// out. Without an inner subscriber, all spans up to the level of [`Spans::up_to`] are shown. If no timeline
/// is written, it only forwards.
#[derive(Debug)]
pub struct Spans<S = Alone> {
    inner: S,
    known: Mutex<HashMap<u64, Known>>,
}

/// The inner subscriber by default: it enables all spans and ignores them.
#[derive(Debug)]
pub struct Alone {
    next: AtomicU64,
    level: tracing::level_filters::LevelFilter,
}

/// A span and its reference count.
#[derive(Debug)]
struct Known {
    metadata: &'static Metadata<'static>,
    fields: Vec<(&'static str, String)>,
    holders: usize,
}

thread_local! {
    /// The spans that this thread has entered and not left, and when. A subscriber may be called while the
    /// thread exits.
    static ENTERED: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

impl Spans {
    /// Shows spans up to the level `INFO`.
    #[must_use]
    pub fn new() -> Self {
        Self::up_to(tracing::Level::INFO)
    }

    /// Shows spans up to a level.
    #[must_use]
    pub fn up_to(level: tracing::Level) -> Self {
        Spans::over(Alone { next: AtomicU64::new(1), level: level.into() })
    }
}

impl Default for Spans {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Subscriber> Spans<S> {
    /// Wraps another subscriber, which decides what is enabled.
    pub fn over(inner: S) -> Self {
        Spans { inner, known: Mutex::default() }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left(&self, id: u64, start: u64) {
        let end = now();
        let known = self.known();
        let Some(span) = known.get(&id) else { return };
        let metadata = span.metadata;
        let mut values = vec![("target", Value::Text(metadata.target()))];
        values.extend(span.fields.iter().map(|(name, text)| (*name, Value::Text(text))));
        let (category, name) = ("tracing", metadata.name());
        slice(&Slice { track: Track::host(), category, name, start, end, values: &values });
    }
}

impl<S: Subscriber> Subscriber for Spans<S> {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        self.inner.register_callsite(metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.inner.enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        self.inner.max_level_hint()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.inner.new_span(span);
        if is_on() {
            let mut fields = Fields(Vec::new());
            span.record(&mut fields);
            let known = Known { metadata: span.metadata(), fields: fields.0, holders: 1 };
            self.known().insert(id.into_u64(), known);
        }
        id
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.inner.record(span, values);
        if let Some(known) = self.known().get_mut(&span.into_u64()) {
            let mut fields = Fields(std::mem::take(&mut known.fields));
            values.record(&mut fields);
            known.fields = fields.0;
        }
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.inner.record_follows_from(span, follows);
    }

    fn event_enabled(&self, event: &Event<'_>) -> bool {
        self.inner.event_enabled(event)
    }

    fn event(&self, event: &Event<'_>) {
        self.inner.event(event);
    }

    fn enter(&self, span: &Id) {
        self.inner.enter(span);
        if is_on() {
            let _ = ENTERED.try_with(|entered| entered.borrow_mut().push((span.into_u64(), now())));
        }
    }

    fn exit(&self, span: &Id) {
        self.inner.exit(span);
        let id = span.into_u64();
        // Spans can be left in a different order than they nest. Slices cannot: anything entered later ends
        // together with this one.
        let mut left = Vec::new();
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(at) = entered.iter().rposition(|(other, _)| *other == id) {
                left = entered.split_off(at);
            }
        });
        for (id, start) in left.into_iter().rev() {
            self.left(id, start);
        }
    }

    fn clone_span(&self, span: &Id) -> Id {
        let id = self.inner.clone_span(span);
        if let Some(known) = self.known().get_mut(&id.into_u64()) {
            known.holders += 1;
        }
        id
    }

    fn try_close(&self, span: Id) -> bool {
        let mut known = self.known();
        if let Some(one) = known.get_mut(&span.into_u64()) {
            one.holders -= 1;
            if one.holders == 0 {
                known.remove(&span.into_u64());
            }
        }
        drop(known);
        self.inner.try_close(span)
    }

    fn current_span(&self) -> Current {
        self.inner.current_span()
    }

    unsafe fn downcast_raw(&self, id: TypeId) -> Option<*const ()> {
        if id == TypeId::of::<Self>() {
            return Some(std::ptr::from_ref(self).cast());
        }
        // SAFETY: the caller's promise; the inner subscriber lives as long as this.
        unsafe { self.inner.downcast_raw(id) }
    }
}

impl Subscriber for Alone {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && *metadata.level() <= self.level && is_on()
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.level)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Fields as texts; recording a field again replaces its value.
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn set(&mut self, field: &Field, text: String) {
        match self.0.iter_mut().find(|(name, _)| *name == field.name()) {
            Some(known) => known.1 = text,
            None => self.0.push((field.name(), text)),
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.set(field, format!("{value:?}"));
    }
}
