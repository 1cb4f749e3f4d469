//! What a kernel needs, how much of the device it fills, and which block size fills it best.
//!
//! `cargo run --bin 10-function-attributes`

use hip::Device;

const SOURCE: &str = r#"
extern "C" __global__ void sums(unsigned n, const float* x, float* result) {
    __shared__ float part[256];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) result[blockIdx.x] = part[0];
}
"#;

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let sums = device.compile(SOURCE)?.function("sums")?;

    for parameter in sums.parameters() {
        let name = parameter.name.as_deref().unwrap_or("?");
        let type_name = parameter.type_name.as_deref().unwrap_or("?");
        println!("{name}: {type_name}, {} bytes", parameter.size);
    }
    let attributes = sums.attributes();
    println!("registers: {} vector, {} scalar", attributes.vgprs, attributes.sgprs);
    println!("spilled:   {} vector, {} scalar", attributes.vgpr_spills, attributes.sgpr_spills);
    println!("LDS:       {} bytes of a block", attributes.lds);
    println!("scratch:   {} bytes of a work-item", attributes.scratch);
    println!("waves of   {} work-items", attributes.wave_size);
    assert_eq!(attributes.lds, 1024);

    for block in [64, 256] {
        println!("blocks of {block}: {} at once on a compute unit", sums.max_active_blocks(block, 0)?);
    }
    // The source has room for 256 work-items in LDS, so that is the limit.
    let best = sums.suggest_block(0, Some(256))?;
    println!("suggested: {} blocks of {}", best.grid, best.block);
    assert!((1..=256).contains(&best.block));
    Ok(())
}
