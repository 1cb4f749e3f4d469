//! A prepared launch can be enqueued again, so it borrows its output exclusively until it is dropped.
use hip::{DeviceBuffer, PreparedLaunch, Function, Stream};

fn prepare<'a>(function: &'a Function, stream: &'a Stream) -> PreparedLaunch<'a> {
    let mut local = DeviceBuffer::<f32>::zeroed(stream, 4).unwrap();
    function.launch(stream).arg(&mut local).prepare().unwrap()
}

fn read_between(function: &Function, stream: &Stream, mut data: DeviceBuffer<f32>) {
    let mut prepared = function.launch(stream).arg(&mut data).prepare().unwrap();
    data.to_vec(stream).unwrap();
    let _ = unsafe { prepared.enqueue() };
}

fn main() {}
