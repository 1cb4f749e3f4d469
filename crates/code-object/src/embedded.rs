//! The types that build-time generated modules are made of: compiled kernels embedded in a program.
//!
//! `kernel-build` writes one [`Module`] per device source. Everything is `'static` and lies in the
//! program's read-only data; nothing is parsed or copied until a module is loaded.

use crate::{ParseTargetError, TargetId};

/// One device source, compiled for several targets.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Position in the generated `ALL`.
    pub id: usize,
    /// Name: path of the source below the kernels' folder, without extension.
    pub name: &'static str,
    /// Path of the source below the kernels' folder.
    pub source: &'static str,
    /// Names of the kernels of all targets, sorted; a position in it is a kernel's id within the module.
    pub kernels: &'static [&'static str],
    /// One code object per target, in the order in which targets were asked for.
    pub code_objects: &'static [CodeObject],
}

/// A [`Module`]'s machine code for one target.
#[derive(Clone, Copy)]
pub struct CodeObject {
    /// Target id, as [`TargetId`] prints it.
    pub target: &'static str,
    /// The ELF file; starts at a multiple of 4096 bytes where the generated code embeds it through [`Aligned`].
    pub bytes: &'static [u8],
    /// blake3 hash of `bytes` in hexadecimal: equal hashes are equal code.
    pub hash: &'static str,
}

/// Storage that starts at a page boundary, so that a loader may map or copy embedded code without a detour.
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

impl CodeObject {
    /// The target as a [`TargetId`].
    ///
    /// # Errors
    /// [`ParseTargetError`] if the text was not written by `kernel-build`.
    pub fn target_id(&self) -> Result<TargetId, ParseTargetError> {
        self.target.parse()
    }
}

impl Module {
    /// The code object that fits `device` best: its exact target id first, then its processor, then a generic one.
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
    fn kernels_are_found_by_name() {
        assert_eq!(MODULE.kernel_id("b"), Some(1));
        assert_eq!(MODULE.kernel_id("c"), None);
        assert_eq!(MODULE.targets().count(), 4);
    }
}
