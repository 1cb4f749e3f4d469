//! Shared by the device tests: a handle on the device under test, operands of all forms, and numbers to try.

use std::cell::Cell;
use std::ffi::c_void;

use hip::{Device, DeviceBuffer, DeviceCopy, Stream};
use rocblas_sys::{
    Table, rocblas_diagonal, rocblas_fill, rocblas_handle, rocblas_operation, rocblas_pointer_mode,
    rocblas_side, rocblas_status,
};

use crate::model::{Element, Matrix, Vector, Z, z};

pub(crate) const SUCCESS: rocblas_status = rocblas_status::rocblas_status_success;
pub(crate) const N: rocblas_operation = rocblas_operation::rocblas_operation_none;
pub(crate) const T: rocblas_operation = rocblas_operation::rocblas_operation_transpose;
pub(crate) const C: rocblas_operation = rocblas_operation::rocblas_operation_conjugate_transpose;
pub(crate) const UPPER: rocblas_fill = rocblas_fill::rocblas_fill_upper;
pub(crate) const LOWER: rocblas_fill = rocblas_fill::rocblas_fill_lower;
pub(crate) const LEFT: rocblas_side = rocblas_side::rocblas_side_left;
pub(crate) const RIGHT: rocblas_side = rocblas_side::rocblas_side_right;
pub(crate) const UNIT: rocblas_diagonal = rocblas_diagonal::rocblas_diagonal_unit;
pub(crate) const NON_UNIT: rocblas_diagonal = rocblas_diagonal::rocblas_diagonal_non_unit;

/// The value where nothing may be written.
pub(crate) const BETWEEN: Z = z(77.0);
/// The value where nothing may be read.
pub(crate) const NAN: Z = z(f64::NAN);

/// A handle on the device under test: `FERROCM_DEVICE`, or a virtual gfx1100.
pub(crate) struct Blas {
    pub(crate) table: &'static Table,
    pub(crate) handle: rocblas_handle,
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    /// The number of calls so far of functions that exist in both widths.
    calls: Cell<u32>,
}

/// How a batch is given to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Batched,
    Strided,
}

impl Form {
    pub(crate) fn batch(self) -> usize {
        if self == Self::Plain { 1 } else { 2 }
    }
}

/// How the case with this number calls its function: each form with numbers on the host and on the device.
pub(crate) fn form(case: usize) -> (Form, bool) {
    let form = match case % 4 {
        0 | 2 => Form::Plain,
        1 => Form::Batched,
        _ => Form::Strided,
    };
    (form, case / 4 % 2 == 1)
}

impl Blas {
    pub(crate) fn new() -> Self {
        let uri = std::env::var("FERROCM_DEVICE").unwrap_or_else(|_| "vgpu:gfx1100".to_owned());
        let device = Device::open(&uri).unwrap();
        let stream = device.stream().unwrap();
        device.make_current().unwrap();
        let table = blas_on_kernels::table(device.table()).unwrap();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointers are valid, and the stream outlives the handle.
        unsafe {
            assert_eq!((table.rocblas_create_handle)(&mut handle), SUCCESS);
            assert_eq!((table.rocblas_set_stream)(handle, stream.as_raw()), SUCCESS);
        }
        Self { table, handle, device, stream, calls: Cell::new(0) }
    }

    pub(crate) fn on_device(&self, on_device: bool) {
        let mode = if on_device {
            rocblas_pointer_mode::rocblas_pointer_mode_device
        } else {
            rocblas_pointer_mode::rocblas_pointer_mode_host
        };
        // SAFETY: the handle is live.
        assert_eq!(unsafe { (self.table.rocblas_set_pointer_mode)(self.handle, mode) }, SUCCESS);
    }

    /// Whether the next call uses the function with 64-bit sizes: varies, with a period that differs from
    /// that of the forms.
    pub(crate) fn next_is_wide(&self) -> bool {
        self.calls.set(self.calls.get() + 1);
        self.was_wide()
    }

    /// Whether the last call was.
    pub(crate) fn was_wide(&self) -> bool {
        self.calls.get().wrapping_mul(0x9e37_79b9) >> 31 == 1
    }

    pub(crate) fn upload<V: DeviceCopy>(&self, values: &[V]) -> DeviceBuffer<V> {
        DeviceBuffer::from_slice(&self.stream, values).unwrap()
    }

    pub(crate) fn download<V: DeviceCopy>(&self, buffer: &DeviceBuffer<V>) -> Vec<V> {
        buffer.to_vec(&self.stream).unwrap()
    }

    /// A number where the pointer mode requires it.
    pub(crate) fn scalar<E: Element>(&self, value: Z, on_device: bool) -> Scalar<E> {
        let value = E::of(value);
        Scalar { device: on_device.then(|| self.upload(&[value])), host: Box::new(value) }
    }

