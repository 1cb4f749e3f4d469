//! Typed wrappers of kernels: the macro `kernels!` and its expansion.

use std::ffi::c_void;
use std::sync::Arc;

use super::{Check, Given, LaunchConfig, LaunchError};
use crate::error::Result;
use crate::function::Function;
use crate::memory::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, Number};
use crate::module::Module;
use crate::stream::Stream;

/// Makes a type with one method for each kernel, from the kernels' signatures.
///
/// ```
/// hip::kernels! {
///     /// The kernels of `blas.cu`.
///     #[derive(Clone, Debug)]
///     pub struct Blas {
///         /// `y[i] += a * x[i]` for `i < n`.
///         ///
///         /// # Safety
///         /// `x` and `y` have `n` elements at least.
///         pub unsafe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
///
///         /// A C++ kernel has a name of its own.
///         ///
///         /// # Safety
///         /// `values` has an element for each work-item.
///         pub unsafe fn scale(factor: f64, values: &mut [f64]) = "_Z5scaledPd";
///     }
/// }
///
/// # fn use_it(device: &hip::Device, module: &hip::Module) -> hip::Result<()> {
/// use hip::{DeviceBuffer, LaunchConfig};
///
/// let blas = Blas::load(module)?;
/// let stream = device.stream()?;
/// let x = DeviceBuffer::from_slice(&stream, &[1.0_f32; 1000])?;
/// let mut y = DeviceBuffer::zeroed(&stream, 1000)?;
/// // SAFETY: both have 1000 elements.
/// unsafe { blas.saxpy(&stream, LaunchConfig::for_elements(1000, 256), 1000, 2.0, &x, &mut y)? };
/// # Ok(())
/// # }
/// ```
///
/// | in the signature | a call takes | device code |
/// |---|---|---|
/// | `&[T]` | `&DeviceBuffer<T>`, `DeviceSlice<T>` | `const T*` |
/// | `&mut [T]` | `&mut DeviceBuffer<T>`, `DeviceSliceMut<T>` | `T*` |
/// | `Option<&[T]>` | `Some(buffer.as_slice())`, `None` | `const T*`, which may be null |
/// | `Option<&mut [T]>` | `Some(buffer.as_mut_slice())`, `None` | `T*`, which may be null |
/// | [`DeviceAddress`](crate::DeviceAddress) | itself | an unchecked pointer |
/// | any [`DeviceCopy`](crate::DeviceCopy) type | itself | the same type by value |
///
/// `load` finds every kernel in a [`Module`](crate::Module) and checks its signature against the code object:
/// the number of arguments, pointers where the kernel takes pointers, and the size of each value. If the code
/// object records them, it also checks the kinds of numbers, and `&mut` where the kernel writes. A mismatch
/// is a [`LaunchError`](crate::LaunchError) that names kernel and argument. A call takes a stream, a
/// [`LaunchConfig`](crate::LaunchConfig) and the arguments. It checks sizes and devices, orders streams, and
/// allocates nothing. The type has a private field for each kernel, of the same name; its `function()`
/// returns the [`Function`](crate::Function).
///
/// The methods are `unsafe` for the same reason as [`Launch::enqueue`](crate::Launch::enqueue). `load` is as
/// visible as the type.
#[macro_export]
macro_rules! kernels {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[$kernel_meta:meta])*
                $kernel_vis:vis unsafe fn $kernel:ident ( $($parameters:tt)* ) $(= $symbol:literal)? ;
            )*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($kernel: $crate::launch::typed::Kernel,)*
        }

        impl $name {
            /// Finds the kernels in a module and checks them against the signatures.
            ///
            /// # Errors
            /// `hip::Error::KernelNotFound` if the module lacks a kernel; `hip::Error::Launch` names a kernel
            /// and the argument that does not match.
            #[allow(unused_variables, reason = "there may be no kernels")]
            $vis fn load(module: &$crate::Module) -> $crate::Result<Self> {
                ::core::result::Result::Ok(Self {
                    $($kernel: $crate::__kernel!(@expected module, ($kernel $(, $symbol)?), [] $($parameters)*)?,)*
                })
            }

            $($crate::__kernel!(@method { $(#[$kernel_meta])* $kernel_vis $kernel } [] $($parameters)*);)*
        }
    };
}

/// The parts of `kernels!` that process parameters one by one.
#[doc(hidden)]
#[macro_export]
macro_rules! __kernel {
    // The expected parameters of a kernel.
    (@expected $module:ident, $names:tt, [$($done:tt)*] $p:ident : &mut [$t:ty] $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@expected $module, $names,
            [$($done)* $crate::launch::typed::Expected::exclusive::<$t>(::core::stringify!($p)),] $($($rest)*)?)
    };
    (@expected $module:ident, $names:tt, [$($done:tt)*] $p:ident : &[$t:ty] $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@expected $module, $names,
            [$($done)* $crate::launch::typed::Expected::shared::<$t>(::core::stringify!($p)),] $($($rest)*)?)
    };
    (@expected $module:ident, $names:tt, [$($done:tt)*] $p:ident : Option<&mut [$t:ty]> $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@expected $module, $names, [$($done)*] $p: &mut [$t] $(, $($rest)*)?)
    };
    (@expected $module:ident, $names:tt, [$($done:tt)*] $p:ident : Option<&[$t:ty]> $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@expected $module, $names, [$($done)*] $p: &[$t] $(, $($rest)*)?)
    };
    (@expected $module:ident, $names:tt, [$($done:tt)*] $p:ident : $t:ty $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@expected $module, $names,
            [$($done)* $crate::launch::typed::Expected::value::<$t>(::core::stringify!($p)),] $($($rest)*)?)
    };
    (@expected $module:ident, ($kernel:ident), [$($done:tt)*]) => {
        $crate::launch::typed::Kernel::find($module, ::core::stringify!($kernel), &[$($done)*])
    };
    (@expected $module:ident, ($kernel:ident, $symbol:literal), [$($done:tt)*]) => {
        $crate::launch::typed::Kernel::find($module, $symbol, &[$($done)*])
    };

    // The method that enqueues a kernel: its parameters, what each becomes first, and how it is passed.
    (@method $head:tt [$($done:tt)*] $p:ident : &mut [$t:ty] $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@method $head [$($done)* {
            $p: (impl $crate::launch::typed::Exclusive<'a, $t>),
            ($crate::launch::typed::Exclusive::<'a, $t>::view($p)), exclusive
        }] $($($rest)*)?);
    };
    (@method $head:tt [$($done:tt)*] $p:ident : &[$t:ty] $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@method $head [$($done)* {
            $p: (impl $crate::launch::typed::Shared<'a, $t>),
            ($crate::launch::typed::Shared::<'a, $t>::view($p)), shared
        }] $($($rest)*)?);
    };
    (@method $head:tt [$($done:tt)*] $p:ident : Option<&mut [$t:ty]> $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@method $head [$($done)* {
            $p: (::core::option::Option<$crate::DeviceSliceMut<'a, $t>>), ($p), exclusive_or_null
        }] $($($rest)*)?);
    };
    (@method $head:tt [$($done:tt)*] $p:ident : Option<&[$t:ty]> $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@method $head [$($done)* {
            $p: (::core::option::Option<$crate::DeviceSlice<'a, $t>>), ($p), shared_or_null
        }] $($($rest)*)?);
    };
    (@method $head:tt [$($done:tt)*] $p:ident : $t:ty $(, $($rest:tt)*)?) => {
        $crate::__kernel!(@method $head [$($done)* { $p: ($t), ($p), value }] $($($rest)*)?);
    };
    (@method { $(#[$meta:meta])* $vis:vis $kernel:ident }
        [$({ $p:ident : ($($type:tt)*), ($($into:tt)*), $pass:ident })*]) => {
        $(#[$meta])*
        ///
        /// Enqueues the kernel and does not wait for it.
        ///
        /// # Errors
        /// `hip::Error::Launch` if a size or a device does not fit, and nothing is enqueued;
        /// `hip::Error::Fault` if the stream
        /// has faulted, else `hip::Error::Hip`.
        #[allow(
            clippy::too_many_arguments,
            clippy::extra_unused_lifetimes,
            clippy::needless_lifetimes,
            clippy::missing_safety_doc,
            reason = "the kernel's signature decides"
        )]
        $vis unsafe fn $kernel<'a>(
            &self,
            stream: &$crate::Stream,
            config: $crate::LaunchConfig,
            $($p: $($type)*,)*
        ) -> $crate::Result<()> {
            $(let $p = $($into)*;)*
            // SAFETY: the caller vouches for what the kernel does with these arguments, whose types match the
            // checked signature.
            unsafe {
                self.$kernel.call(stream, &config, [$($crate::launch::typed::Passed::$pass(&$p),)*])
            }
        }
    };
}

/// A parameter in a signature.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    name: &'static str,
    given: Given,
}

