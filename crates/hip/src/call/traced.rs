//! The fields of a call's span.

use std::any::Any;
use std::fmt::Debug;

use hip_sys::{hipError_t, hipStream_t};
use tracing::Span;
use tracing::field::debug;

use crate::current;
use crate::error::{Error, Result};

/// An argument of a HIP function: a number, a pointer, a handle.
pub(crate) trait Argument: Debug + Any {}

impl<T: Debug + Any> Argument for T {}

/// Records a call's device, stream and arguments.
pub(crate) fn describe(span: &Span, arguments: &[&dyn Argument]) {
    if span.is_disabled() {
        return;
    }
    if let Some(device) = current::ordinal() {
        span.record("device", device);
    }
    for argument in arguments {
        let argument: &dyn Any = *argument;
        if let Some(stream) = argument.downcast_ref::<hipStream_t>() {
            span.record("stream", debug(*stream));
        }
    }
    span.record("arguments", debug(arguments));
}

/// Records a call's error. "Not ready" is not an error.
pub(crate) fn finish(span: &Span, result: &Result<()>) {
    match result {
        Ok(()) | Err(Error::Hip { code: hipError_t::hipErrorNotReady, .. }) => {}
        Err(Error::Hip { code, .. }) => {
            span.record("error", debug(code));
        }
        Err(error) => {
            span.record("error", debug(error));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use crate::{DeviceBuffer, fake};

    type Recorded = HashMap<&'static str, String>;

    /// Collects the spans of calls: their names and fields.
    #[derive(Clone, Default)]
    struct Calls(Arc<Mutex<Vec<(&'static str, Recorded)>>>);

    struct Fields<'a>(&'a mut Recorded);

    impl Visit for Fields<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            self.0.insert(field.name(), format!("{value:?}"));
        }
    }

    impl Subscriber for Calls {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "hip::calls"
        }
        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut calls = self.0.lock().unwrap();
            calls.push((span.metadata().name(), Recorded::new()));
            Id::from_u64(calls.len() as u64)
        }
        fn record(&self, span: &Id, values: &Record<'_>) {
            let index = span.into_u64() as usize - 1;
            values.record(&mut Fields(&mut self.0.lock().unwrap()[index].1));
        }
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn every_call_is_a_span_with_what_is_known_of_it() {
        let stream = fake::device(1).stream().unwrap();
        // `tracing` registers a call site on its first use. One that another thread's test registers at the
        // same time might miss the subscriber.
        DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
        assert!(stream.is_done().unwrap());
        let calls = Calls::default();
        let buffer = tracing::subscriber::with_default(calls.clone(), || {
            let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
            assert!(stream.is_done().unwrap());
            fake::fault(&stream, "kernel `k`");
            assert!(stream.is_done().is_err());
            buffer
        });
        let calls = calls.0.lock().unwrap();
        let names: Vec<_> = calls.iter().map(|(name, _)| *name).collect();
        let expected =
            ["hipMalloc", "hipMemcpyAsync", "hipStreamSynchronize", "hipStreamQuery", "hipStreamQuery"];
        assert_eq!(names, expected);
        let handle = format!("{:?}", stream.as_raw());
        let copy = &calls[1].1;
        assert_eq!((copy["device"].as_str(), &copy["stream"]), ("1", &handle));
        let address = format!("{:?}", buffer.address().pointer());
        let arguments = &copy["arguments"];
        assert!(arguments.contains(&address) && arguments.contains(&handle), "{arguments}");
        assert!(!copy.contains_key("error") && !calls[0].1.contains_key("stream"));
        assert_eq!(calls[4].1["error"], "hipErrorLaunchFailure");
    }
}
