//! One vector of many.

use crate::engine::Pooling;

/// Vectors of a text's tokens, as they come.
#[derive(Debug)]
pub(super) struct Pooled {
    pooling: Pooling,
    sum: Vec<f64>,
    rows: usize,
}

impl Pooled {
    pub(super) fn new(pooling: Pooling, width: usize) -> Self {
        Self { pooling, sum: vec![0.0; width], rows: 0 }
    }

    /// More rows.
    pub(super) fn add(&mut self, rows: &[f32]) {
        for row in rows.chunks_exact(self.sum.len()) {
            let is_first = self.rows == 0;
            self.rows += 1;
            let pairs = self.sum.iter_mut().zip(row);
            match self.pooling {
                Pooling::Mean | Pooling::Model => pairs.for_each(|(sum, x)| *sum += f64::from(*x)),
                Pooling::First if !is_first => {}
                Pooling::First | Pooling::Last => pairs.for_each(|(sum, x)| *sum = f64::from(*x)),
            }
        }
    }

    pub(super) fn finish(self) -> Vec<f64> {
        let rows = match self.pooling {
            Pooling::Mean | Pooling::Model => self.rows.max(1) as f64,
            Pooling::First | Pooling::Last => 1.0,
        };
        self.sum.into_iter().map(|sum| sum / rows).collect()
    }
}

/// The vector with length 1; zeros stay zeros. None if not all numbers are finite.
pub(super) fn normalised(vector: Vec<f64>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let factor = if length > 0.0 { length.recip() } else { 0.0 };
    length.is_finite().then(|| vector.into_iter().map(|x| (x * factor) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_one() {
        let pooled = |pooling| {
            let mut pooled = Pooled::new(pooling, 2);
            pooled.add(&[1.0, 2.0, 3.0, 4.0]);
            pooled.add(&[5.0, 0.0]);
            pooled.finish()
        };
        assert_eq!(pooled(Pooling::Mean), [3.0, 2.0]);
        assert_eq!(pooled(Pooling::First), [1.0, 2.0]);
        assert_eq!(pooled(Pooling::Last), [5.0, 0.0]);
        assert_eq!(normalised(vec![3.0, 4.0]), Some(vec![0.6, 0.8]));
        assert_eq!(normalised(vec![0.0]), Some(vec![0.0]));
        assert_eq!(normalised(vec![1.0, f64::NAN]), None);
        assert_eq!(normalised(vec![f64::INFINITY, 1.0]), None);
    }
}
