//! The types of modules that build scripts generate: compiled kernels embedded in a program.
//!
//! `kernel-build` writes one [`Module`] per device source. Everything is `'static` and lies in the
//! program's read-only data; nothing is parsed, copied or unpacked until a module is loaded.
//!
//! # Compressed modules
//! A module may have the code for all its targets in one [compressed bundle](crate::bundle) instead of one
//! file for each target, and the code for all NVIDIA GPUs in another. The choice of the code for a device
//! does not read the bundle; [`CodeObject::code`] or [`CudaImage::code`] unpacks it. It unpacks the whole
//! bundle each time that a module is loaded on a device. Loading thus needs memory for the code of all
//! targets of one vendor for a moment; only one target's code stays.

use std::borrow::Cow;

use crate::{Error, ParseTargetError, TargetId, bundle, cuda_arch};

/// One device source, compiled for several targets.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Position in the generated `ALL`.
    pub id: usize,
    /// Name: path of the source below the kernels' folder, without extension.
    pub name: &'static str,
    /// Path of the source below the kernels' folder.
    pub source: &'static str,
    /// Names of the kernels of all targets, sorted. A kernel's position here is its id within the module.
    pub kernels: &'static [&'static str],
    /// One code object per target, in the order of the build's targets; empty if nothing was compiled for AMD
    /// GPUs.
    pub code_objects: &'static [CodeObject],
    /// Code for NVIDIA GPUs, in the order of the build's architectures; empty if the build has none.
    pub cuda: &'static [CudaImage],
}

/// A [`Module`]'s machine code for one target.
#[derive(Clone, Copy)]
pub struct CodeObject {
    /// Target id, as [`TargetId`] prints it.
    pub target: &'static str,
    /// The ELF file, or the [compressed bundle](self#compressed-modules) of all the module's code objects.
    /// [`code`](Self::code) returns the ELF file in both cases. Starts at a multiple of 4096 bytes where the
    /// generated code embeds it through [`Aligned`].
    pub bytes: &'static [u8],
    /// blake3 hash of the ELF file in hexadecimal: equal hashes mean equal code.
    pub hash: &'static str,
}

/// A [`Module`]'s code for NVIDIA GPUs of one architecture, to be loaded through NVIDIA's driver.
#[derive(Clone, Copy)]
pub struct CudaImage {
    /// The architecture that it was compiled for: `sm_80`.
    pub arch: &'static str,
    /// Its form.
    pub kind: CudaKind,
    /// The text or file, or the [compressed bundle](self#compressed-modules) of all the module's code for
    /// NVIDIA GPUs. [`code`](Self::code) returns the text or file in both cases.
    pub bytes: &'static [u8],
    /// blake3 hash of the text or file in hexadecimal: equal hashes mean equal code.
    pub hash: &'static str,
}

/// The form of a [`CudaImage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CudaKind {
    /// PTX, a text that the driver compiles for the architecture and later ones.
    Ptx,
    /// A cubin, machine code for the architecture.
    Cubin,
}

/// Storage that starts at a page boundary, so that a loader can map embedded code or copy it directly.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Aligned<T: ?Sized>(pub T);

impl std::fmt::Debug for CodeObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeObject")
            .field("target", &self.target)
            .field("bytes", &self.bytes.len())
            .field("hash", &self.hash)
            .finish()
    }
}

impl std::fmt::Debug for CudaImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaImage")
            .field("arch", &self.arch)
            .field("kind", &self.kind)
            .field("bytes", &self.bytes.len())
            .field("hash", &self.hash)
            .finish()
    }
}

impl CudaImage {
    /// The text or file: as it is embedded, or [unpacked](self#compressed-modules).
    ///
    /// # Errors
    /// [`Error::Bundle`] or [`Error::NoCode`] if the bytes are not those that `kernel-build` wrote.
    pub fn code(&self) -> Result<Cow<'static, [u8]>, Error> {
        bundle::cuda_code_of(self.bytes, self.arch, self.kind)
    }
}

