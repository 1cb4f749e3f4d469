//! Kernel arguments: what can be passed, and the check against the kernel's parameters.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use code_object::Access;

use super::room::{Room, Storage, Used};
use super::{Argument, LaunchConfig, LaunchError, types};
use crate::device::Device;
use crate::function::Function;
use crate::memory::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, Number, bytes_of};
use crate::stream::Stream;

/// A parameter of a kernel, as its code object declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name in the source, where the compiler recorded it.
    pub name: Option<String>,
    /// The type in the source, where the compiler recorded it: `float*`, also for a `const float*`.
    pub type_name: Option<String>,
    /// Its offset in the argument segment, bytes.
    pub offset: u32,
    /// Its size, bytes.
    pub size: u32,
    /// A pointer, or a value.
    pub kind: ParameterKind,
    /// How the kernel accesses memory through the pointer, if the compiler recorded it. `None` for kernels
    /// that `kernel-build` or `hiprtc-on-clang` did not compile, and for a `const` pointer if the compiler
    /// could not rule out writes through it.
    pub access: Option<Access>,
    /// The compiler recorded that the pointer is to `const`.
    pub is_const: bool,
}

/// How a parameter is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A pointer to device memory.
    Pointer,
    /// The value itself.
    Value,
    /// So many bytes, of which the code tells no more, as that of NVIDIA's GPUs: a value of that size or, if
    /// they are 8, a pointer.
    Bytes,
    /// A kind that cannot be passed, as the code object names it.
    Other(String),
}

impl Parameter {
    /// Whether the compiler recorded that the kernel writes through the pointer.
    fn written(&self) -> bool {
        self.access.is_some_and(Access::writes)
    }

    /// The kind of number in the value, or in the memory that the pointer refers to, if it is known.
    fn number(&self) -> Option<Number> {
        let name = self.type_name.as_deref()?;
        if self.kind == ParameterKind::Pointer { types::behind(name) } else { types::of_value(name) }
    }

    /// The type as the source declares it, if it is known.
    fn declared(&self) -> Option<String> {
        let constant = if self.is_const { "const " } else { "" };
        self.type_name.as_ref().map(|name| format!("{constant}{name}"))
    }

    /// A description for errors.
    fn describe(&self) -> String {
        let words = match &self.kind {
            ParameterKind::Pointer => "a pointer".to_owned(),
            ParameterKind::Value => format!("a value of {} bytes", self.size),
            ParameterKind::Bytes if self.size == 8 => "a pointer or a value of 8 bytes".to_owned(),
            ParameterKind::Bytes => format!("a value of {} bytes", self.size),
            ParameterKind::Other(kind) => format!("a parameter of kind `{kind}`"),
        };
        match self.declared() {
            Some(declared) => format!("{words} of type `{declared}`"),
            None => words,
        }
    }
}

/// The properties of a parameter that a launch compares an argument with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    offset: u32,
    size: u32,
    kind: SlotKind,
    /// The code object says that the kernel writes through the pointer.
    written: bool,
    /// The kind of number that it takes, if the code object says so.
    number: Option<Number>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotKind {
    Value,
    Pointer,
    Bytes,
    Other,
}

impl Slot {
    /// Whether a value of so many bytes may be passed.
    #[inline]
    fn takes_value(&self, size: usize) -> bool {
        matches!(self.kind, SlotKind::Value | SlotKind::Bytes) && self.size as usize == size
    }

    /// Whether a pointer may be passed.
    #[inline]
    fn takes_pointer(&self) -> bool {
        self.kind == SlotKind::Pointer || self.kind == SlotKind::Bytes && self.size == 8
    }
}

/// The parameters of a kernel, as its launches want them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    slots: Box<[Slot]>,
    /// How many words they take.
    words: usize,
}

