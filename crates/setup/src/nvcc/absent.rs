//! CUDA's libraries that AMD targets do not have here, so that a missing header is told with its library.

/// A library that is not there.
struct Absent {
    library: &'static str,
    /// How the names of its headers begin.
    headers: &'static [&'static str],
    /// AMD's library, which `ferrocm hipify` translates to.
    amds: Option<&'static str>,
}

const fn row(library: &'static str, headers: &'static [&'static str], amds: Option<&'static str>) -> Absent {
    Absent { library, headers, amds }
}

/// The first row that matches counts.
const ABSENT: [Absent; 26] = [
    row("cuSPARSELt", &["cusparseLt"], None),
    row("cuSPARSE", &["cusparse"], Some("hipSPARSE")),
    row("cuSOLVER", &["cusolver"], Some("hipSOLVER")),
    row("cuDNN", &["cudnn"], Some("MIOpen")),
    row("cuTENSOR", &["cutensor"], Some("hipTensor")),
    row("cuBLAS for several processes (cuBLASMp)", &["cublasmp"], None),
    row("cuBLAS in kernels (cuBLASDx)", &["cublasdx"], None),
    row("cuFFT in kernels (cuFFTDx)", &["cufftdx"], None),
    row("FFTW's interface of cuFFT", &["cufftw.h"], None),
    row("cuDSS", &["cudss"], None),
    row("NPP", &["npp"], None),
    row("nvJPEG", &["nvjpeg"], None),
    row("nvJitLink", &["nvJitLink.h"], None),
    row("the PTX compiler library", &["nvPTXCompiler.h"], None),
    row("the fat binary library", &["nvFatbin.h"], None),
    row("libNVVM", &["nvvm.h"], None),
    row("NVML", &["nvml.h"], None),
    row("CUPTI", &["cupti"], None),
    row("GPUDirect Storage (cuFile)", &["cufile.h"], None),
    row("cuDLA", &["cudla"], None),
    row("NVSHMEM", &["nvshmem"], None),
    row("NvSci", &["nvsci"], None),
    row("OptiX", &["optix"], None),
    row("CUDA's functions for OpenGL", &["cuda_gl_interop.h", "cudaGL.h"], None),
    row("CUDA's functions for EGL", &["cuda_egl_interop.h", "cudaEGL"], None),
    row("CUDA's functions for VDPAU", &["cuda_vdpau_interop.h", "cudaVDPAU"], None),
];

/// What there is to say of a compiler's messages: that a missing header is one of a library that is not there.
pub(super) fn note(messages: &str) -> Option<String> {
    let (_, rest) = messages.split_once("fatal error: '")?;
    let (header, _) = rest.split_once("' file not found")?;
    let name = header.rsplit('/').next()?;
    let absent = ABSENT.iter().find(|absent| absent.headers.iter().any(|begin| name.starts_with(begin)))?;
    let amds = absent.amds.map_or_else(String::new, |amds| {
        format!("; `ferrocm hipify` translates programs that use it to AMD's {amds}")
    });
    Some(format!("{header} is a header of {}, which AMD targets do not have here{amds}", absent.library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_is_told_with_its_library() {
        let missing =
            |header: &str| note(&format!("a.cu:3:10: fatal error: '{header}' file not found\n    3 | …\n"));
        let told = missing("cusparse_v2.h").expect("a library");
        assert!(
            told.starts_with("cusparse_v2.h is a header of cuSPARSE, ") && told.contains("hipSPARSE"),
            "{told}"
        );
        assert!(missing("cusparseLt.h").expect("a library").contains("cuSPARSELt"));
        assert!(missing("folder/nppi.h").expect("a library").contains("NPP"));
        // What is not CUDA's is the program's own matter, and so is what is not missing.
        assert_eq!((missing("mpi.h"), note("a.cu:1:1: error: no cusparse.h\n")), (None, None));
    }

    #[test]
    fn what_is_there_is_not_absent() {
        for (name, _) in super::super::libraries::HEADERS.iter().chain(device_compiler::cuda::HEADERS) {
            assert_eq!(note(&format!("fatal error: '{name}' file not found")), None, "{name}");
        }
    }
}