impl CodeObject {
    /// The ELF file: as it is embedded, or [unpacked](self#compressed-modules).
    ///
    /// # Errors
    /// [`Error::Bundle`] or [`Error::NoCode`] if the bytes are not those that `kernel-build` wrote.
    pub fn code(&self) -> Result<Cow<'static, [u8]>, Error> {
        bundle::code_of(self.bytes, self.target)
    }

    /// The target as a [`TargetId`].
    ///
    /// # Errors
    /// [`ParseTargetError`] if the text was not written by `kernel-build`.
    pub fn target_id(&self) -> Result<TargetId, ParseTargetError> {
        self.target.parse()
    }
}

impl Module {
    /// The code object that fits `device` best: its exact target id first, then its processor, then a generic
    /// one.
    #[must_use]
    pub fn for_device(&self, device: &TargetId) -> Option<&CodeObject> {
        let mut best = None;
        for object in self.code_objects {
            let fit = object.target_id().ok().and_then(|target| target.fit(device));
            if fit > best.and_then(|(fit, _)| fit) {
                best = Some((fit, object));
            }
        }
        best.map(|(_, object)| object)
    }

    /// What fits an NVIDIA GPU best, by its architecture (`sm_90`): a cubin for exactly that, else a cubin
    /// for the last one before it of the same major number, else PTX for the last one before it, which the
    /// driver compiles. Code for one architecture alone (`sm_90a`) fits that one, code for a family
    /// (`sm_100f`) the later ones of its major number.
    #[must_use]
    pub fn for_cuda_device(&self, arch: &str) -> Option<&CudaImage> {
        let fits = |image: &&CudaImage| cuda_arch::fit(image.arch, image.kind == CudaKind::Cubin, arch);
        self.cuda.iter().filter(|image| fits(image).is_some()).max_by_key(|image| fits(image))
    }

    /// Position of a kernel's name in [`kernels`](Self::kernels).
    #[must_use]
    pub fn kernel_id(&self, name: &str) -> Option<usize> {
        self.kernels.binary_search(&name).ok()
    }

