//! The test descriptions of `rocblas-test`: a file of fixed-size records. At each start, the program reads
//! the whole file once for each of its two hundred groups of tests. With a file of a sample of the records,
//! it starts in a second.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::gtest;

/// Bytes of a record, and of the header: a magic word, a record that shows the layout, and another word.
const RECORD: usize = 576;
const HEAD: usize = FIRST_WORD.len() + RECORD + SECOND_WORD.len();
const FIRST_WORD: &[u8; 8] = b"rocBLAS\0";
const SECOND_WORD: &[u8; 8] = b"ROCblas\0";
/// Fields of a record: the function and the name of the description, both padded with zeros; the tier; five
/// types.
const NAMES: Range<usize> = 0..128;
const TIER: Range<usize> = 128..192;
const TYPES: Range<usize> = 480..500;
/// The numbers of rocBLAS's types.
const KNOWN_TYPES: Range<u32> = 150..256;

/// The selection of descriptions from a suite's file.
#[derive(Debug)]
pub(super) struct Data {
    /// The file, in the tree of the suite.
    pub(super) file: &'static str,
    /// The tier.
    pub(super) tier: &'static str,
    /// The maximum number for each function, description and combination of types.
    pub(super) most: usize,
}

/// Why no sample was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} has not the layout of rocBLAS 5.2: {what}", path.display())]
    Layout { path: PathBuf, what: &'static str },
}

impl Data {
    /// Writes the sample of the file in `tree` to `to`. Returns how many records the tier has.
    pub(super) fn sample(&self, tree: &Path, to: &Path) -> Result<usize, Error> {
        let from = tree.join(self.file);
        let error = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { path, source }
        };
        let layout = |what| Error::Layout { path: from.clone(), what };
        let mut file = BufReader::with_capacity(1 << 20, File::open(&from).map_err(error(&from))?);
        let size = file.get_ref().metadata().map_err(error(&from))?.len();
        let mut head = [0; HEAD];
        file.read_exact(&mut head).map_err(error(&from))?;
        if !head.starts_with(FIRST_WORD) || !head.ends_with(SECOND_WORD) {
            return Err(layout("its head is another"));
        }
        let records = (size - HEAD as u64) as i64 / RECORD as i64;
        if size != HEAD as u64 + records as u64 * RECORD as u64 {
            return Err(layout("it ends within a record"));
        }
        let mut record = [0; RECORD];
        let mut groups = HashMap::new();
        let mut of_tier = Vec::new();
        for number in 0..records {
            file.read_exact(&mut record).map_err(error(&from))?;
            if text(&record[TIER]) != self.tier.as_bytes() {
                continue;
            }
            let types = record[TYPES]
                .chunks_exact(4)
                .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
            if !types.into_iter().all(|kind| KNOWN_TYPES.contains(&kind)) {
                return Err(layout("types stand elsewhere"));
            }
            let next = groups.len();
            let group = *groups.entry([&record[NAMES], &record[TYPES]].concat()).or_insert(next);
            of_tier.push((number, group));
        }
        let count = of_tier.len();
        let mut taken = gtest::sample(of_tier, self.most, |(_, group)| *group);
        taken.sort_unstable();
        let mut sample = BufWriter::new(File::create(to).map_err(error(to))?);
        sample.write_all(&head).map_err(error(to))?;
        file.seek(SeekFrom::Start(HEAD as u64)).map_err(error(&from))?;
        let mut at = 0;
        for (number, _) in taken {
            // Unlike `seek`, this keeps the read buffer.
            file.seek_relative((number - at) * RECORD as i64).map_err(error(&from))?;
            file.read_exact(&mut record).map_err(error(&from))?;
            at = number + 1;
            sample.write_all(&record).map_err(error(to))?;
        }
        sample.flush().map_err(error(to))?;
        Ok(count)
    }
}

/// A field's text, without trailing zeros.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: Data = Data { file: "all.data", tier: "quick", most: 2 };

    fn record(function: &str, tier: &str, kind: u32, number: u8) -> [u8; RECORD] {
        let mut record = [0; RECORD];
        record[..function.len()].copy_from_slice(function.as_bytes());
        record[TIER.start..][..tier.len()].copy_from_slice(tier.as_bytes());
        record[TYPES].chunks_exact_mut(4).for_each(|at| at.copy_from_slice(&kind.to_le_bytes()));
        record[RECORD - 1] = number;
        record
    }

    fn file(records: &[[u8; RECORD]]) -> Vec<u8> {
        [&FIRST_WORD[..], &[7; RECORD], SECOND_WORD, &records.concat()].concat()
    }

    #[test]
    fn a_sample_has_some_of_each_function_and_type_in_their_order() {
        let folder = tempfile::tempdir().expect("folder");
        let mut all = Vec::new();
        for number in 0..6 {
            all.push(record("gemm", "quick", 151, number));
            all.push(record("gemm", "nightly", 151, number));
            all.push(record("gemm", "quickly", 151, number));
        }
        all.push(record("gemm", "quick", 152, 6));
        all.push(record("dot", "quick", 151, 7));
        std::fs::write(folder.path().join(DATA.file), file(&all)).expect("written");
        let to = folder.path().join("sample");
        assert_eq!(DATA.sample(folder.path(), &to).expect("sampled"), 8);
        let wanted = [
            record("gemm", "quick", 151, 0),
            record("gemm", "quick", 151, 3),
            record("gemm", "quick", 152, 6),
            record("dot", "quick", 151, 7),
        ];
        assert_eq!(std::fs::read(to).expect("there"), file(&wanted));
    }

    #[test]
    fn another_layout_is_an_error() {
        let folder = tempfile::tempdir().expect("folder");
        let said = |bytes: &[u8]| {
            std::fs::write(folder.path().join(DATA.file), bytes).expect("written");
            DATA.sample(folder.path(), &folder.path().join("sample")).expect_err("is wrong").to_string()
        };
        let good = file(&[record("gemm", "quick", 151, 0)]);
        assert!(said(&good[..good.len() - 1]).ends_with("it ends within a record"));
        assert!(said(&[&[0; 8], &good[8..]].concat()).ends_with("its head is another"));
        assert!(said(&file(&[record("gemm", "quick", 1, 0)])).ends_with("types stand elsewhere"));
        assert!(said(&good[..9]).contains("all.data: "));
    }
}
