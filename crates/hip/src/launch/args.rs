//! Kernel arguments: what may be passed, and its check against the kernel's parameters.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Argument, LaunchConfig, LaunchError};
use crate::device::Device;
use crate::function::Function;
use crate::memory::{
    Allocation, DeviceAddress, DeviceBuffer, DeviceCopy, DeviceSlice, DeviceSliceMut, bytes_of,
};
use crate::stream::Stream;

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
    // A `Vec`, whose drop the borrow checker knows not to look at what it holds: borrows end with their last use.
    used: Vec<(usize, &'a Arc<Allocation>, bool)>,
    count: usize,
    error: Option<Box<LaunchError>>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(parameters: &[Parameter]) -> Self {
        let end = parameters.iter().map(|p| p.offset as usize + p.size as usize).max().unwrap_or(0);
        let mut words = SmallVec::new();
        words.resize(end.div_ceil(8), 0);
        let pointers = parameters.iter().filter(|p| p.kind == ParameterKind::Pointer).count();
        Self { words, used: Vec::with_capacity(pointers), ..Self::default() }
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
        check.count(self.count)?;
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn used(&self) -> impl Iterator<Item = (&'a Arc<Allocation>, bool)> {
        self.used.iter().map(|(_, allocation, written)| (*allocation, *written))
    }

    /// A pointer to each argument, as HIP wants them; valid until the arguments move or change.
    #[inline]
    pub(crate) fn pointers(&mut self, parameters: &[Parameter]) -> SmallVec<[*mut std::ffi::c_void; 32]> {
        let base = self.words.as_mut_ptr().cast::<u8>();
        // `wrapping_add` stays inside: the words reach to the end of the last parameter.
        parameters.iter().map(|p| base.wrapping_add(p.offset as usize).cast()).collect()
    }

    /// Enqueues the kernel with these arguments.
    ///
    /// # Safety
    /// Arguments and sizes were checked for this function, and [`Launch::enqueue`](super::Launch::enqueue)'s conditions hold.
    #[inline]
    pub(crate) unsafe fn enqueue(
        &mut self,
        function: &Function,
        stream: &Stream,
        config: &LaunchConfig,
    ) -> crate::Result<()> {
        let mut pointers = self.pointers(function.parameters());
        // SAFETY: there is a pointer for each parameter, into storage of its size; the caller vouches for the rest.
        unsafe { function.enqueue(stream, config, self.used(), &mut pointers) }
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
        if let Err(error) = check.value(index, size_of::<T>(), std::any::type_name::<T>()) {
            return self.refuse(error);
        }
        self.store(check.parameters[index].offset, bytes_of(value));
    }

    fn pass_pointer(&mut self, address: DeviceAddress, index: usize, check: &Check<'_>) -> bool {
        if let Err(error) = check.pointer(index) {
            self.refuse(error);
            return false;
        }
        self.store(check.parameters[index].offset, &address.0.to_ne_bytes());
        true
    }

    fn pass_memory(
        &mut self,
        allocation: &'a Arc<Allocation>,
        address: DeviceAddress,
        written: bool,
        index: usize,
        check: &Check<'_>,
    ) {
        let checked = check.memory(allocation, index);
        if let Err(error) = checked.and_then(|()| if written { Ok(()) } else { check.shared(index) }) {
            return self.refuse(error);
        }
        if self.pass_pointer(address, index, check) {
            self.used.push((index, allocation, written));
        }
    }
}

impl Check<'_> {
    /// Whether the kernel takes so many arguments.
    pub(crate) fn count(&self, got: usize) -> Result<(), Box<LaunchError>> {
        if got == self.parameters.len() { Ok(()) } else { Err(count_error(self, got)) }
    }

    /// Whether the kernel takes a value of this size at `index`.
    pub(crate) fn value(
        &self,
        index: usize,
        size: usize,
        type_name: &'static str,
    ) -> Result<(), LaunchError> {
        let parameter = &self.parameters[index];
        if parameter.kind != ParameterKind::Value {
            return Err(self.wrong_kind(index, format!("a value of type `{type_name}`")));
        }
        if parameter.size as usize != size {
            return Err(LaunchError::ArgumentSize {
                kernel: self.kernel.to_owned(),
                argument: self.argument(index),
                expected: parameter.size,
                got: size,
                got_type: type_name,
            });
        }
        Ok(())
    }

    /// Whether the kernel takes a pointer at `index`.
    pub(crate) fn pointer(&self, index: usize) -> Result<(), LaunchError> {
        let parameter = &self.parameters[index];
        if parameter.kind == ParameterKind::Pointer && parameter.size == 8 {
            return Ok(());
        }
        Err(self.wrong_kind(index, "a pointer to device memory".to_owned()))
    }

    /// Whether the kernel's device reaches this memory.
    pub(crate) fn memory(&self, allocation: &Allocation, index: usize) -> Result<(), LaunchError> {
        if self.device.has_access_to(allocation.device()) {
            return Ok(());
        }
        Err(LaunchError::OtherDevice {
            kernel: self.kernel.to_owned(),
            argument: self.argument(index),
            expected: self.device.to_string(),
            got: allocation.device().to_string(),
        })
    }

    /// Whether the kernel only reads through the pointer at `index`, as far as the code object tells.
    pub(crate) fn shared(&self, index: usize) -> Result<(), LaunchError> {
        match self.parameters[index].access.as_deref() {
            Some(access @ ("write_only" | "read_write")) => Err(LaunchError::WrittenThroughShared {
                kernel: self.kernel.to_owned(),
                argument: self.argument(index),
                access: access.to_owned(),
            }),
            _ => Ok(()),
        }
    }

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
        arguments.pass_memory(self.allocation(), self.start(), false, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for &DeviceSlice<'a, T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        (*self).pass(arguments, index, check);
    }
}