    /// The targets that the module was compiled for.
    pub fn targets(&self) -> impl Iterator<Item = &'static str> {
        self.code_objects.iter().map(|object| object.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn object(target: &'static str) -> CodeObject {
        CodeObject { target, bytes: &[], hash: "" }
    }

    const MODULE: Module = Module {
        id: 0,
        name: "m",
        source: "m.cu",
        kernels: &["a", "b"],
        code_objects: &[
            object("gfx11-generic"),
            object("gfx1100"),
            object("gfx90a"),
            object("gfx90a:xnack-"),
        ],
        cuda: &[],
    };

    #[test]
    fn the_best_code_object_is_chosen() {
        let pick = |device: &str| MODULE.for_device(&device.parse().unwrap()).map(|object| object.target);
        assert_eq!(pick("gfx1100"), Some("gfx1100"));
        assert_eq!(pick("gfx1101"), Some("gfx11-generic"));
        assert_eq!(pick("gfx90a:xnack-"), Some("gfx90a:xnack-"));
        assert_eq!(pick("gfx90a:sramecc+:xnack+"), Some("gfx90a"));
        assert_eq!(pick("gfx1030"), None);
    }

    #[test]
    fn code_is_the_same_compressed_or_not() {
        let ids: Vec<String> =
            MODULE.targets().map(|target| format!("hipv4-amdgcn-amd-amdhsa--{target}")).collect();
        let mut parts = vec![bundle::Entry { id: "host-x86_64-unknown-linux--", bytes: b"" }];
        parts.extend(ids.iter().map(|id| bundle::Entry { id, bytes: id.as_bytes() }));
        let plain = bundle::bundle(&parts);
        let packed: &'static [u8] = bundle::compressed(&plain).unwrap().leak();
        let plain: &'static [u8] = plain.leak();
        for (object, id) in MODULE.code_objects.iter().zip(&ids) {
            let with = |bytes| CodeObject { bytes, ..*object }.code();
            assert_eq!(with(packed).unwrap(), id.as_bytes());
            assert_eq!(with(plain).unwrap(), id.as_bytes());
            assert!(matches!(with(b"\x7fELF"), Ok(Cow::Borrowed(b"\x7fELF"))), "nothing is copied");
            assert!(matches!(with(&packed[..packed.len() / 2]), Err(Error::Bundle { .. })));
        }
        // Code that would run on the device is not enough: it must be for exactly this target.
        let other = CodeObject { target: "gfx1101", bytes: packed, hash: "" };
        assert!(matches!(other.code(), Err(Error::NoCode { available, .. }) if available.len() == 4));
    }

    #[test]
    fn the_best_code_for_nvidia_is_chosen() {
        const fn image(arch: &'static str, kind: CudaKind) -> CudaImage {
            CudaImage { arch, kind, bytes: &[], hash: "" }
        }
        use CudaKind::{Cubin, Ptx};
        const ALL: &[CudaImage] = &[
            image("sm_80", Ptx),
            image("sm_80", Cubin),
            image("sm_86", Cubin),
            image("sm_90a", Cubin),
            image("sm_90", Ptx),
            image("sm_100f", Cubin),
        ];
        let all = Module { cuda: ALL, ..MODULE };
        let pick = |arch: &str| all.for_cuda_device(arch).map(|image| (image.arch, image.kind));
        assert_eq!(pick("sm_80"), Some(("sm_80", Cubin)));
        assert_eq!(pick("sm_89"), Some(("sm_86", Cubin)));
        assert_eq!(pick("sm_90"), Some(("sm_90a", Cubin)));
        assert_eq!(pick("sm_100"), Some(("sm_100f", Cubin)));
        assert_eq!(pick("sm_103"), Some(("sm_100f", Cubin)));
        assert_eq!(pick("sm_120"), Some(("sm_90", Ptx)));
        assert_eq!(pick("sm_75"), None);
        assert_eq!(pick("gfx90a"), None);
        assert_eq!(MODULE.for_cuda_device("sm_80").map(|image| image.arch), None);
    }

    #[test]
    fn code_for_nvidia_is_the_same_compressed_or_not() {
        const IMAGES: [(&str, CudaKind); 3] =
            [("sm_80", CudaKind::Ptx), ("sm_80", CudaKind::Cubin), ("sm_90a", CudaKind::Cubin)];
        let ids = IMAGES.map(|(arch, kind)| bundle::cuda_id(arch, kind));
        let parts = ids.each_ref().map(|id| bundle::Entry { id, bytes: id.as_bytes() });
        let plain = bundle::bundle(&parts);
        let packed: &'static [u8] = bundle::compressed(&plain).unwrap().leak();
        let plain: &'static [u8] = plain.leak();
        for ((arch, kind), id) in IMAGES.into_iter().zip(&ids) {
            let with = |bytes| CudaImage { arch, kind, bytes, hash: "" }.code();
            assert_eq!(with(packed).unwrap(), id.as_bytes());
            assert_eq!(with(plain).unwrap(), id.as_bytes());
            assert!(matches!(with(b".version 9.0"), Ok(Cow::Borrowed(b".version 9.0"))), "nothing is copied");
            assert!(matches!(with(&packed[..packed.len() / 2]), Err(Error::Bundle { .. })));
        }
        // Code that would run on the device is not enough: it must be for exactly this architecture and kind.
        let other = CudaImage { arch: "sm_90a", kind: CudaKind::Ptx, bytes: packed, hash: "" };
        assert_eq!(
            other.code().unwrap_err().to_string(),
            "no code for sm_90a (PTX): there is code for sm_80 (PTX), sm_80, sm_90a"
        );
    }

    #[test]
    fn kernels_are_found_by_name() {
        assert_eq!(MODULE.kernel_id("b"), Some(1));
        assert_eq!(MODULE.kernel_id("c"), None);
        assert_eq!(MODULE.targets().count(), 4);
    }
}
