//! Waiting for the device in `async` code. Any executor works; this one has a few lines.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use hip::{Device, DeviceBuffer, HostBuffer};

async fn double_on_device(device: &Device, values: &[u32]) -> hip::Result<Vec<u32>> {
    let stream = device.stream()?;
    let mut buffer = DeviceBuffer::<u32>::uninit(device, values.len())?;
    let host = buffer.upload(&stream, HostBuffer::from_slice(device, values)?)?;
    let mut host: HostBuffer<u32> = host.into_future().await?;
    host.iter_mut().for_each(|value| *value *= 2);
    let host = buffer.upload(&stream, host)?.into_future().await?;
    let host = buffer.download(&stream, host)?.into_future().await?;
    stream.completion().await?;
    Ok(host.to_vec())
}

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let result = block_on(double_on_device(&device, &[1, 2, 3]))?;
    println!("{result:?}");
    assert_eq!(result, [2, 4, 6]);
    Ok(())
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