/// Types that are passed unchanged: plain data and addresses.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a kernel",
    note = "`&[T]`, `&mut [T]`, `Option` of these, `hip::DeviceAddress` and types that are `hip::DeviceCopy` can"
)]
pub trait Value: Copy {
    #[doc(hidden)]
    fn expected(name: &'static str) -> Expected;
}

/// Arguments for a parameter `&[T]`: everything that converts to a [`DeviceSlice`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel as `&[{T}]`",
    label = "not device memory that holds `{T}`"
)]
pub trait Shared<'a, T> {
    #[doc(hidden)]
    fn view(self) -> DeviceSlice<'a, T>;
}

#[diagnostic::do_not_recommend]
impl<'a, T: DeviceCopy, M: Into<DeviceSlice<'a, T>>> Shared<'a, T> for M {
    fn view(self) -> DeviceSlice<'a, T> {
        self.into()
    }
}

/// Arguments for a parameter `&mut [T]`: everything that converts to a [`DeviceSliceMut`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel as `&mut [{T}]`",
    label = "not device memory that holds `{T}` and is borrowed exclusively"
)]
pub trait Exclusive<'a, T> {
    #[doc(hidden)]
    fn view(self) -> DeviceSliceMut<'a, T>;
}

#[diagnostic::do_not_recommend]
impl<'a, T: DeviceCopy, M: Into<DeviceSliceMut<'a, T>>> Exclusive<'a, T> for M {
    fn view(self) -> DeviceSliceMut<'a, T> {
        self.into()
    }
}

