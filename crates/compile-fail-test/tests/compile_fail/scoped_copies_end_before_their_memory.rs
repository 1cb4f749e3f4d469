//! Memory that a scope copies to outlives the scope, and is borrowed exclusively until then.
use hip::{DeviceBuffer, RectLayout, Stream};

fn inner(stream: &Stream, buffer: &DeviceBuffer<f32>) {
    stream
        .scope(|scope| {
            let mut inside = vec![0.0; 10];
            scope.copy_to_host(buffer, &mut inside)
        })
        .unwrap();
}

fn inner_rows(stream: &Stream, buffer: &DeviceBuffer<f32>, layout: RectLayout) {
    stream
        .scope(|scope| {
            let mut inside = vec![0.0; 10];
            scope.copy_to_host_rect(buffer.as_rect(layout)?, &mut inside, layout)
        })
        .unwrap();
}

fn shared(stream: &Stream, buffer: &DeviceBuffer<f32>, host: &mut [f32]) {
    stream
        .scope(|scope| {
            scope.copy_to_host(buffer, host)?;
            println!("{}", host[0]);
            Ok(())
        })
        .unwrap();
}

fn main() {}
