//! What programs expect of nvcc without asking: in host and device code, and of the GPU as they see it.

use hip::DeviceBuffer;
use host_code_test as code;

use crate::devices;

/// Both halves of the first test: values of CUDA's overloads, and of what its header brings.
const EXPECTED: [u64; 8] = [5, u64::MAX, 9_007_199_254_740_993, 4_294_967_295, 2, 3, 1, 'c' as u64];

#[test]
fn device_and_host_code_have_what_nvccs_header_brings() {
    let mut host = [0; 8];
    // SAFETY: there is room for 8 values.
    unsafe { code::habits_of_host(host.as_mut_ptr()) };
    assert_eq!(host, EXPECTED);
    for device in devices() {
        device.make_current().unwrap();
        let stream = device.stream().unwrap();
        let mut values = DeviceBuffer::<u64>::zeroed(&stream, 12).unwrap();
        let vectors = [2.0_f32, 3.0, 4.0, 5.0, 10.0, 20.0, 30.0, 40.0, 0.0, 0.0, 0.0, 0.0];
        let mut vectors = DeviceBuffer::from_slice(&stream, &vectors).unwrap();
        let to = std::ptr::with_exposed_provenance_mut(
            values.as_mut_slice().address_on(&stream).unwrap().0 as usize,
        );
        let four = std::ptr::with_exposed_provenance_mut(
            vectors.as_mut_slice().address_on(&stream).unwrap().0 as usize,
        );
        // SAFETY: there is room for 12 values and three vectors of four, on the stream of the copies.
        assert_eq!(unsafe { code::launch_habits(to, four, stream.as_raw()) }, 0, "{device}");
        let values = values.to_vec(&stream).unwrap();
        assert_eq!(values[..8], EXPECTED, "{device}");
        // A further kernel has doubled the first.
        assert_eq!(values[8..], [6, 5, 32, 890], "{device}");
        assert_eq!(vectors.to_vec(&stream).unwrap()[8..], [21.0, 60.0, 120.0, 200.0], "{device}");
    }
}

#[test]
fn host_code_is_told_what_device_code_sees() {
    for device in devices() {
        device.make_current().unwrap();
        let mut seen = [0; 15];
        // SAFETY: there is room for 15 values.
        assert_eq!(unsafe { code::host_view(seen.as_mut_ptr()) }, 0, "{device}");
        assert_eq!(seen, [32, 8, 9, 32, 8, 9, 89, 89, 12080, 8, 9, 0, 0, 0, -1], "{device}");
    }
}
