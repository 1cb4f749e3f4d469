use hip::hip_sys::hipStream_t;
use hip::{Device, DeviceBuffer};
use hip_host as _; // the functions that the library calls

unsafe extern "C" {
    fn launch_saxpy(n: i32, a: f32, x: *const f32, y: *mut f32, stream: hipStream_t) -> i32;
}

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let stream = device.stream()?;

    let n = 1000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&stream, &vec![0.5_f32; n])?;
    device.make_current()?;
    let from = x.as_slice().address_on(&stream)?.0 as usize as *const f32;
    let to = y.as_mut_slice().address_on(&stream)?.0 as usize as *mut f32;
    // SAFETY: both buffers have n elements.
    let code = unsafe { launch_saxpy(n as i32, 2.0, from, to, stream.as_raw()) };
    assert_eq!(code, 0);

    let total: f32 = y.to_vec(&stream)?.iter().sum();
    assert_eq!(total, 2500.0);
    println!("{device}: {total}");
    Ok(())
}