impl<T: DeviceCopy> Value for T {
    fn expected(name: &'static str) -> Expected {
        Expected { name, given: Given::value::<T>(T::NUMBER) }
    }
}

impl Value for bool {
    fn expected(name: &'static str) -> Expected {
        Expected { name, given: Given::value::<bool>(Some(Number::I8)) }
    }
}

impl Value for DeviceAddress {
    fn expected(name: &'static str) -> Expected {
        Expected { name, given: Given::Address }
    }
}

impl Expected {
    /// `T`
    #[must_use]
    pub fn value<T: Value>(name: &'static str) -> Self {
        T::expected(name)
    }

    /// `&[T]`
    #[must_use]
    pub fn shared<T: DeviceCopy>(name: &'static str) -> Self {
        Self { name, given: Given::memory::<T>(false) }
    }

    /// `&mut [T]`
    #[must_use]
    pub fn exclusive<T: DeviceCopy>(name: &'static str) -> Self {
        Self { name, given: Given::memory::<T>(true) }
    }
}

/// One argument of a call.
#[derive(Debug)]
pub struct Passed<'c> {
    pointer: *const c_void,
    memory: Option<(&'c Arc<Allocation>, bool)>,
}

impl<'c> Passed<'c> {
    /// A value.
    pub fn value<T: Value>(value: &'c T) -> Self {
        Self { pointer: std::ptr::from_ref(value).cast(), memory: None }
    }

    /// Memory that the kernel reads.
    pub fn shared<T: DeviceCopy>(view: &'c DeviceSlice<'_, T>) -> Self {
        Self { pointer: view.place().cast(), memory: Some((view.allocation(), false)) }
    }

    /// Memory that the kernel may write.
    pub fn exclusive<T: DeviceCopy>(view: &'c DeviceSliceMut<'_, T>) -> Self {
        Self { pointer: view.place().cast(), memory: Some((view.allocation(), true)) }
    }

    /// Memory that the kernel reads, or a null pointer.
    pub fn shared_or_null<T: DeviceCopy>(view: &'c Option<DeviceSlice<'_, T>>) -> Self {
        view.as_ref().map_or_else(Self::null, Self::shared)
    }

    /// Memory that the kernel may write, or a null pointer.
    pub fn exclusive_or_null<T: DeviceCopy>(view: &'c Option<DeviceSliceMut<'_, T>>) -> Self {
        view.as_ref().map_or_else(Self::null, Self::exclusive)
    }

    fn null() -> Self {
        Self { pointer: (&raw const NULL).cast(), memory: None }
    }
}

/// The argument for absent memory.
static NULL: u64 = 0;

/// A kernel whose parameters match a signature.
#[derive(Clone, Debug)]
pub struct Kernel(Function);