impl Layout {
    pub(crate) fn of(parameters: &[Parameter]) -> Self {
        let slot = |parameter: &Parameter| Slot {
            offset: parameter.offset,
            size: parameter.size,
            kind: match parameter.kind {
                ParameterKind::Value => SlotKind::Value,
                ParameterKind::Pointer if parameter.size == 8 => SlotKind::Pointer,
                ParameterKind::Bytes => SlotKind::Bytes,
                _ => SlotKind::Other,
            },
            written: parameter.written(),
            number: parameter.number(),
        };
        let end = parameters.iter().map(|p| p.offset as usize + p.size as usize).max().unwrap_or(0);
        Self { slots: parameters.iter().map(slot).collect(), words: end.div_ceil(8) }
    }
}

/// A description of all parameters of a kernel.
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

/// Types that can be passed to a kernel.
///
/// | Rust | device code |
/// |---|---|
/// | `&DeviceBuffer<T>`, `DeviceSlice<T>` | `const T*` |
/// | `&mut DeviceBuffer<T>`, `DeviceSliceMut<T>` | `T*` |
/// | likewise [`MappedBuffer`](crate::MappedBuffer), [`ManagedBuffer`](crate::ManagedBuffer) and every other kind of buffer | as above |
/// | an `Option` of any of these | the pointer, or a null pointer |
/// | any [`DeviceCopy`] value: numbers, [`half::f16`], [`half::bf16`], arrays, structs that derive it | the same type by value |
/// | `bool` | `bool` |
/// | [`DeviceAddress`] | an unchecked pointer |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a kernel",
    label = "neither device memory nor plain data",
    note = "buffers and views are passed as `&buffer` or `&mut buffer`, values as themselves (`value`, not `&value`)",
    note = "a struct of plain data is passed by value if it is `#[repr(C)]` and derives `hip::DeviceCopy`"
)]
pub trait KernelArg<'a>: sealed::Pass<'a> {}

#[diagnostic::do_not_recommend]
impl<'a, A: sealed::Pass<'a>> KernelArg<'a> for A {}

pub(crate) mod sealed {
    use super::Arguments;

    pub trait Pass<'a> {
        /// Checks the argument against the parameter at `index`, which exists, and stores it.
        fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &super::Check<'_>);
    }
}

/// What arguments are checked against.
#[derive(Clone, Copy, Debug)]
pub struct Check<'c> {
    pub(crate) kernel: &'c str,
    pub(crate) device: &'c Device,
    pub(crate) parameters: &'c [Parameter],
    pub(crate) layout: &'c Layout,
}

/// The arguments of one launch, laid out as the kernel reads them, and the first mistake in them.
#[derive(Debug)]
pub struct Arguments<'a> {
    room: Room,
    count: usize,
    error: Option<Box<LaunchError>>,
    /// The allocations that the room refers to.
    used: PhantomData<&'a Arc<Allocation>>,
}

