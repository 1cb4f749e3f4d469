//! `curand_kernel.h`.

use cuda_trees_test::headers;

use crate::common::{gpu, launch};

#[test]
fn philox_is_that_of_its_inventors() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::RANDOM);
    let threads = 512;
    let mut words = gpu.zeroed::<u32>(threads * 6);
    let (mut uniform, mut normal) = (gpu.zeroed::<f32>(threads), gpu.zeroed::<f32>(threads));
    launch!(gpu, module, "philox", 1, threads as u32; &mut words, &mut uniform, &mut normal);
    let (words, uniform, normal) = (gpu.download(&words), gpu.download(&uniform), gpu.download(&normal));
    // The known answer for a counter and a key of zeros, from the test vectors of Random123.
    assert_eq!(words[..4], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    for (i, words) in words.chunks(6).enumerate() {
        assert_eq!(words[4], words[5], "an offset skips as many words");
        // cuRAND's numbers are in (0, 1].
        let expected = f64::from(words[0]) / 2_f64.powi(32) + 2_f64.powi(-33);
        assert!((f64::from(uniform[i]) - expected).abs() < 1e-7, "{i}: {}, not {expected}", uniform[i]);
    }
    let mean = normal.iter().map(|x| f64::from(*x)).sum::<f64>() / threads as f64;
    let variance = normal.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / threads as f64;
    // Five standard deviations of each.
    assert!(mean.abs() < 0.22 && (variance - 1.0).abs() < 0.32, "{mean} {variance}");
}