impl Kernel {
    /// Finds a kernel and compares its parameters.
    ///
    /// # Errors
    /// As [`Module::function`], and [`Error::Launch`](crate::Error::Launch) for the first parameter that does
    /// not match.
    pub fn find(module: &Module, name: &str, expected: &[Expected]) -> Result<Self> {
        let function = module.function(name)?;
        compare(&function.check(), expected)?;
        Ok(Self(function))
    }

    /// The kernel, for its attributes, its occupancy and prepared launches.
    pub fn function(&self) -> &Function {
        &self.0
    }

    /// Checks sizes and devices, orders the stream after earlier work on the memory, and enqueues the kernel.
    ///
    /// # Errors
    /// As [`Launch::enqueue`](super::Launch::enqueue).
    ///
    /// # Safety
    /// The arguments match the signature passed to [`find`](Self::find), and all conditions of
    /// [`Launch::enqueue`](super::Launch::enqueue) hold.
    pub unsafe fn call<const N: usize>(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: [Passed<'_>; N],
    ) -> Result<()> {
        let function = &self.0;
        function.check_stream(stream)?;
        function.check_config(config)?;
        for (index, argument) in arguments.iter().enumerate() {
            if let Some((allocation, _)) = argument.memory {
                function.check().memory(allocation, index)?;
            }
        }
        let mut pointers = arguments.each_ref().map(|argument| argument.pointer.cast_mut());
        let used = arguments.iter().filter_map(|argument| argument.memory);
        // SAFETY: there is a pointer to a value of the right size for each parameter; the caller vouches for
        // the rest.
        unsafe { function.enqueue(stream, config, used, &mut pointers) }
    }
}

/// An error for the first parameter that does not match the signature.
fn compare(check: &Check<'_>, expected: &[Expected]) -> Result<(), Box<LaunchError>> {
    check.count(expected.len())?;
    // If the compiler recorded no names, errors use those of the signature.
    let mut parameters = check.parameters.to_vec();
    for (parameter, Expected { name, .. }) in parameters.iter_mut().zip(expected) {
        parameter.name.get_or_insert_with(|| (*name).to_owned());
    }
    let check = Check { parameters: &parameters, ..*check };
    for (index, Expected { given, .. }) in expected.iter().enumerate() {
        check.given(index, given)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use code_object::Access;

    use super::super::args::{Layout, Parameter, ParameterKind};
    use super::*;
    use crate::fake;

    fn parameter(name: Option<&str>, size: u32, kind: ParameterKind, access: Option<Access>) -> Parameter {
        let name = name.map(str::to_owned);
        Parameter { name, type_name: None, offset: 0, size, kind, access, is_const: false }
    }

    #[test]
    fn a_signature_is_compared_parameter_by_parameter() {
        let device = fake::device(0);
        let parameters = [
            parameter(Some("n"), 4, ParameterKind::Value, None),
            parameter(None, 8, ParameterKind::Pointer, Some(Access::Read)),
            parameter(Some("y"), 8, ParameterKind::Pointer, Some(Access::ReadWrite)),
        ];
        let layout = Layout::of(&parameters);
        let check = Check { kernel: "k", device: &device, parameters: &parameters, layout: &layout };
        let compare = |expected: [Expected; 3]| compare(&check, &expected).map_err(|error| error.to_string());
        let (n, x, y) =
            (Expected::value::<u32>("n"), Expected::shared::<f32>("x"), Expected::exclusive::<f32>("y"));
        compare([n, x, y]).unwrap();
        compare([Expected::value::<[u16; 2]>("n"), Expected::value::<DeviceAddress>("x"), y]).unwrap();
        for (expected, message) in [
            (
                [Expected::value::<f64>("n"), x, y],
                "argument 0 (`n`): expected a value of 4 bytes, got 8 bytes (`f64`)",
            ),
            ([x, x, y], "argument 0 (`n`): expected a value of 4 bytes, got a pointer to device memory"),
            (
                [n, Expected::value::<u64>("x"), y],
                "argument 1 (`x`): expected a pointer, got a value of type `u64`",
            ),
            (
                [n, x, x],
                "argument 2 (`y`): the kernel writes through this pointer (read_write) and got a shared borrow of memory of `f32`: \
                 pass it as `&mut`, or declare it `const` if the kernel only reads",
            ),
        ] {
            assert_eq!(compare(expected).unwrap_err(), format!("kernel `k`, {message}"));
        }
        let error = super::compare(&check, &[n, x]).unwrap_err();
        assert!(matches!(*error, LaunchError::ArgumentCount { expected: 3, got: 2, .. }), "{error}");
    }
}
