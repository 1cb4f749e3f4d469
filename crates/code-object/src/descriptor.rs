/// The 64 bytes that tell the command processor how to start a kernel (`amd_kernel_descriptor_t`).
///
/// Fields are as stored; the methods extract single fields of the packed registers.
/// If the meaning of a bit depends on the generation, the method says for which generations it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KernelDescriptor {
    /// Static LDS of a workgroup, bytes.
    pub group_segment_fixed_size: u32,
    /// Scratch of a work-item, bytes.
    pub private_segment_fixed_size: u32,
    /// Size of the argument segment, bytes; hand-written kernels may leave it 0, so prefer the metadata.
    pub kernarg_size: u32,
    /// First instruction, relative to the descriptor's own address, bytes.
    pub kernel_code_entry_byte_offset: i64,
    /// Value for `COMPUTE_PGM_RSRC1`.
    pub compute_pgm_rsrc1: u32,
    /// Value for `COMPUTE_PGM_RSRC2`.
    pub compute_pgm_rsrc2: u32,
    /// Value for `COMPUTE_PGM_RSRC3`.
    pub compute_pgm_rsrc3: u32,
    /// Which values are placed in SGPRs before the kernel starts, and the wave size.
    pub kernel_code_properties: u16,
    /// Length (bits 0–6) and offset (bits 7–15) of preloaded arguments, in dwords.
    pub kernarg_preload: u16,
}

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident = $reg:ident[$low:literal; $width:literal];)*) => {
        impl KernelDescriptor {
            $($(#[$doc])* #[must_use] pub const fn $name(&self) -> u32 {
                (self.$reg as u32 >> $low) & ((1 << $width) - 1)
            })*
        }
    };
}

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $reg:ident[$bit:literal];)*) => {
        impl KernelDescriptor {
            $($(#[$doc])* #[must_use] pub const fn $name(&self) -> bool {
                (self.$reg as u32 >> $bit) & 1 != 0
            })*
        }
    };
}

impl KernelDescriptor {
    /// Size of a descriptor in memory, bytes.
    pub const SIZE: usize = 64;

    /// Reads the fields from a descriptor's bytes. Reserved bytes are ignored.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        fn at<const N: usize>(bytes: &[u8; KernelDescriptor::SIZE], offset: usize) -> [u8; N] {
            std::array::from_fn(|i| bytes[offset + i])
        }
        Self {
            group_segment_fixed_size: u32::from_le_bytes(at(bytes, 0)),
            private_segment_fixed_size: u32::from_le_bytes(at(bytes, 4)),
            kernarg_size: u32::from_le_bytes(at(bytes, 8)),
            kernel_code_entry_byte_offset: i64::from_le_bytes(at(bytes, 16)),
            compute_pgm_rsrc3: u32::from_le_bytes(at(bytes, 44)),
            compute_pgm_rsrc1: u32::from_le_bytes(at(bytes, 48)),
            compute_pgm_rsrc2: u32::from_le_bytes(at(bytes, 52)),
            kernel_code_properties: u16::from_le_bytes(at(bytes, 56)),
            kernarg_preload: u16::from_le_bytes(at(bytes, 58)),
        }
    }

    /// Wave size that the kernel was compiled for: 32 or 64.
    #[must_use]
    pub const fn wavefront_size(&self) -> u32 {
        if self.enable_wavefront_size32() { 32 } else { 64 }
    }
}

bits! {
    /// VGPRs in allocation granules, minus one. The granule depends on generation and wave size.
    granulated_workitem_vgpr_count = compute_pgm_rsrc1[0; 6];
    /// SGPRs in granules, minus one (gfx6–gfx9; 0 since gfx10).
    granulated_wavefront_sgpr_count = compute_pgm_rsrc1[6; 4];
    /// Initial rounding of f32: 0 nearest even, 1 up, 2 down, 3 towards zero.
    float_round_mode_32 = compute_pgm_rsrc1[12; 2];
    /// Initial rounding of f16 and f64, as for f32.
    float_round_mode_16_64 = compute_pgm_rsrc1[14; 2];
    /// Initial denormal handling of f32: bit 0 keeps source denormals, bit 1 keeps result denormals.
    float_denorm_mode_32 = compute_pgm_rsrc1[16; 2];
    /// Initial denormal handling of f16 and f64, as for f32.
    float_denorm_mode_16_64 = compute_pgm_rsrc1[18; 2];
    /// SGPRs that are filled in before the kernel starts, not counting workgroup ids.
    user_sgpr_count = compute_pgm_rsrc2[1; 5];
    /// Which work-item ids arrive in VGPRs: 0 x, 1 x and y, 2 x, y and z.
    enable_vgpr_workitem_id = compute_pgm_rsrc2[11; 2];
    /// First AccVGPR in granules of four, minus one (gfx90a and gfx94x).
    accum_offset = compute_pgm_rsrc3[0; 6];
    /// Preloaded arguments, dwords.
    kernarg_preload_spec_length = kernarg_preload[0; 7];
    /// Offset of the preloaded arguments in the argument segment, dwords.
    kernarg_preload_spec_offset = kernarg_preload[7; 9];
}

