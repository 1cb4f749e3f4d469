//! Parts of a model on several GPUs.
//!
//! | matrix | each rank has | its product |
//! |---|---|---|
//! | queries, keys, values, gate, up | some rows ([`Shard::rows`]): whole heads | its part of the result |
//! | attention's output, down | some columns ([`Shard::columns`]) | a summand of the result: [`all_reduce`](crate::KernelBackend::all_reduce) |
//! | vocabulary | some rows | its part of the logits: [`all_gather`](crate::KernelBackend::all_gather) |

use std::ops::Range;

use crate::DType;
use crate::error::{Error, Result, described};
use crate::tensor::bytes_of;

/// Which part of a model a backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of the part.
    pub rank: usize,
    /// Parts.
    pub size: usize,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { rank: 0, size: 1 };

    /// This rank's part of so many heads, rows or columns.
    ///
    /// # Errors
    /// [`Error::Value`] unless all parts are equal.
    pub fn part(&self, count: usize) -> Result<Range<usize>> {
        if self.size == 0 || self.rank >= self.size || !count.is_multiple_of(self.size) {
            return Err(Error::Value {
                operation: "Shard",
                parameter: "count",
                got: format!("{count} for rank {} of {}", self.rank, self.size),
                problem: "which cannot be shared equally",
            });
        }
        let each = count / self.size;
        Ok(self.rank * each..(self.rank + 1) * each)
    }

    /// This rank's part of a tensor's first dimension: its shape and its bytes.
    ///
    /// # Errors
    /// As [`part`](Self::part), and if the bytes are not those of the tensor.
    pub fn rows<'a>(&self, dtype: DType, shape: &[usize], bytes: &'a [u8]) -> Result<(Vec<usize>, &'a [u8])> {
        let all = checked(dtype, shape, bytes)?;
        let range = self.part(shape[0])?;
        let each = all.checked_div(shape[0]).unwrap_or(0);
        let mut part = shape.to_vec();
        part[0] = range.len();
        Ok((part, &bytes[range.start * each..range.end * each]))
    }

    /// This rank's part of a tensor's last dimension: its shape and its bytes.
    ///
    /// # Errors
    /// As [`rows`](Self::rows), and if the part is not of whole blocks.
    pub fn columns(&self, dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<(Vec<usize>, Vec<u8>)> {
        checked(dtype, shape, bytes)?;
        let columns = shape[shape.len() - 1];
        let range = self.part(columns)?;
        let in_bytes = |count| dtype.bytes(count);
        let (Some(row), Some(start), Some(end)) =
            (in_bytes(columns), in_bytes(range.start), in_bytes(range.end))
        else {
            return Err(Error::Value {
                operation: "Shard",
                parameter: "columns",
                got: described(dtype, shape),
                problem: "whose rows have too few blocks to be shared",
            });
        };
        let mut part = shape.to_vec();
        part[shape.len() - 1] = range.len();
        let rows = bytes.chunks_exact(row.max(1));
        Ok((part, rows.flat_map(|row| &row[start..end]).copied().collect()))
    }
}

/// The bytes of a tensor of at least one dimension, which must be those given.
fn checked(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<usize> {
    let expected = bytes_of(dtype, shape)?;
    if shape.is_empty() || bytes.len() != expected {
        return Err(Error::Value {
            operation: "Shard",
            parameter: "bytes",
            got: format!("{} for {}", bytes.len(), described(dtype, shape)),
            problem: "which are not those of the tensor",
        });
    }
    Ok(expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuantType;

    #[test]
    fn parts_together_are_the_whole() {
        let bytes: Vec<u8> = (0..48).collect();
        let parts = |rank| Shard { rank, size: 2 };
        let rows: Vec<_> = (0..2).map(|r| parts(r).rows(DType::F16, &[4, 6], &bytes).unwrap()).collect();
        assert_eq!(rows[0], (vec![2, 6], &bytes[..24]));
        assert_eq!(rows[1], (vec![2, 6], &bytes[24..]));
        let (shape, right) = parts(1).columns(DType::F16, &[4, 6], &bytes).unwrap();
        assert_eq!(shape, [4, 3]);
        assert_eq!(right[..6], bytes[6..12]);
        assert_eq!(right[6..12], bytes[18..24]);
        assert_eq!(Shard::WHOLE.columns(DType::F16, &[4, 6], &bytes).unwrap().1, bytes);
    }

    #[test]
    fn blocks_are_not_cut() {
        let q4 = DType::Quant(QuantType::Q4_0);
        let bytes = vec![7; 2 * 2 * 18];
        let (shape, part) = Shard { rank: 1, size: 2 }.columns(q4, &[2, 64], &bytes).unwrap();
        assert_eq!((shape, part.len()), (vec![2, 32], 2 * 18));
        assert!(Shard { rank: 1, size: 4 }.columns(q4, &[2, 64], &bytes).is_err());
        assert!(Shard { rank: 0, size: 3 }.rows(q4, &[2, 64], &bytes).is_err());
        assert!(Shard { rank: 2, size: 2 }.rows(q4, &[2, 64], &bytes).is_err());
        assert!(Shard::WHOLE.rows(q4, &[2, 64], &bytes[1..]).is_err());
        assert!(Shard::WHOLE.rows(q4, &[], &[]).is_err());
    }
}