impl<'a> Arguments<'a> {
    #[inline]
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { room: Room::new(layout.words), count: 0, error: None, used: PhantomData }
    }

    /// Adds the next argument.
    #[inline]
    pub(crate) fn push(&mut self, argument: impl KernelArg<'a>, check: &Check<'_>) {
        let index = self.count;
        self.count += 1;
        // Arguments beyond the last parameter are only counted; `finish` reports the error.
        if self.error.is_none() && index < check.layout.slots.len() {
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
        // `pass` stores only after its check, so a refused argument leaves the old one in place.
        let before = self.room.get().used.iter().position(|used| used.index as usize == index);
        argument.pass(self, index, check);
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if let Some(before) = before {
            self.room.get_mut().used.swap_remove(before);
        }
        Ok(())
    }

    /// Returns the first mistake, or a wrong number of arguments.
    #[inline]
    pub(crate) fn finish(&mut self, check: &Check<'_>) -> Result<(), Box<LaunchError>> {
        check.count(self.count)?;
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The memory that is used, and whether it may be written.
    #[inline]
    pub(crate) fn used(&self) -> impl Iterator<Item = (&'a Arc<Allocation>, bool)> {
        // SAFETY: `pass_memory` has borrowed each for `'a`.
        self.room.get().used.iter().map(|used| (unsafe { used.allocation.as_ref() }, used.written))
    }

    /// A pointer to each argument, as HIP needs them; valid until the arguments change.
    #[inline]
    pub(crate) fn pointers(&mut self, layout: &Layout) -> &mut [*mut c_void] {
        let Storage { words, pointers, .. } = self.room.get_mut();
        let base = words.as_mut_ptr().cast::<u8>();
        pointers.clear();
        // `wrapping_add` stays inside: the words reach to the end of the last parameter.
        pointers
            .extend(layout.slots.iter().map(|slot| base.wrapping_add(slot.offset as usize).cast::<c_void>()));
        pointers
    }

    /// Enqueues the kernel with these arguments.
    ///
    /// # Safety
    /// Arguments and sizes were checked for this function, [`pointers`](Self::pointers) was called since they
    /// changed, and [`Launch::enqueue`](super::Launch::enqueue)'s conditions hold.
    #[inline]
    pub(crate) unsafe fn enqueue(
        &mut self,
        function: &Function,
        stream: &Stream,
        config: &LaunchConfig,
    ) -> crate::Result<()> {
        let Storage { pointers, used, .. } = self.room.get_mut();
        // SAFETY: `pass_memory` has borrowed each for `'a`.
        let used = used.iter().map(|used| (unsafe { used.allocation.as_ref() }, used.written));
        // SAFETY: there is a pointer for each parameter, into storage of its size; the caller vouches for the
        // rest.
        unsafe { function.enqueue(stream, config, used, pointers) }
    }

    #[inline]
    fn store(&mut self, offset: u32, bytes: &[u8]) {
        let segment: &mut [u8] = bytemuck::cast_slice_mut(&mut self.room.get_mut().words);
        let start = offset as usize;
        if let Some(place) = segment.get_mut(start..start + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Finds the mistake.
    #[cold]
    fn refuse(&mut self, index: usize, given: &Given, check: &Check<'_>) {
        if let Err(error) = check.given(index, given) {
            self.error = Some(Box::new(error));
        }
    }

    /// Stores a value of `T`, given as bytes.
    #[inline]
    fn pass_value<T>(&mut self, bytes: &[u8], number: Option<Number>, index: usize, check: &Check<'_>) {
        let slot = &check.layout.slots[index];
        if !slot.takes_value(size_of::<T>()) || !types::fits(slot.number, number) {
            return self.refuse(index, &Given::value::<T>(number), check);
        }
        self.store(slot.offset, bytes);
    }

    #[inline]
    fn pass_pointer(&mut self, address: DeviceAddress, index: usize, check: &Check<'_>) {
        let slot = &check.layout.slots[index];
        if slot.takes_pointer() {
            self.store(slot.offset, &address.0.to_ne_bytes());
        } else {
            self.refuse(index, &Given::Address, check);
        }
    }

    #[inline]
    fn pass_memory<T: DeviceCopy>(
        &mut self,
        allocation: &'a Arc<Allocation>,
        address: DeviceAddress,
        written: bool,
        index: usize,
        check: &Check<'_>,
    ) {
        let slot = &check.layout.slots[index];
        let fits = slot.takes_pointer() && (written || !slot.written);
        if !fits || !types::fits(slot.number, T::NUMBER) {
            return self.refuse(index, &Given::memory::<T>(written), check);
        }
        if let Err(error) = check.memory(allocation, index) {
            self.error = Some(Box::new(error));
            return;
        }
        self.store(slot.offset, &address.0.to_ne_bytes());
        let (allocation, index) = (NonNull::from(allocation), index as u32);
        self.room.get_mut().used.push(Used { allocation, index, written });
    }
}

/// The kind of an argument, without its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given {
    Value {
        size: usize,
        type_name: &'static str,
        number: Option<Number>,
    },
    /// An unchecked pointer.
    Address,
    Memory {
        written: bool,
        type_name: &'static str,
        number: Option<Number>,
    },
}

impl Given {
    /// A value of `T`, which consists of these numbers.
    pub(crate) fn value<T>(number: Option<Number>) -> Self {
        Self::Value { size: size_of::<T>(), type_name: std::any::type_name::<T>(), number }
    }

    /// Memory of `T`s, and whether it is borrowed exclusively.
    pub(crate) fn memory<T: DeviceCopy>(written: bool) -> Self {
        Self::Memory { written, type_name: std::any::type_name::<T>(), number: T::NUMBER }
    }
}

impl Check<'_> {
    /// Whether the kernel takes this many arguments.
    #[inline]
    pub(crate) fn count(&self, got: usize) -> Result<(), Box<LaunchError>> {
        if got == self.layout.slots.len() { Ok(()) } else { Err(count_error(self, got)) }
    }

    /// Whether the kernel takes this at `index`.
    pub(crate) fn given(&self, index: usize, given: &Given) -> Result<(), LaunchError> {
        let parameter = &self.parameters[index];
        let (kernel, argument) = (|| self.kernel.to_owned(), || self.argument(index));
        let number = match *given {
            Given::Value { size, type_name, number } => {
                if !matches!(parameter.kind, ParameterKind::Value | ParameterKind::Bytes) {
                    return Err(self.wrong_kind(index, format!("a value of type `{type_name}`")));
                }
                if parameter.size as usize != size {
                    let (expected, got, got_type) = (parameter.size, size, type_name);
                    let (kernel, argument) = (kernel(), argument());
                    return Err(LaunchError::ArgumentSize { kernel, argument, expected, got, got_type });
                }
                number
            }
            Given::Address | Given::Memory { .. } => {
                if !matches!(parameter.kind, ParameterKind::Pointer | ParameterKind::Bytes)
                    || parameter.size != 8
                {
                    return Err(self.wrong_kind(index, "a pointer to device memory".to_owned()));
                }
                let Given::Memory { written, type_name, number } = *given else { return Ok(()) };
                // Check the type first: a caller who passes the wrong buffer should not be told to make it
                // `&mut`.
                if !written
                    && types::fits(parameter.number(), number)
                    && let Some(access) = parameter.access
                    && access.writes()
                {
                    let (kernel, argument, got_type) = (kernel(), argument(), type_name);
                    return Err(LaunchError::WrittenThroughShared { kernel, argument, access, got_type });
                }
                number
            }
        };
        if types::fits(parameter.number(), number) {
            return Ok(());
        }
        let got = match *given {
            Given::Memory { type_name, .. } => format!("memory of `{type_name}`"),
            Given::Value { type_name, .. } => format!("a value of type `{type_name}`"),
            Given::Address => "an address".to_owned(),
        };
        let expected = parameter.declared().unwrap_or_default();
        Err(LaunchError::ArgumentType { kernel: kernel(), argument: argument(), expected, got })
    }

    /// Whether the kernel's device reaches this memory.
    pub(crate) fn memory(&self, allocation: &Allocation, index: usize) -> Result<(), LaunchError> {
        if self.device.has_access_to(allocation.device()) {
            return Ok(());
        }
        let (expected, got) = self.device.names_beside(allocation.device());
        let (kernel, argument) = (self.kernel.to_owned(), self.argument(index));
        Err(LaunchError::OtherDevice { kernel, argument, expected, got })
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

/// The types that can be passed, and how.
macro_rules! pass {
    ($([$($generics:tt)*] $argument:ident: $type:ty => |$arguments:ident, $index:ident, $check:ident| $pass:expr;)*) => {
        $(
            impl<'a $($generics)*> sealed::Pass<'a> for $type {
                #[inline]
                fn pass(self, $arguments: &mut Arguments<'a>, $index: usize, $check: &Check<'_>) {
                    let $argument = self;
                    $pass;
                }
            }
        )*
    };
}

pass! {
    [, T: DeviceCopy] value: T => |arguments, index, check| {
        arguments.pass_value::<T>(bytes_of(&value), T::NUMBER, index, check)
    };
    [] value: bool => |arguments, index, check| {
        arguments.pass_value::<bool>(&[u8::from(value)], Some(Number::I8), index, check)
    };
    [] address: DeviceAddress => |arguments, index, check| arguments.pass_pointer(address, index, check);
    [, T: DeviceCopy] view: DeviceSlice<'a, T> => |arguments, index, check| {
        arguments.pass_memory::<T>(view.allocation(), view.start(), false, index, check)
    };
    [, T: DeviceCopy] view: &DeviceSlice<'a, T> => |arguments, index, check| (*view).pass(arguments, index, check);
    [, T: DeviceCopy] view: DeviceSliceMut<'a, T> => |arguments, index, check| {
        arguments.pass_memory::<T>(view.allocation(), view.start(), true, index, check)
    };
    [, T: DeviceCopy] view: &'a mut DeviceSliceMut<'_, T> => |arguments, index, check| {
        view.reborrow().pass(arguments, index, check)
    };
    [, T: DeviceCopy] view: &'a DeviceSliceMut<'_, T> => |arguments, index, check| {
        view.as_slice().pass(arguments, index, check)
    };
    [, M: Memory<'a>] memory: Option<M> => |arguments, index, check| match memory {
        Some(memory) => memory.pass(arguments, index, check),
        None => arguments.pass_pointer(DeviceAddress::NULL, index, check),
    };
}

/// Device memory, which may also be absent.
pub(crate) trait Memory<'a>: sealed::Pass<'a> {}

impl<'a, T: DeviceCopy> Memory<'a> for DeviceSlice<'a, T> {}
impl<'a, T: DeviceCopy> Memory<'a> for DeviceSliceMut<'a, T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use crate::memory::DeviceBuffer;

    fn parameter(
        name: &str,
        offset: u32,
        size: u32,
        kind: ParameterKind,
        access: Option<Access>,
    ) -> Parameter {
        let name = (!name.is_empty()).then(|| name.to_owned());
        Parameter { name, type_name: None, offset, size, kind, access, is_const: false }
    }

    /// A parameter whose type is known.
    fn typed(type_name: &str, offset: u32, size: u32, access: Option<Access>) -> Parameter {
        let kind = if type_name.ends_with('*') { ParameterKind::Pointer } else { ParameterKind::Value };
        Parameter { type_name: Some(type_name.to_owned()), ..parameter("a", offset, size, kind, access) }
    }

    /// `k(unsigned n, double a, const float* x, float* y)`
    fn parameters() -> Vec<Parameter> {
        vec![
            parameter("n", 0, 4, ParameterKind::Value, None),
            parameter("", 8, 8, ParameterKind::Value, None),
            parameter("x", 16, 8, ParameterKind::Pointer, Some(Access::Read)),
            parameter("y", 24, 8, ParameterKind::Pointer, Some(Access::Write)),
        ]
    }

    struct Fixture {
        device: Device,
        parameters: Vec<Parameter>,
        layout: Layout,
        x: DeviceBuffer<f32>,
        y: DeviceBuffer<f32>,
    }

    impl Fixture {
        fn new() -> Self {
            let device = fake::device(0);
            let buffer = || DeviceBuffer::uninit(&device, 4).unwrap();
            let (parameters, layout) = (parameters(), Layout::of(&parameters()));
            Self { parameters, layout, x: buffer(), y: buffer(), device: device.clone() }
        }

        fn check(&self) -> Check<'_> {
            Check { kernel: "k", device: &self.device, parameters: &self.parameters, layout: &self.layout }
        }
    }

    #[test]
    fn arguments_that_fit_are_laid_out_as_the_kernel_reads_them() {
        let Fixture { device, parameters, layout, x, mut y } = Fixture::new();
        let (x_address, y_address) = (x.address(), y.address());
        let check = Check { kernel: "k", device: &device, parameters: &parameters, layout: &layout };
        let mut arguments = Arguments::new(&layout);
        arguments.push(7_u32, &check);
        arguments.push(2.5_f64, &check);
        arguments.push(&x, &check);
        arguments.push(&mut y, &check);
        arguments.finish(&check).unwrap();
        assert_eq!(arguments.room.get().words[..], [7, 2.5_f64.to_bits(), x_address.0, y_address.0]);
        assert_eq!(arguments.used().map(|(_, written)| written).collect::<Vec<_>>(), [false, true]);
        let pointers = arguments.pointers(&layout);
        // SAFETY: the pointers lead to the words, which are still there.
        let (n, x) = unsafe { (*pointers[0].cast::<u32>(), *pointers[2].cast::<u64>()) };
        assert_eq!((n, x), (7, x_address.0));
    }

    #[test]
    fn what_does_not_fit_names_kernel_argument_and_both_sides() {
        let fixture = Fixture::new();
        let error = |first: fn(&mut Arguments<'_>, &Check<'_>)| {
            let mut arguments = Arguments::new(&fixture.layout);
            first(&mut arguments, &fixture.check());
            arguments.finish(&fixture.check()).unwrap_err().to_string()
        };
        assert_eq!(
            error(|arguments, check| arguments.push(1_u32, check)),
            "kernel `k` takes 4 arguments, got 1; its parameters are a value of 4 bytes (`n`), a value of 8 bytes, \
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
            error(|arguments, check| (0..5).for_each(|_| arguments.push(1_u32, check))).contains("got 5")
        );
    }

    #[test]
    fn a_pointer_that_the_kernel_writes_through_needs_an_exclusive_borrow() {
        let Fixture { device, parameters, layout, x, y } = Fixture::new();
        let check = Check { kernel: "k", device: &device, parameters: &parameters, layout: &layout };
        let mut arguments = Arguments::new(&layout);
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
    fn numbers_of_another_kind_are_refused() {
        let parameters = vec![typed("int", 0, 4, None), typed("float*", 8, 8, Some(Access::Read))];
        let layout = Layout::of(&parameters);
        let Fixture { device, parameters, layout, x, .. } = Fixture { parameters, layout, ..Fixture::new() };
        let check = Check { kernel: "k", device: &device, parameters: &parameters, layout: &layout };
        let wide = DeviceBuffer::<i64>::uninit(&device, 4).unwrap();
        let mut arguments = Arguments::new(&layout);
        arguments.push(7_u32, &check);
        arguments.push(&x, &check);
        arguments.finish(&check).unwrap();
        let error = arguments.replace(0, 1.0_f32, &check).unwrap_err().to_string();
        assert_eq!(error, "kernel `k`, argument 0 (`a`): expected `int`, got a value of type `f32`");
        let error = arguments.replace(1, &wide, &check).unwrap_err().to_string();
        assert_eq!(error, "kernel `k`, argument 1 (`a`): expected `float*`, got memory of `i64`");
        // Both are unchanged.
        assert_eq!(arguments.room.get().words[..], [7, x.address().0]);
    }

    #[test]
    fn memory_of_another_device_is_refused() {
        let fixture = Fixture::new();
        let elsewhere = DeviceBuffer::<f32>::uninit(&fake::device(1), 4).unwrap();
        let mut arguments = Arguments::new(&fixture.layout);
        arguments.push(1_u32, &fixture.check());
        arguments.push(1_f64, &fixture.check());
        arguments.push(&elsewhere, &fixture.check());
        arguments.push(DeviceAddress::NULL, &fixture.check());
        let error = *arguments.finish(&fixture.check()).unwrap_err();
        assert!(matches!(error, LaunchError::OtherDevice { .. }), "{error}");
    }

    #[test]
    fn memory_that_is_absent_is_a_null_pointer() {
        let Fixture { device, parameters, layout, x, mut y } = Fixture::new();
        let check = Check { kernel: "k", device: &device, parameters: &parameters, layout: &layout };
        let address = x.address();
        let mut arguments = Arguments::new(&layout);
        arguments.push(1_u32, &check);
        arguments.push(1_f64, &check);
        arguments.push(Some(&x), &check);
        arguments.push(None::<&mut DeviceBuffer<f32>>, &check);
        arguments.finish(&check).unwrap();
        assert_eq!(arguments.room.get().words[2..], [address.0, 0]);
        assert_eq!(arguments.used().count(), 1);
        arguments.replace(3, Some(&mut y), &check).unwrap();
        arguments.replace(2, None::<DeviceSlice<'_, f32>>, &check).unwrap();
        assert_eq!(arguments.used().map(|(_, written)| written).collect::<Vec<_>>(), [true]);
        let error = arguments.replace(0, None::<&DeviceBuffer<f32>>, &check).unwrap_err().to_string();
        assert!(error.contains("expected a value of 4 bytes, got a pointer"), "{error}");
    }

    #[test]
    fn every_kind_of_plain_data_is_passed_by_value() {
        let device = fake::device(0);
        let value = |offset, size| parameter("", offset, size, ParameterKind::Value, None);
        let parameters = [value(0, 1), value(2, 2), value(4, 4), value(8, 12), value(24, 16)];
        let layout = Layout::of(&parameters);
        let check = Check { kernel: "k", device: &device, parameters: &parameters, layout: &layout };
        let mut arguments = Arguments::new(&layout);
        arguments.push(true, &check);
        arguments.push(half::f16::from_f32(1.0), &check);
        arguments.push([half::bf16::from_f32(1.0), half::bf16::from_f32(-2.0)], &check);
        arguments.push([1.0_f32, 2.0, 3.0], &check);
        arguments.push(u128::MAX, &check);
        arguments.finish(&check).unwrap();
        let words = &arguments.room.get().words;
        assert_eq!(words[0], 1 | 0x3c00 << 16 | 0x3f80 << 32 | 0xc000 << 48);
        assert_eq!(words[1..3], [0x4000_0000_3f80_0000, 0x4040_0000]);
        assert_eq!(words[3..], [u64::MAX; 2]);
    }

    #[test]
    fn a_parameter_that_cannot_be_passed_is_refused() {
        let parameters = vec![parameter("image", 0, 8, ParameterKind::Other("Image".into()), None)];
        let layout = Layout::of(&parameters);
        let fixture = Fixture { parameters, layout, ..Fixture::new() };
        let mut arguments = Arguments::new(&fixture.layout);
        arguments.push(1_u64, &fixture.check());
        let error = arguments.finish(&fixture.check()).unwrap_err().to_string();
        assert_eq!(error, "kernel `k`, argument 0 (`image`): parameters of kind `Image` cannot be passed");
    }

    #[test]
    fn a_replaced_argument_takes_the_old_ones_place() {
        let Fixture { device, parameters, layout, x, mut y } = Fixture::new();
        let other = DeviceBuffer::<f32>::uninit(&device, 4).unwrap();
        let check = Check { kernel: "k", device: &device, parameters: &parameters, layout: &layout };
        let mut arguments = Arguments::new(&layout);
        arguments.push(1_u32, &check);
        arguments.push(1_f64, &check);
        arguments.push(&x, &check);
        arguments.push(&mut y, &check);
        arguments.finish(&check).unwrap();
        arguments.replace(0, 9_u32, &check).unwrap();
        arguments.replace(2, &other, &check).unwrap();
        assert_eq!((arguments.room.get().words[0], arguments.room.get().words[2]), (9, other.address().0));
        assert_eq!(arguments.used().count(), 2);
        arguments.replace(2, DeviceAddress::NULL, &check).unwrap();
        assert_eq!((arguments.room.get().words[2], arguments.used().count()), (0, 1));
        assert!(arguments.replace(0, 1_u8, &check).is_err());
        assert!(arguments.replace(4, 1_u8, &check).is_err());
        assert_eq!(arguments.room.get().words[0], 9);
        arguments.finish(&check).unwrap();
    }
}