flags! {
    /// Clamp turns NaN into 0 (gfx6–gfx11).
    enable_dx10_clamp = compute_pgm_rsrc1[21];
    /// IEEE 754-2008 handling of signalling NaNs (gfx6–gfx11).
    enable_ieee_mode = compute_pgm_rsrc1[23];
    /// f16 overflow saturates instead of giving infinity (gfx9 and later).
    fp16_ovfl = compute_pgm_rsrc1[26];
    /// A workgroup may use both compute units of a work group processor (gfx10 and later).
    enable_wgp_mode = compute_pgm_rsrc1[29];
    /// Memory instructions complete in order (gfx10 and later).
    enable_mem_ordered = compute_pgm_rsrc1[30];
    /// Oldest wave makes progress first (gfx10 and later).
    enable_fwd_progress = compute_pgm_rsrc1[31];
    /// The kernel uses scratch; before gfx11 the wave's scratch offset then arrives in an SGPR.
    enable_private_segment = compute_pgm_rsrc2[0];
    /// Workgroup id x arrives in an SGPR (before gfx12: there it is always in TTMP9).
    enable_sgpr_workgroup_id_x = compute_pgm_rsrc2[7];
    /// Workgroup id y arrives in an SGPR.
    enable_sgpr_workgroup_id_y = compute_pgm_rsrc2[8];
    /// Workgroup id z arrives in an SGPR.
    enable_sgpr_workgroup_id_z = compute_pgm_rsrc2[9];
    /// Workgroup information arrives in an SGPR.
    enable_sgpr_workgroup_info = compute_pgm_rsrc2[10];
    /// Waves of a workgroup may be spread over several compute units (gfx90a and gfx94x).
    tg_split = compute_pgm_rsrc3[16];
    /// User SGPRs: the scratch buffer's resource descriptor, four registers.
    enable_sgpr_private_segment_buffer = kernel_code_properties[0];
    /// User SGPRs: address of the dispatch packet, two registers.
    enable_sgpr_dispatch_ptr = kernel_code_properties[1];
    /// User SGPRs: address of the queue, two registers.
    enable_sgpr_queue_ptr = kernel_code_properties[2];
    /// User SGPRs: address of the argument segment, two registers.
    enable_sgpr_kernarg_segment_ptr = kernel_code_properties[3];
    /// User SGPRs: dispatch id, two registers.
    enable_sgpr_dispatch_id = kernel_code_properties[4];
    /// User SGPRs: initial flat scratch value, two registers.
    enable_sgpr_flat_scratch_init = kernel_code_properties[5];
    /// User SGPRs: size of a work-item's scratch, one register.
    enable_sgpr_private_segment_size = kernel_code_properties[6];
    /// Wave size is 32 (gfx10 and later), otherwise 64.
    enable_wavefront_size32 = kernel_code_properties[10];
    /// Scratch use is not known at compile time.
    uses_dynamic_stack = kernel_code_properties[11];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_from_their_offsets() {
        let mut bytes = [0u8; 64];
        bytes[0..4].copy_from_slice(&256u32.to_le_bytes());
        bytes[4..8].copy_from_slice(&16u32.to_le_bytes());
        bytes[8..12].copy_from_slice(&288u32.to_le_bytes());
        bytes[16..24].copy_from_slice(&(-64i64).to_le_bytes());
        bytes[44..48].copy_from_slice(&(5u32 | 1 << 16).to_le_bytes());
        bytes[48..52].copy_from_slice(&(7u32 | 2 << 6 | 3 << 16 | 1 << 23).to_le_bytes());
        bytes[52..56].copy_from_slice(&(1u32 | 6 << 1 | 1 << 7 | 2 << 11).to_le_bytes());
        bytes[56..58].copy_from_slice(&(1u16 << 3 | 1 << 10).to_le_bytes());
        bytes[58..60].copy_from_slice(&(3u16 | 9 << 7).to_le_bytes());
        let d = KernelDescriptor::from_bytes(&bytes);
        assert_eq!(
            (d.group_segment_fixed_size, d.private_segment_fixed_size, d.kernarg_size),
            (256, 16, 288)
        );
        assert_eq!(d.kernel_code_entry_byte_offset, -64);
        assert_eq!((d.accum_offset(), d.tg_split()), (5, true));
        assert_eq!((d.granulated_workitem_vgpr_count(), d.granulated_wavefront_sgpr_count()), (7, 2));
        assert_eq!((d.float_denorm_mode_32(), d.enable_ieee_mode(), d.enable_dx10_clamp()), (3, true, false));
        assert_eq!((d.enable_private_segment(), d.user_sgpr_count()), (true, 6));
        assert_eq!((d.enable_sgpr_workgroup_id_x(), d.enable_sgpr_workgroup_id_y()), (true, false));
        assert_eq!(d.enable_vgpr_workitem_id(), 2);
        assert_eq!((d.enable_sgpr_kernarg_segment_ptr(), d.wavefront_size()), (true, 32));
        assert_eq!((d.kernarg_preload_spec_length(), d.kernarg_preload_spec_offset()), (3, 9));
    }
}
