//! Your own struct in device memory, and as a kernel argument.
//!
//! `cargo run --bin 05-device-copy`

use hip::{Device, DeviceBuffer, DeviceCopy};

// The derive checks at compile time that the layout is C's, without padding, and that each field is plain
// data.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Step {
    velocity: [f32; 3],
    seconds: f32,
}

const SOURCE: &str = r#"
struct Particle { float position[3]; float mass; };
struct Step { float velocity[3]; float seconds; };

extern "C" __global__ void move(unsigned n, Step step, Particle* particles) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int axis = 0; axis < 3; axis++)
        particles[i].position[axis] += step.velocity[axis] * step.seconds;
}
"#;

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let function = device.compile(SOURCE)?.function("move")?;

    let still = Particle { position: [1.0, 2.0, 3.0], mass: 4.0 };
    let mut particles = DeviceBuffer::from_slice(&stream, &[still; 100])?;
    let step = Step { velocity: [10.0, 0.0, -10.0], seconds: 0.5 };
    let launch = function.launch(&stream).elements(100, 64).arg(100_u32).arg(step).arg(&mut particles);
    // SAFETY: `move` reads and writes particles[0..n].
    unsafe { launch.enqueue()? };

    let moved = particles.to_vec(&stream)?;
    println!("{:?}", moved[0]);
    assert_eq!(moved, [Particle { position: [6.0, 2.0, -2.0], mass: 4.0 }; 100]);
    Ok(())
}