    /// The same run of memory for each product of a batch.
    pub(crate) fn operand<E: Element>(&self, form: Form, runs: &[Vec<E>]) -> Operand<E> {
        let length = runs[0].len();
        // Matrices do not touch.
        let stride = length + 3;
        let mut all = Vec::new();
        for run in runs {
            all.extend_from_slice(run);
            all.resize(all.len() + 3, E::of(BETWEEN));
        }
        let memory = self.upload(&all);
        let pointers: Vec<u64> = (0..runs.len())
            .map(|index| memory.address().0 + (index * stride * size_of::<E>()) as u64)
            .collect();
        let pointers = (form == Form::Batched).then(|| self.upload(&pointers));
        Operand { memory, pointers, stride: stride as i64, length }
    }

    pub(crate) fn matrices<E: Element>(&self, form: Form, matrices: &[Matrix<E>]) -> Operand<E> {
        self.operand(form, &matrices.iter().map(|matrix| matrix.data.clone()).collect::<Vec<_>>())
    }

    pub(crate) fn vectors<E: Element>(&self, form: Form, vectors: &[Vector<E>]) -> Operand<E> {
        self.operand(form, &vectors.iter().map(|vector| vector.data.clone()).collect::<Vec<_>>())
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is live.
        let status = unsafe { (self.table.rocblas_destroy_handle)(self.handle) };
        if !std::thread::panicking() {
            assert_eq!(status, SUCCESS);
        }
    }
}

pub(crate) struct Scalar<E: DeviceCopy> {
    host: Box<E>,
    device: Option<DeviceBuffer<E>>,
}

impl<E: Element> Scalar<E> {
    pub(crate) fn pointer(&self) -> *mut c_void {
        match &self.device {
            Some(buffer) => pointer(buffer),
            None => std::ptr::from_ref(&*self.host).cast_mut().cast(),
        }
    }
}

pub(crate) fn pointer<V: DeviceCopy>(buffer: &DeviceBuffer<V>) -> *mut c_void {
    let address: usize = buffer.address().0.try_into().unwrap();
    std::ptr::with_exposed_provenance_mut(address)
}

/// A vector or matrix of each product of a batch, on the device.
pub(crate) struct Operand<E: DeviceCopy> {
    memory: DeviceBuffer<E>,
    pointers: Option<DeviceBuffer<u64>>,
    pub(crate) stride: i64,
    length: usize,
}

impl<E: Element> Operand<E> {
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointers.as_ref().map_or_else(|| pointer(&self.memory), pointer)
    }

    /// The current content; checks that nothing after it has changed.
    pub(crate) fn read(&self, blas: &Blas) -> Vec<Vec<E>> {
        let all = blas.download(&self.memory);
        all.chunks(self.stride as usize)
            .map(|chunk| {
                assert!(
                    chunk[self.length..].iter().all(|x| *x == E::of(BETWEEN)),
                    "something after it was written"
                );
                chunk[..self.length].to_vec()
            })
            .collect()
    }
}