impl<'a, T: DeviceCopy> sealed::Pass<'a> for DeviceSliceMut<'a, T> {
    fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
        arguments.pass_memory(self.allocation(), self.start(), true, index, check);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    fn parameter(name: &str, offset: u32, size: u32, kind: ParameterKind, access: Option<&str>) -> Parameter {
        let name = (!name.is_empty()).then(|| name.to_owned());
        Parameter { name, offset, size, kind, access: access.map(str::to_owned) }
    }

    /// `k(unsigned n, double a, const float* x, float* y)`
    fn parameters() -> Vec<Parameter> {
        vec![
            parameter("n", 0, 4, ParameterKind::Value, None),
            parameter("", 8, 8, ParameterKind::Value, None),
            parameter("x", 16, 8, ParameterKind::Pointer, Some("read_only")),
            parameter("y", 24, 8, ParameterKind::Pointer, Some("write_only")),
        ]
    }

    struct Fixture {
        device: Device,
        parameters: Vec<Parameter>,
        x: DeviceBuffer<f32>,
        y: DeviceBuffer<f32>,
    }

    impl Fixture {
        fn new() -> Self {
            let device = fake::device(0);
            let buffer = || DeviceBuffer::uninit(&device, 4).unwrap();
            Self { parameters: parameters(), x: buffer(), y: buffer(), device: device.clone() }
        }

        fn check(&self) -> Check<'_> {
            Check { kernel: "k", device: &self.device, parameters: &self.parameters }
        }
    }

    #[test]
    fn arguments_that_fit_are_laid_out_as_the_kernel_reads_them() {
        let Fixture { device, parameters, x, mut y } = Fixture::new();
        let (x_address, y_address) = (x.address(), y.address());
        let check = Check { kernel: "k", device: &device, parameters: &parameters };
        let mut arguments = Arguments::new(&parameters);
        arguments.push(7_u32, &check);
        arguments.push(2.5_f64, &check);
        arguments.push(&x, &check);
        arguments.push(&mut y, &check);
        arguments.finish(&check).unwrap();
        assert_eq!(arguments.words[..], [7, 2.5_f64.to_bits(), x_address.0, y_address.0]);
        assert_eq!(arguments.used().map(|(_, written)| written).collect::<Vec<_>>(), [false, true]);
        let pointers = arguments.pointers(&parameters);
        // SAFETY: the pointers lead to the words, which are still there.
        let (n, x) = unsafe { (*pointers[0].cast::<u32>(), *pointers[2].cast::<u64>()) };
        assert_eq!((n, x), (7, x_address.0));
    }

    #[test]
    fn what_does_not_fit_names_kernel_argument_and_both_sides() {
        let fixture = Fixture::new();
        let error = |first: fn(&mut Arguments<'_>, &Check<'_>)| {
            let mut arguments = Arguments::new(&fixture.parameters);
            first(&mut arguments, &fixture.check());
            arguments.finish(&fixture.check()).unwrap_err().to_string()
        };
        assert_eq!(
            error(|arguments, check| arguments.push(1_u32, check)),
            "kernel `k` takes 4 arguments, 1 were given; it takes a value of 4 bytes (`n`), a value of 8 bytes, \
             a pointer (`x`), a pointer (`y`)"
        );
        assert_eq!(
            error(|arguments, check| {
                arguments.push(1_u64, check);
                (1..4).for_each(|_| arguments.push(DeviceAddress::NULL, check));
            }),
            "kernel `k`, argument 0 (`n`): expected a value of 4 bytes, got 8 bytes (`u64`)"
        );
        assert_eq!(
            error(|arguments, check| {
                arguments.push(1_u32, check);
                (1..4).for_each(|_| arguments.push(DeviceAddress::NULL, check));
            }),
            "kernel `k`, argument 1 (counted from 0): expected a value of 8 bytes, got a pointer to device memory"
        );
        assert_eq!(
            error(|arguments, check| {
                arguments.push(1_u32, check);
                arguments.push(1_f64, check);
                (2..4).for_each(|_| arguments.push(0_u64, check));
            }),
            "kernel `k`, argument 2 (`x`): expected a pointer, got a value of type `u64`"
        );
        assert!(
            error(|arguments, check| (0..5).for_each(|_| arguments.push(1_u32, check)))
                .contains("5 were given")
        );
    }

    #[test]
    fn a_pointer_that_the_kernel_writes_through_needs_an_exclusive_borrow() {
        let Fixture { device, parameters, x, y } = Fixture::new();
        let check = Check { kernel: "k", device: &device, parameters: &parameters };
        let mut arguments = Arguments::new(&parameters);
        arguments.push(1_u32, &check);
        arguments.push(1_f64, &check);
        arguments.push(&x, &check);
        arguments.push(&y, &check);
        let error = *arguments.finish(&check).unwrap_err();
        assert!(
            matches!(&error, LaunchError::WrittenThroughShared { argument, .. } if argument.index == 3),
            "{error}"
        );
    }

    #[test]
    fn memory_of_another_device_is_refused() {
        let fixture = Fixture::new();
        let elsewhere = DeviceBuffer::<f32>::uninit(&fake::device(1), 4).unwrap();
        let mut arguments = Arguments::new(&fixture.parameters);
        arguments.push(1_u32, &fixture.check());
        arguments.push(1_f64, &fixture.check());
        arguments.push(&elsewhere, &fixture.check());
        arguments.push(DeviceAddress::NULL, &fixture.check());
        let error = *arguments.finish(&fixture.check()).unwrap_err();
        assert!(matches!(error, LaunchError::OtherDevice { .. }), "{error}");
    }

    #[test]
    fn a_parameter_that_cannot_be_passed_is_refused() {
        let fixture = Fixture {
            parameters: vec![parameter("image", 0, 8, ParameterKind::Other("Image".into()), None)],
            ..Fixture::new()
        };
        let mut arguments = Arguments::new(&fixture.parameters);
        arguments.push(1_u64, &fixture.check());
        let error = arguments.finish(&fixture.check()).unwrap_err().to_string();
        assert_eq!(error, "kernel `k`, argument 0 (`image`): parameters of kind `Image` cannot be passed");
    }

    #[test]
    fn a_replaced_argument_takes_the_old_ones_place() {
        let Fixture { device, parameters, x, mut y } = Fixture::new();
        let other = DeviceBuffer::<f32>::uninit(&device, 4).unwrap();
        let check = Check { kernel: "k", device: &device, parameters: &parameters };
        let mut arguments = Arguments::new(&parameters);
        arguments.push(1_u32, &check);
        arguments.push(1_f64, &check);
        arguments.push(&x, &check);
        arguments.push(&mut y, &check);
        arguments.finish(&check).unwrap();
        arguments.replace(0, 9_u32, &check).unwrap();
        arguments.replace(2, &other, &check).unwrap();
        assert_eq!((arguments.words[0], arguments.words[2]), (9, other.address().0));
        assert_eq!(arguments.used().count(), 2);
        arguments.replace(2, DeviceAddress::NULL, &check).unwrap();
        assert_eq!((arguments.words[2], arguments.used().count()), (0, 1));
        assert!(arguments.replace(0, 1_u8, &check).is_err());
        assert!(arguments.replace(4, 1_u8, &check).is_err());
        assert_eq!(arguments.words[0], 9);
        arguments.finish(&check).unwrap();
    }
}
