//! Kernel arguments: what may be passed, and its check against the kernel's parameters.

use smallvec::SmallVec;

use super::{Argument, LaunchError};
use crate::device::Device;
use crate::memory::{DeviceAddress, DeviceBuffer, DeviceCopy, DeviceSlice, DeviceSliceMut, RawBuffer};

/// What a kernel takes in one position, as its code object says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name in the source, where the compiler recorded it.
    pub name: Option<String>,
    /// Where it lies in the argument segment, bytes.
    pub offset: u32,
    /// Its size, bytes.
    pub size: u32,
    /// A pointer, or a value.
    pub kind: ParameterKind,
    /// What the kernel does through the pointer, where the compiler recorded it: `read_only`, `write_only`, `read_write`.
    pub access: Option<String>,
}

/// How a parameter is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A pointer to device memory.
    Pointer,
    /// The value itself.
    Value,
    /// A kind that cannot be passed, as the code object names it.
    Other(String),
}

impl Parameter {
    pub(crate) fn of(argument: &code_object::Arg) -> Self {
        let kind = match &argument.kind {
            code_object::ArgKind::ByValue => ParameterKind::Value,
            code_object::ArgKind::GlobalBuffer => ParameterKind::Pointer,
            other => ParameterKind::Other(format!("{other:?}")),
        };
        Self {
            name: argument.name.clone(),
            offset: argument.offset,
            size: argument.size,
            kind,
            access: argument.access.clone(),
        }
    }

    /// In words, for errors.
    fn describe(&self) -> String {
        match &self.kind {
            ParameterKind::Pointer => "a pointer".to_owned(),
            ParameterKind::Value => format!("a value of {} bytes", self.size),
            ParameterKind::Other(kind) => format!("a parameter of kind `{kind}`"),
        }
    }
}

/// All parameters of a kernel, in words.
pub(crate) fn signature(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "none".to_owned();
    }
    let described: Vec<String> = parameters
        .iter()
        .map(|parameter| match &parameter.name {
            Some(name) => format!("{} (`{name}`)", parameter.describe()),
            None => parameter.describe(),
        })
        .collect();
    described.join(", ")
}

/// What may be passed to a kernel.
///
/// | Rust | device code |
/// |---|---|
/// | `&DeviceBuffer<T>`, `DeviceSlice<T>` | `const T*` |
/// | `&mut DeviceBuffer<T>`, `DeviceSliceMut<T>` | `T*` |
/// | any [`DeviceCopy`] value | the same type by value |
/// | [`DeviceAddress`] | a pointer that nothing is known of |
pub trait KernelArg<'a>: sealed::Pass<'a> {}

impl<'a, A: sealed::Pass<'a>> KernelArg<'a> for A {}

pub(crate) mod sealed {
    use super::Arguments;

    pub trait Pass<'a> {
        /// Checks the argument against the parameter at `index` and stores it.
        fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &super::Check<'_>);
    }
}

/// What arguments are checked against.
#[derive(Clone, Copy, Debug)]
pub struct Check<'c> {
    pub(crate) kernel: &'c str,
    pub(crate) device: &'c Device,
    pub(crate) parameters: &'c [Parameter],
}

