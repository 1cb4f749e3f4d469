//! Any bytes as a file with code for some targets: the entries lie inside, and its length is found by asking
//! for ever more bytes. Any bytes as code, too: a bundle of them, compressed or not, can be read again. The
//! same for code for NVIDIA GPUs, and for a bundle around any bytes as a Zstandard frame.
#![no_main]

use code_object::bundle::{self, Entry, Extent, cuda_id};
use code_object::embedded::CudaKind;
use libfuzzer_sys::fuzz_target;

/// NVIDIA GPUs, and code that each is given.
const CUDA: [(&str, &str, CudaKind); 3] = [
    ("sm_90", "sm_90a", CudaKind::Cubin),
    ("sm_89", "sm_80", CudaKind::Cubin),
    ("sm_120", "sm_80", CudaKind::Ptx),
];
const DEVICES: [&str; 3] = ["gfx1100", "gfx90a:sramecc+:xnack-", "gfx1399"];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(entries) = bundle::entries(bytes) {
        let inside = bytes.as_ptr_range();
        for entry in &entries {
            let range = entry.bytes.as_ptr_range();
            assert!(inside.start <= range.start && range.end <= inside.end);
        }
        assert_eq!(bundle::extent(bytes).ok().map(|extent| matches!(extent, Extent::Bytes(_))), Some(true));
    }
    for device in DEVICES {
        let device = device.parse().expect("a target");
        if let Err(error) = bundle::code_for(bytes, &device) {
            assert!(!error.to_string().is_empty());
        }
    }
    for (device, ..) in CUDA {
        if let Err(error) = bundle::cuda_code_for(bytes, device) {
            assert!(!error.to_string().is_empty());
        }
    }
    let mut known = bytes.len().min(4);
    while let Ok(Extent::AtLeast(more)) = bundle::extent(&bytes[..known]) {
        assert!(more > known);
        if more > bytes.len() {
            break;
        }
        known = more;
    }

    let (first, second) = bytes.split_at(bytes.len() / 2);
    let parts = [
        Entry { id: "host-x86_64-unknown-linux--", bytes: b"" },
        Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: first },
        Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", bytes: second },
    ];
    let plain = bundle::bundle(&parts);
    assert_eq!(bundle::entries(&plain).expect("a bundle"), parts);
    let packed = bundle::compressed(&plain).expect("a bundle that is small");
    assert_eq!(bundle::uncompressed(&packed).expect("what was written"), plain);
    assert!(matches!(bundle::extent(&packed), Ok(Extent::Bytes(length)) if length == packed.len()));
    for (device, code) in [(DEVICES[0], first), (DEVICES[1], second)] {
        let device = device.parse().expect("a target");
        assert_eq!(bundle::code_for(&packed, &device).expect("a bundle"), code);
    }

    let contents = [first, second, bytes];
    let ids = CUDA.map(|(_, arch, kind)| cuda_id(arch, kind));
    let images: Vec<_> =
        ids.iter().zip(contents).map(|(id, bytes)| Entry { id: id.as_str(), bytes }).collect();
    let plain = bundle::bundle(&images);
    let packed = bundle::compressed(&plain).expect("a bundle that is small");
    for ((device, ..), code) in CUDA.into_iter().zip(contents) {
        assert_eq!(bundle::cuda_code_for(&packed, device).expect("a bundle"), code);
    }
    let framed = bundle::of_zstandard(&plain, bytes).expect("a bundle that is small");
    if let Ok(content) = bundle::uncompressed(&framed) {
        assert_eq!(content.len(), plain.len());
    }
});
