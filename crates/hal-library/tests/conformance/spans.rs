//! `tracing` spans of devices, queues and submissions.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use hal::{MemoryKind, Place, Semaphore};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::common::{LONG, Setup, setups};

/// Collects spans of this layer: target, name and fields.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("hal::")
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = format!("{} {}", span.metadata().target(), span.metadata().name());
        span.record(&mut Fields(&mut text));
        let mut spans = self.0.lock().unwrap();
        spans.push(text);
        Id::from_u64(spans.len() as u64)
    }
    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&mut self.0.lock().unwrap()[span.into_u64() as usize - 1]));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Each kind of operation; the last one fails.
fn work(setup: &Setup) {
    let done = Semaphore::new(0);
    let buffer = setup.device.allocate(MemoryKind::Host, 8).unwrap();
    let mut recorder = setup.record();
    setup.step(&mut recorder, (&buffer).into(), 1);
    recorder.barrier();
    setup.step(&mut recorder, Place::Binding(0, 0), 2);
    let commands = recorder.finish().unwrap();
    let bound = [(buffer.clone(), 0)];
    setup.queue.execute(&commands, &bound, &[], &[(&done, 1)]).unwrap();
    setup.queue.barrier(&[], &[(&done, 2)]).unwrap();
    done.wait(2, LONG).unwrap();
    setup.queue.deallocate(buffer, &[], &[]).unwrap();
    setup.queue.execute(&commands, &[], &[], &[]).unwrap_err();
}

#[test]
fn operations_are_spans_with_their_queue_and_their_error() {
    let setup = setups().remove(0);
    // `tracing` registers a call site on its first use. One that another thread's test registers at the same
    // time might miss the subscriber.
    work(&setup);
    let spans = Spans::default();
    tracing::subscriber::with_default(spans.clone(), || work(&setup));
    let number = setup.queue.number();
    let (queue, submission) = (format!("hal::queue {{}} queue={number}"), "hal::submission submit");
    let expected = [
        "hal::device allocate kind=Host member=0 size=8".to_owned(),
        queue.replace("{}", "execute"),
        format!("{submission} queue={number} submission=4 packets=2"),
        queue.replace("{}", "barrier"),
        format!("{submission} queue={number} submission=5 packets=1"),
        queue.replace("{}", "deallocate"),
        format!("{submission} queue={number} submission=6 packets=1"),
        queue.replace("{}", "execute") + " error=binding 0: the table has 0 buffers",
    ];
    assert_eq!(*spans.0.lock().unwrap(), expected);
}
