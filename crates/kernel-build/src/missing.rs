//! Notes about missing headers of CUDA and of libraries that CUDA sources often use.

use hipify::Tables;
use hipify::tables::Family;

/// Headers of other projects, by the first folder in the include path.
const OTHERS: &[(&str, &str)] = &[
    ("ATen/", "PyTorch"),
    ("c10/", "PyTorch"),
    ("torch/", "PyTorch"),
    ("cute/", "CUTLASS"),
    ("cutlass/", "CUTLASS"),
    ("raft/", "RAFT"),
    ("rmm/", "RMM"),
];

/// The compiler's messages, with a note for each known missing header.
pub(crate) fn with_notes(text: String) -> String {
    let missing = |line: &str| {
        let name = line.split_once("fatal error: '")?.1.strip_suffix("' file not found")?;
        note(name)
    };
    let mut notes: Vec<String> = text.lines().filter_map(missing).collect();
    notes.dedup();
    let mut text = text;
    for note in notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

fn note(header: &str) -> Option<String> {
    if let Some((_, project)) = OTHERS.iter().find(|(start, _)| header.starts_with(start)) {
        return Some(format!("{header} belongs to {project}: add its folder with `include`"));
    }
    if header.starts_with("cub/device/") || header.starts_with("cub/grid/") {
        return Some(format!(
            "{header}: CUB is available for threads, warps and blocks, but not for the host"
        ));
    }
    for (start, library) in [("cub/", "CUB"), ("thrust/", "Thrust"), ("cuda/", "libcu++")] {
        if header.starts_with(start) {
            return Some(format!("this part of {library} is not available"));
        }
    }
    let row = Tables::get().row(header.as_bytes()).filter(|row| row.kind.is_header())?;
    let library = match row.family {
        Family::Cublas => "cuBLAS",
        Family::Cudnn => "cuDNN",
        Family::Cufft => "cuFFT",
        Family::Curand => "cuRAND",
        Family::Cusolver => "cuSOLVER",
        Family::Cusparse => "cuSPARSE",
        Family::Cutensor => "cuTENSOR",
        Family::Nccl => "NCCL",
        Family::Nvrtc => "NVRTC",
        _ => return None,
    };
    Some(format!(
        "{header} belongs to {library}, a library for host code; kernels compile without it: leave out the source or \
        its `#include`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_known_libraries_have_a_note() {
        for (header, part) in [
            ("cublas_v2.h", "cuBLAS"),
            ("cudnn.h", "cuDNN"),
            ("nccl.h", "NCCL"),
            ("cutlass/gemm/gemm.h", "CUTLASS: add its folder"),
            ("cub/device/device_scan.cuh", "not for the host"),
            ("thrust/unique.h", "this part of Thrust"),
        ] {
            let text = format!("a.cu:3:10: fatal error: '{header}' file not found\n    3 | x\n");
            let noted = with_notes(text.clone());
            let note = noted.strip_prefix(&text).unwrap();
            assert!(note.starts_with("note: ") && note.contains(part), "{header}: {note}");
        }
        for text in ["a.cu:3:10: fatal error: 'own.h' file not found\n", "a.cu:3:1: error: cublas_v2.h\n", ""]
        {
            assert_eq!(with_notes(text.to_owned()), text);
        }
    }
}
