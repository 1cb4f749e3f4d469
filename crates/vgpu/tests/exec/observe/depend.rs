//! Which bits of results depend on which bits of sources, as the checks determine it.

use vgpu::isa::{Isa, decode};
use vgpu::machine::check::depend::{Dependence, learn};
use vgpu::machine::check::twin::Twin;

fn dependence(isa: Isa, words: &[u32]) -> Dependence {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let inst = decode(isa, &bytes).expect("an instruction");
    // SAFETY: the instruction was decoded.
    unsafe { learn(&inst, 0x3f0, &mut Twin::new(isa)) }.expect("that runs")
}

#[test]
fn parts_of_sources_reach_parts_of_results() {
    let gfx11 = |words: &[u32]| dependence(Isa::Gfx1100, words);
    // v_cvt_f32_ubyte1 v0, v1
    let byte = gfx11(&[0x7e00_2501]);
    assert_eq!(byte.of([0xffff_00ff, 0, 0, 0]).0, 0);
    assert_ne!(byte.of([0x100, 0, 0, 0]).0, 0);
    // v_pk_add_u16 v0, v1, v2
    let packed = gfx11(&[0xcc0a_4000, 0x1802_0501]);
    assert_eq!(packed.of([0xffff, 0, 0, 0]).0, 0xffff);
    assert_eq!(packed.of([0, 1 << 16, 0, 0]).0, 0xffff_0000);
    // v_mul_u32_u24 v0, v1, v2
    let short = gfx11(&[0x1600_0501]);
    assert_eq!(short.of([0xff00_0000, 0xff00_0000, 0, 0]).0, 0);
    assert_eq!(short.of([1, 0, 0, 0]).0 & 0xffff, 0xffff);
    // v_add_f16 v0.l, v1.l, v2.l
    let half = gfx11(&[0x6400_0501]);
    assert_eq!((half.kept, half.of([0xffff_0000, 0, 0, 0]).0), (0xffff_0000, 0));
    // v_cmp_lt_u32 vcc, v1, v2
    let compare = gfx11(&[0x7c92_0501]);
    assert_eq!(compare.of([1, 0, 0, 0]).0, 1);
    assert_eq!(compare.of([0, 1 << 31, 0, 0]).0, 1);
    // v_perm_b32 v0, v1, v2, 0x07060100 of gfx10: the high half of v1, the low half of v2.
    let bytes = dependence(Isa::Gfx1030, &[0xd744_0000, 0x03fe_0501, 0x0706_0100]);
    assert_eq!(bytes.of([0xffff, 0xffff_0000, 0, 0]).0, 0);
    assert_eq!(bytes.of([0xff00_0000, 0xff, 0, 0]).0, 0xff00_00ff);
}
