//! A column of a table with a row for each step. Most columns of a log have the same value throughout, and
//! then only that value is kept.

/// The columns of a table change together; each is told the number of rows.
#[derive(Debug, Clone)]
pub(super) struct Column<T> {
    usual: T,
    /// Empty while each row has the usual value.
    values: Vec<T>,
}

impl<T: Copy + PartialEq> Column<T> {
    /// A column of a table without rows, or with only this value.
    pub(super) const fn new(usual: T) -> Column<T> {
        Column { usual, values: Vec::new() }
    }

    /// The common value of all rows, if it is known that they have one.
    pub(super) fn only(&self) -> Option<T> {
        self.values.is_empty().then_some(self.usual)
    }

    pub(super) fn get(&self, row: usize) -> T {
        self.values.get(row).copied().unwrap_or(self.usual)
    }

    pub(super) fn set(&mut self, row: usize, value: T, rows: usize) {
        if self.needs_values(value, rows) {
            self.values[row] = value;
        }
    }

    pub(super) fn insert(&mut self, row: usize, value: T, rows: usize) {
        if rows == 0 {
            *self = Column::new(value);
        } else if self.needs_values(value, rows) {
            self.values.insert(row, value);
        }
    }

    pub(super) fn into_values(self, rows: usize) -> Vec<T> {
        if self.values.is_empty() { vec![self.usual; rows] } else { self.values }
    }

    pub(super) fn retain(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.values.retain(|_| keep.next().is_some_and(|keep| *keep));
    }

    /// Whether the values must be kept one by one once this one is added; if so, expands them.
    fn needs_values(&mut self, value: T, rows: usize) -> bool {
        if self.values.is_empty() {
            if value == self.usual {
                return false;
            }
            self.values = vec![self.usual; rows];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_column_is_a_list(changes in proptest::collection::vec((0..5_u8, 0..100_usize, 0..3_u8), 0..60)) {
            let mut list: Vec<u8> = Vec::new();
            let mut column = Column::new(0);
            for (what, at, value) in changes {
                let rows = list.len();
                match what {
                    0..=2 => {
                        list.insert(at % (rows + 1), value);
                        column.insert(at % (rows + 1), value, rows);
                    }
                    3 if rows > 0 => {
                        list[at % rows] = value;
                        column.set(at % rows, value, rows);
                    }
                    _ => {
                        let keep: Vec<bool> = (0..rows).map(|row| !(row + at).is_multiple_of(3)).collect();
                        let mut kept = keep.iter();
                        list.retain(|_| *kept.next().expect("as many"));
                        column.retain(&keep);
                    }
                }
                prop_assert_eq!(&(0..list.len()).map(|row| column.get(row)).collect::<Vec<_>>(), &list);
                if let Some(only) = column.only() {
                    prop_assert!(list.iter().all(|value| *value == only));
                }
            }
        }
    }
}
