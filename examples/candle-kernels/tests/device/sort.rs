//! `sort`: the order of rows.

use half::{bf16, f16};

use crate::common::*;

#[test]
fn orders_of_rows() {
    fn of<T: Element>(gpu: &Gpu, values: impl Fn(usize) -> f32, columns: &[usize]) {
        for &columns in columns {
            let rows = 4;
            // The kernels' sort is not stable: no two numbers of a row are equal.
            let all: Vec<T> = (0..rows)
                .flat_map(|row| shuffled(columns, 50 + row))
                .map(|value| T::from_f64(f64::from(values(value))))
                .collect();
            let input = to_tensor(all, (rows as usize, columns));
            let padded = columns.next_power_of_two();
            for (name, ascending) in [("asort_asc", true), ("asort_desc", false)] {
                let (source, mut out) = (gpu.tensor::<T>(&input), gpu.zeroed::<u32>(rows as usize * columns));
                let name = format!("{name}_{}", T::name());
                launch!(gpu, SORT, &name, rows, padded.min(1024) as u32, lds padded as u32 * 4;
                    &source, &mut out, columns as i32, padded as i32);
                let expected = input.arg_sort_last_dim(ascending).unwrap();
                compare(&format!("{name} of {columns}"), &gpu.download(&out), &expected, EXACT);
            }
        }
    }
    let gpu = gpu();
    let columns = [1, 2, 5, 32, 33, 64, 100, 1000, 1024, 1500];
    of::<f32>(&gpu, |value| value as f32 * 0.37 - 90.0, &columns);
    of::<f64>(&gpu, |value| value as f32 * 0.37 - 90.0, &columns);
    of::<u32>(&gpu, |value| value as f32 * 3.0, &columns);
    of::<i64>(&gpu, |value| value as f32 * 3.0 - 500.0, &columns);
    // Halves have 2048 whole numbers of either sign, bfloat16 256.
    of::<f16>(&gpu, |value| value as f32 - 750.0, &columns);
    of::<bf16>(&gpu, |value| value as f32 - 50.0, &columns[..7]);
    of::<u8>(&gpu, |value| value as f32, &columns[..7]);
}
