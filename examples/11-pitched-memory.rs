//! An image whose rows start at aligned addresses, copied and filled by rectangles, and used by a kernel.
//!
//! `cargo run --bin 11-pitched-memory`

use hip::{Device, PitchedBuffer, Region};

const SOURCE: &str = r#"
extern "C" __global__ void brighten(unsigned width, unsigned height, unsigned long pitch, unsigned char* image) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) image[y * pitch + x] += 10;
}
"#;

fn main() -> hip::Result<()> {
    const WIDTH: usize = 100;
    const HEIGHT: usize = 20;
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let brighten = device.compile(SOURCE)?.function("brighten")?;

    let mut image = PitchedBuffer::<u8>::zeroed(&stream, [WIDTH, HEIGHT, 1])?;
    println!("rows of {WIDTH} bytes, {} bytes from one to the next", image.pitch());
    assert!(image.pitch() >= WIDTH);

    // Copies a 3 × 2 rectangle from dense host memory into the corner, and fills a 50 × 10 rectangle
    // elsewhere.
    image.copy_from_host(&stream, Region::rectangle([0, 0], [3, 2]), &[1, 2, 3, 4, 5, 6])?;
    image.fill(&stream, Region::rectangle([40, 5], [50, 10]), 100)?;

    let pitch = image.pitch() as u64;
    let (columns, rows) = (WIDTH.div_ceil(32) as u32, HEIGHT.div_ceil(8) as u32);
    let launch = brighten.launch(&stream).grid((columns, rows)).block((32, 8));
    let launch = launch.arg(WIDTH as u32).arg(HEIGHT as u32).arg(pitch).arg(image.as_mut_bytes());
    // SAFETY: `brighten` reads and writes the first `width` bytes of each row.
    unsafe { launch.enqueue()? };

    let corner = image.to_vec(&stream, Region::rectangle([0, 0], [4, 2]))?;
    println!("{corner:?}");
    assert_eq!(corner, [11, 12, 13, 10, 14, 15, 16, 10]);
    assert_eq!(image.to_vec(&stream, Region::rectangle([40, 5], [50, 10]))?, [110; 500]);
    Ok(())
}