/// The arguments of one launch, laid out as the kernel reads them, and the first thing wrong with them.
#[derive(Debug, Default)]
pub struct Arguments<'a> {
    /// The argument segment's explicit part. Words, so that every value is aligned as in the segment.
    words: SmallVec<[u64; 32]>,
    /// The memory that is used, by argument, and whether it may be written.
    used: SmallVec<[(usize, &'a RawBuffer, bool); 8]>,
    count: usize,
    error: Option<Box<LaunchError>>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(parameters: &[Parameter]) -> Self {
        let end = parameters.iter().map(|p| p.offset as usize + p.size as usize).max().unwrap_or(0);
        let mut words = SmallVec::new();
        words.resize(end.div_ceil(8), 0);
        Self { words, ..Self::default() }
    }

    /// Adds the next argument.
    pub(crate) fn push(&mut self, argument: impl KernelArg<'a>, check: &Check<'_>) {
        let index = self.count;
        self.count += 1;
        // Arguments beyond the last parameter are counted, which is the error that `finish` reports.
        if self.error.is_none() && index < check.parameters.len() {
            argument.pass(self, index, check);
        }
    }

    /// Replaces an argument.
    pub(crate) fn replace(
        &mut self,
        index: usize,
        argument: impl KernelArg<'a>,
        check: &Check<'_>,
    ) -> Result<(), Box<LaunchError>> {
        if index >= check.parameters.len() {
            return Err(count_error(check, index + 1));
        }
        // Passing stores only after the check, so a refused argument leaves the old one in its place.
        let before = self.used.iter().position(|(position, ..)| *position == index);
        let count = self.used.len();
        argument.pass(self, index, check);
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if let Some(before) = before {
            debug_assert!(before < count);
            self.used.swap_remove(before);
        }
        Ok(())
    }

    /// The first thing that was wrong, or that there are too few or too many.
    pub(crate) fn finish(&mut self, check: &Check<'_>) -> Result<(), Box<LaunchError>> {
        if self.count != check.parameters.len() {
            return Err(count_error(check, self.count));
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    pub(crate) fn used(&self) -> impl Iterator<Item = (&'a RawBuffer, bool)> {
        self.used.iter().map(|(_, raw, written)| (*raw, *written))
    }

    /// A pointer to each argument, as HIP wants them; valid until the arguments move or change.
    pub(crate) fn pointers(&mut self, parameters: &[Parameter]) -> SmallVec<[*mut std::ffi::c_void; 32]> {
        let base = self.words.as_mut_ptr().cast::<u8>();
        // `wrapping_add` stays inside: the words reach to the end of the last parameter.
        parameters.iter().map(|p| base.wrapping_add(p.offset as usize).cast()).collect()
    }

    fn store(&mut self, offset: u32, bytes: &[u8]) {
        let segment: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        let start = offset as usize;
        if let Some(place) = segment.get_mut(start..start + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn refuse(&mut self, error: LaunchError) {
        self.error = Some(Box::new(error));
    }

    fn pass_value<T: DeviceCopy>(&mut self, value: &T, index: usize, check: &Check<'_>) {
        let parameter = &check.parameters[index];
        if parameter.kind != ParameterKind::Value {
            let got = format!("a value of type `{}`", std::any::type_name::<T>());
            return self.refuse(check.wrong_kind(index, got));
        }
        if parameter.size as usize != size_of::<T>() {
            return self.refuse(LaunchError::ArgumentSize {
                kernel: check.kernel.to_owned(),
                argument: check.argument(index),
                expected: parameter.size,
                got: size_of::<T>(),
                got_type: std::any::type_name::<T>(),
            });
        }
        // SAFETY: a `DeviceCopy` value has no padding, so its bytes are all initialised.
        let bytes =
            unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>()) };
        self.store(parameter.offset, bytes);
    }

    fn pass_pointer(&mut self, address: DeviceAddress, index: usize, check: &Check<'_>) -> bool {
        let parameter = &check.parameters[index];
        if parameter.kind != ParameterKind::Pointer || parameter.size != 8 {
            self.refuse(check.wrong_kind(index, "a pointer to device memory".to_owned()));
            return false;
        }
        self.store(parameter.offset, &address.0.to_ne_bytes());
        true
    }

    fn pass_memory(
        &mut self,
        raw: &'a RawBuffer,
        address: DeviceAddress,
        written: bool,
        index: usize,
        check: &Check<'_>,
    ) {
        if raw.device() != check.device {
            return self.refuse(LaunchError::OtherDevice {
                kernel: check.kernel.to_owned(),
                argument: check.argument(index),
                expected: check.device.to_string(),
                got: raw.device().to_string(),
            });
        }
        let access = check.parameters[index].access.as_deref();
        if let (false, Some(access @ ("write_only" | "read_write"))) = (written, access) {
            return self.refuse(LaunchError::WrittenThroughShared {
                kernel: check.kernel.to_owned(),
                argument: check.argument(index),
                access: access.to_owned(),
            });
        }
        if self.pass_pointer(address, index, check) {
            self.used.push((index, raw, written));
        }
    }
}

impl Check<'_> {
    fn argument(&self, index: usize) -> Argument {
        Argument { index, name: self.parameters.get(index).and_then(|p| p.name.clone()) }
    }

    #[cold]
    fn wrong_kind(&self, index: usize, got: String) -> LaunchError {
        let (kernel, argument) = (self.kernel.to_owned(), self.argument(index));
        let parameter = &self.parameters[index];
        match &parameter.kind {
            ParameterKind::Other(kind) => {
                LaunchError::UnsupportedParameter { kernel, argument, kind: kind.clone() }
            }
            _ => LaunchError::ArgumentKind { kernel, argument, expected: parameter.describe(), got },
        }
    }
}

#[cold]
fn count_error(check: &Check<'_>, got: usize) -> Box<LaunchError> {
    Box::new(LaunchError::ArgumentCount {
        kernel: check.kernel.to_owned(),
        expected: check.parameters.len(),
        got,
        signature: signature(check.parameters),
    })
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for T {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        arguments.pass_value(&self, index, check);
    }
}

impl<'a> sealed::Pass<'a> for DeviceAddress {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        arguments.pass_pointer(self, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for DeviceSlice<'a, T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        arguments.pass_memory(self.raw(), self.address(), false, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for &DeviceSlice<'a, T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        (*self).pass(arguments, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for DeviceSliceMut<'a, T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        arguments.pass_memory(self.raw(), self.address(), true, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for &'a mut DeviceSliceMut<'_, T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        self.reborrow().pass(arguments, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for &'a DeviceSliceMut<'_, T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        self.as_slice().pass(arguments, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for &'a DeviceBuffer<T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        self.as_slice().pass(arguments, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for &'a mut DeviceBuffer<T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        self.as_mut_slice().pass(arguments, index, check);
    }
}
