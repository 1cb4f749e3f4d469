//! Code: what a program has for several targets, and what a device has loaded.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use code_object::bundle;
use code_object::embedded::Module;
use code_object::{ArgKind, CodeObject, TargetId};
use hsa::raw::HiddenArguments;

use crate::context::Context;
use crate::error::{Error, Result};

/// Code objects of one source for several targets.
#[derive(Clone, Debug)]
pub struct CodeObjects {
    list: Arc<[(TargetId, Bytes)]>,
}

#[derive(Clone)]
enum Bytes {
    Owned(Arc<[u8]>),
    /// Perhaps compressed.
    Embedded(code_object::embedded::CodeObject),
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("code")
    }
}

impl CodeObjects {
    /// Code objects and bundles of them.
    ///
    /// # Errors
    /// [`Error::BadCode`].
    pub fn new<B: AsRef<[u8]>>(files: impl IntoIterator<Item = B>) -> Result<Self> {
        let bad = |error: code_object::Error| Error::BadCode(error.to_string());
        let mut list = Vec::new();
        for file in files {
            let file = file.as_ref();
            if !bundle::is_bundle(file) {
                let target = CodeObject::parse(file).map_err(bad)?.target().clone();
                list.push((target, Bytes::Owned(file.into())));
                continue;
            }
            for entry in bundle::entries(file).map_err(bad)? {
                // A bundle has an entry for the host, too.
                if let Some(target) = entry.target() {
                    list.push((target, Bytes::Owned(entry.bytes.as_ref().into())));
                }
            }
        }
        Ok(Self { list: list.into() })
    }

    /// What `kernel-build` has embedded for a source.
    ///
    /// # Errors
    /// [`Error::BadCode`] if a target is malformed.
    pub fn embedded(module: &'static Module) -> Result<Self> {
        let target = |object: &code_object::embedded::CodeObject| {
            let target = object.target_id().map_err(|error| Error::BadCode(error.to_string()))?;
            Ok((target, Bytes::Embedded(*object)))
        };
        let list = module.code_objects.iter().map(target).collect::<Result<Vec<_>>>()?;
        Ok(Self { list: list.into() })
    }

    /// The targets.
    pub fn targets(&self) -> impl Iterator<Item = &TargetId> {
        self.list.iter().map(|(target, _)| target)
    }

    /// The code that fits a device best: for exactly its target, else for its processor, else for its generic
    /// processor.
    ///
    /// # Errors
    /// [`Error::NoCode`] lists the targets.
    pub fn for_target(&self, what: &'static str, device: &TargetId) -> Result<Cow<'_, [u8]>> {
        let fitting = self.list.iter().filter_map(|(target, bytes)| Some((target.fit(device)?, bytes)));
        match fitting.max_by_key(|(fit, _)| *fit) {
            Some((_, Bytes::Owned(bytes))) => Ok(Cow::Borrowed(bytes)),
            Some((_, Bytes::Embedded(object))) => {
                object.code().map_err(|error| Error::BadCode(error.to_string()))
            }
            None => Err(Error::NoCode {
                what,
                target: device.to_string(),
                have: self.targets().map(ToString::to_string).collect(),
            }),
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.list, &other.list)
    }
}

/// Code that a device has loaded, on each of its GPUs. Clones are the same.
#[derive(Clone, Debug)]
pub struct Executable {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    kernels: Vec<Description>,
    /// One for each GPU of the device.
    loaded: Vec<hsa::Executable>,
    /// In the log of the device, if it has one.
    number: OnceLock<u32>,
    context: Arc<Context>,
}

/// A kernel as its code object describes it.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) name: String,
    /// Offset, size and kind of each argument that the caller passes.
    pub(crate) arguments: Vec<(usize, usize, ArgKind)>,
    pub(crate) hidden: HiddenArguments,
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) most_work_items: u32,
    pub(crate) required: Option<[u32; 3]>,
    pub(crate) group: u32,
    pub(crate) private: u32,
    /// Its address on each GPU.
    objects: Vec<u64>,
}

/// A kernel of an [`Executable`], which it keeps loaded.
#[derive(Clone, Debug)]
pub struct Kernel {
    executable: Executable,
    index: usize,
}

impl Executable {
    pub(crate) fn load(context: &Arc<Context>, what: &'static str, code: &CodeObjects) -> Result<Self> {
        let mut kernels: Vec<Description> = Vec::new();
        let mut loaded = Vec::new();
        for member in &context.members {
            let bytes = code.for_target(what, &member.target)?;
            let parsed = CodeObject::parse(&bytes).map_err(|error| Error::BadCode(error.to_string()))?;
            let executable = hsa::Executable::load(&member.agent, &bytes)?;
            for kernel in parsed.kernels() {
                let object = executable.kernel(&kernel.name)?.object();
                // All GPUs have the same target, so they have the same kernels.
                if let Some(known) = kernels.iter_mut().find(|known| known.name == kernel.name) {
                    known.objects.push(object);
                    continue;
                }
                kernels.push(Description {
                    name: kernel.name.clone(),
                    arguments: kernel
                        .explicit_args()
                        .map(|arg| (arg.offset as usize, arg.size as usize, arg.kind.clone()))
                        .collect(),
                    hidden: HiddenArguments::of(kernel),
                    size: kernel.kernarg_size as usize,
                    align: kernel.kernarg_align as usize,
                    most_work_items: kernel.max_flat_workgroup_size.min(member.most_work_items),
                    required: kernel.required_workgroup_size,
                    group: kernel.group_segment_size,
                    private: kernel.private_segment_size,
                    objects: vec![object],
                });
            }
            loaded.push(executable);
        }
        Ok(Self {
            inner: Arc::new(Inner { kernels, loaded, number: OnceLock::new(), context: context.clone() }),
        })
    }

    /// A kernel by the name that its code object has.
    ///
    /// # Errors
    /// [`Error::NoKernel`] lists those that are there.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        match self.inner.kernels.iter().position(|kernel| kernel.name == name) {
            Some(index) => Ok(Kernel { executable: self.clone(), index }),
            None => Err(Error::NoKernel {
                name: name.to_owned(),
                have: self.inner.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
            }),
        }
    }

    /// The device's log has it under a number.
    pub(crate) fn is_number(&self, number: u32) {
        let _ = self.inner.number.set(number);
    }

    /// Its number in the device's log.
    pub(crate) fn number(&self) -> Option<u32> {
        self.inner.number.get().copied()
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The loaded code of a GPU of the device, for its variables.
    #[must_use]
    pub fn on(&self, member: usize) -> Option<&hsa::Executable> {
        self.inner.loaded.get(member)
    }
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description().name
    }

    pub(crate) fn description(&self) -> &Description {
        &self.executable.inner.kernels[self.index]
    }

    pub(crate) fn executable(&self) -> &Executable {
        &self.executable
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.executable.inner.context
    }

    /// Its address for packets of a GPU.
    pub(crate) fn object(&self, member: usize) -> u64 {
        self.description().objects[member]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_is_none_is_refused() {
        let error = CodeObjects::new([b"not a code object"]).unwrap_err();
        assert!(matches!(error, Error::BadCode(_)), "{error}");
        let nothing = CodeObjects::new([[0u8; 0]; 0]).unwrap();
        let target = "gfx90a".parse().unwrap();
        let error = nothing.for_target("the device library", &target).unwrap_err();
        assert_eq!(error.to_string(), "the device library has no code for gfx90a; it has none");
    }
}