/// Calls the function of the case's form: the plain, the batched or the strided-batched one. If both widths
/// of sizes are named, the second has 64 bits, and calls alternate.
///
/// Arguments: `v` is passed unchanged, `s` is a size, `p` the pointer to a number, `o` an operand with the
/// distance between its elements or columns, `e` the same with a type in between, `a` an operand without
/// either, and `b` the batch.
macro_rules! call {
    ($blas:expr, $form:expr, [$plain:ident $plain_64:ident $batched:ident $batched_64:ident $strided:ident $strided_64:ident]; $($items:tt)*) => {
        if $blas.next_is_wide() {
            $crate::common::call!($blas, $form, [$plain_64 $batched_64 $strided_64]; $($items)*)
        } else {
            $crate::common::call!($blas, $form, [$plain $batched $strided]; $($items)*)
        }
    };
    ($blas:expr, $form:expr, [$batched:ident $batched_64:ident $strided:ident $strided_64:ident]; $($items:tt)*) => {
        if $blas.next_is_wide() {
            $crate::common::call!($blas, $form, [$batched_64 $strided_64]; $($items)*)
        } else {
            $crate::common::call!($blas, $form, [$batched $strided]; $($items)*)
        }
    };
    ($blas:expr, $form:expr, [$plain:ident $batched:ident $strided:ident]; $($items:tt)*) => {{
        let (table, handle) = ($blas.table, $blas.handle);
        // SAFETY: the operands have as many elements as the sizes say.
        unsafe {
            match $form {
                $crate::common::Form::Plain => $crate::common::call!(@plain table.$plain, [handle,] $($items)*),
                $crate::common::Form::Batched => $crate::common::call!(@batched table.$batched, [handle,] $($items)*),
                $crate::common::Form::Strided => $crate::common::call!(@strided table.$strided, [handle,] $($items)*),
            }
        }
    }};
    // For functions that only have batched forms.
    ($blas:expr, $form:expr, [$batched:ident $strided:ident]; $($items:tt)*) => {{
        let (table, handle) = ($blas.table, $blas.handle);
        // SAFETY: the operands have as many elements as the sizes say.
        unsafe {
            match $form {
                $crate::common::Form::Plain => panic!("there is no plain form"),
                $crate::common::Form::Batched => $crate::common::call!(@batched table.$batched, [handle,] $($items)*),
                $crate::common::Form::Strided => $crate::common::call!(@strided table.$strided, [handle,] $($items)*),
            }
        }
    }};
    (@$form:ident $f:expr, [$($done:tt)*]) => { ($f)($($done)*) };
    (@$form:ident $f:expr, [$($done:tt)*] v $value:expr, $($rest:tt)*) => {
        $crate::common::call!(@$form $f, [$($done)* $value,] $($rest)*)
    };
    (@$form:ident $f:expr, [$($done:tt)*] s $value:expr, $($rest:tt)*) => {
        $crate::common::call!(@$form $f, [$($done)* ($value) as _,] $($rest)*)
    };
    (@$form:ident $f:expr, [$($done:tt)*] p $value:expr, $($rest:tt)*) => {
        $crate::common::call!(@$form $f, [$($done)* $value.pointer().cast(),] $($rest)*)
    };
    (@strided $f:expr, [$($done:tt)*] o $value:expr, $step:expr, $($rest:tt)*) => {
        $crate::common::call!(@strided $f, [$($done)* $value.pointer().cast(), ($step) as _, $value.stride,] $($rest)*)
    };
    (@$form:ident $f:expr, [$($done:tt)*] o $value:expr, $step:expr, $($rest:tt)*) => {
        $crate::common::call!(@$form $f, [$($done)* $value.pointer().cast(), ($step) as _,] $($rest)*)
    };
    (@strided $f:expr, [$($done:tt)*] e $value:expr, $kind:expr, $step:expr, $($rest:tt)*) => {
        $crate::common::call!(@strided $f, [$($done)* $value.pointer().cast(), $kind, ($step) as _, $value.stride,] $($rest)*)
    };
    (@$form:ident $f:expr, [$($done:tt)*] e $value:expr, $kind:expr, $step:expr, $($rest:tt)*) => {
        $crate::common::call!(@$form $f, [$($done)* $value.pointer().cast(), $kind, ($step) as _,] $($rest)*)
    };
    (@strided $f:expr, [$($done:tt)*] a $value:expr, $($rest:tt)*) => {
        $crate::common::call!(@strided $f, [$($done)* $value.pointer().cast(), $value.stride,] $($rest)*)
    };
    (@$form:ident $f:expr, [$($done:tt)*] a $value:expr, $($rest:tt)*) => {
        $crate::common::call!(@$form $f, [$($done)* $value.pointer().cast(),] $($rest)*)
    };
    (@plain $f:expr, [$($done:tt)*] b $value:expr, $($rest:tt)*) => {
        $crate::common::call!(@plain $f, [$($done)*] $($rest)*)
    };
    (@$form:ident $f:expr, [$($done:tt)*] b $value:expr, $($rest:tt)*) => {
        $crate::common::call!(@$form $f, [$($done)* ($value) as _,] $($rest)*)
    };
}
pub(crate) use call;

/// Pseudo-random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One of `0..count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() >> 16) as usize % count
    }

    pub(crate) fn one_of<V: Copy>(&mut self, values: &[V]) -> V {
        values[self.below(values.len())]
    }

    /// Both parts in `-1..1`, multiples of 2⁻⁷, which all floats here represent.
    pub(crate) fn z(&mut self) -> Z {
        let mut part = || (self.below(255) as f64 - 127.0) / 128.0;
        Z { re: part(), im: part() }
    }

    /// After the special numbers, arbitrary ones.
    pub(crate) fn factor(&mut self) -> Z {
        self.one_of(&[z(0.0), z(1.0), z(-1.0), Z { re: 0.5, im: -0.25 }, Z { re: -1.5, im: 0.75 }])
    }

    pub(crate) fn matrices<E: Element>(
        &mut self,
        count: usize,
        rows: usize,
        columns: usize,
    ) -> Vec<Matrix<E>> {
        let leading = rows.max(1) + self.one_of(&[0, 1, 5]);
        (0..count)
            .map(|_| {
                let mut matrix = Matrix::new(rows, columns, leading, BETWEEN);
                for j in 0..columns {
                    for i in 0..rows {
                        matrix.set(i, j, self.z());
                    }
                }
                matrix
            })
            .collect()
    }

    pub(crate) fn vectors<E: Element>(&mut self, count: usize, n: usize, step: i64) -> Vec<Vector<E>> {
        (0..count)
            .map(|_| {
                let mut vector = Vector::new(n, step, BETWEEN);
                for i in 0..n {
                    vector.set(i, self.z());
                }
                vector
            })
            .collect()
    }
}

/// The matrix as an operation uses it.
pub(crate) fn op<E: Element>(matrix: &Matrix<E>, operation: rocblas_operation, i: usize, j: usize) -> Z {
    match operation {
        N => matrix.at(i, j),
        T => matrix.at(j, i),
        _ => matrix.at(j, i).conj(),
    }
}
