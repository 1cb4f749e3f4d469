//! Where logs come from: files, compressed or not, standard input, and folders of logs.

mod bzip2;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Counts the bytes read from a log on disk.
struct Counting<'c, R> {
    inner: R,
    count: &'c AtomicU64,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The text of a log. gzip, zstd, xz and bzip2 are recognised by their first bytes, whatever the file name,
/// and decompressed while reading. Each may contain several streams, one after the other. `read` counts bytes
/// before decompression.
///
/// # Errors
/// Errors of reading the first bytes; the returned reader reports bad data later.
pub(super) fn decompressed<'c>(
    log: impl Read + Send + 'c,
    read: &'c AtomicU64,
) -> io::Result<Box<dyn Read + Send + 'c>> {
    let mut log = Counting { inner: log, count: read };
    let mut magic = Vec::with_capacity(6);
    log.by_ref().take(6).read_to_end(&mut magic)?;
    let kind = Compression::of(&magic);
    let whole = io::Cursor::new(magic).chain(log);
    Ok(match kind {
        None => Box::new(whole),
        Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        Some(Compression::Xz) => Box::new(lzma_rust2::XzReader::new(whole, true)),
        Some(Compression::Zstd) => Box::new(Frames::new(whole)),
        Some(Compression::Bzip2) => Box::new(bzip2::Decoder::new(whole)),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    fn of(magic: &[u8]) -> Option<Compression> {
        match magic {
            [0x1f, 0x8b, 8, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Some(Compression::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Compression::Bzip2),
            _ => None,
        }
    }
}

/// The frames of a zstd file, one after the other.
struct Frames<R: Read> {
    source: Option<io::BufReader<R>>,
    frame: Option<Box<ruzstd::decoding::StreamingDecoder<io::BufReader<R>, ruzstd::decoding::FrameDecoder>>>,
}

impl<R: Read> Frames<R> {
    fn new(source: R) -> Frames<R> {
        Frames { source: Some(io::BufReader::with_capacity(1 << 16, source)), frame: None }
    }

    /// Starts the next frame; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        let Some(mut source) = self.source.take() else { return Ok(false) };
        if io::BufRead::fill_buf(&mut source)?.is_empty() {
            return Ok(false);
        }
        let decoder = ruzstd::decoding::StreamingDecoder::new(source);
        self.frame = Some(Box::new(
            decoder.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {error}")))?,
        ));
        Ok(true)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.frame.is_none() && !self.next_frame()? {
                return Ok(0);
            }
            if let Some(frame) = &mut self.frame {
                let read = frame.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
            }
            self.source = self.frame.take().map(|frame| frame.into_inner());
        }
    }
}

/// Extensions of logs; compressed logs have one more extension.
const ENDINGS: [&str; 5] = ["log", "out", "txt", "err", "stdout"];
const COMPRESSED: [&str; 4] = ["gz", "zst", "xz", "bz2"];
/// How deep folders are searched.
const DEPTH: usize = 6;

/// The newest log, in a folder and those below it, whose name fits a model.
///
/// Logs are files that end with `.log`, `.out`, `.txt`, `.err` or `.stdout`, or with one of these and `.gz`,
/// `.zst`, `.xz` or `.bz2`. A name fits a model if it contains the model's letters and digits in order,
/// whatever separates words: `llama3_8b` fits `train-Llama-3-8B.2025.log`. The names of the folders below the
/// given one count as well. Symbolic links are not followed.
///
/// # Errors
/// If a folder cannot be read, or no log fits; then the error has the number of logs.
pub fn newest_log(folder: &Path, model: Option<&str>) -> io::Result<PathBuf> {
    let mut logs = Vec::new();
    collect(folder, DEPTH, &mut logs)?;
    let fits = |path: &Path| {
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
        model.is_none_or(|model| letters(&name).contains(&letters(model)))
    };
    let newest = logs.iter().filter(|(_, path)| fits(path)).max();
    newest.map(|(_, path)| path.clone()).ok_or_else(|| {
        let what = model.map_or_else(String::new, |model| format!(" of a model `{model}`"));
        let text =
            format!("{}: no log{what} among {} files that are named like logs", folder.display(), logs.len());
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

fn letters(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn collect(folder: &Path, depth: usize, logs: &mut Vec<(SystemTime, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, logs)?;
        } else if kind.is_file() && is_log(&path) {
            logs.push((entry.metadata()?.modified()?, path));
        }
    }
    Ok(())
}

fn is_log(path: &Path) -> bool {
    let ending = |path: &Path, endings: &[&str]| {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        extension.is_some_and(|extension| endings.contains(&extension.as_str()))
    };
    if ending(path, &COMPRESSED) {
        ending(Path::new(path.file_stem().unwrap_or_default()), &ENDINGS)
    } else {
        ending(path, &ENDINGS)
    }
}

/// Opens a file.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_compressions_are_known_by_their_first_bytes() {
        let text = b"iteration 1\n".repeat(3);
        // Other programs compressed each of the four, in two parts, so that there are two streams.
        for (name, hex) in [("gzip", GZIP), ("xz", XZ), ("bzip2", BZIP2), ("zstd", ZSTD)] {
            let bytes: Vec<u8> = (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"))
                .collect();
            for streams in 1..=2 {
                let read = AtomicU64::new(0);
                let input = bytes.repeat(streams);
                let mut output = Vec::new();
                decompressed(&input[..], &read)
                    .expect("opens")
                    .read_to_end(&mut output)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(output, text.repeat(streams), "{name}");
                assert_eq!(read.into_inner(), input.len() as u64, "{name}");
            }
            // Cut and damaged data is an error, not a shorter log.
            let mut output = Vec::new();
            let cut = &bytes[..bytes.len() - 6];
            decompressed(cut, &AtomicU64::new(0)).expect("opens").read_to_end(&mut output).expect_err(name);
        }
        let mut output = Vec::new();
        decompressed(&b"BZ"[..], &AtomicU64::new(0)).expect("opens").read_to_end(&mut output).expect("plain");
        assert_eq!(output, b"BZ");
    }

    proptest::proptest! {
        #[test]
        fn damaged_data_is_an_error_or_text(which in 0..4_usize, changes in proptest::collection::vec((0..200_usize, 0..=255_u8), 1..4)) {
            let mut bytes = bytes_of([GZIP, XZ, BZIP2, ZSTD][which]);
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            if let Ok(text) = decompressed(&bytes[..], &AtomicU64::new(0)) {
                let _ = io::copy(&mut text.take(1 << 20), &mut io::sink());
            }
        }
    }

    fn bytes_of(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
    }

    const GZIP: &str = "1f8b0800000000000203cb2c492d4a2cc9cccf5330e4cac4c10600deb7d7cf24000000";
    const XZ: &str = "\
        fd377a585a000004e6d6b4460200210116000000742fe5a3e0002300135d00349d08cee04076d228942fd384f05673d68000000003e3fa\
        a4e786ca5400012f249769990e1fb6f37d010000000004595a";
    const BZIP2: &str = "\
        425a68393141592653591cce919f00000a598000104000200022219400200022bfd52036a10030cbad2d30e222291f1772453850901cce\
        919f";
    const ZSTD: &str = "28b52ffd045895000060697465726174696f6e20310a0100074b124ae50fc4";

    #[test]
    fn the_newest_log_of_a_model_is_found() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path();
        fs::create_dir_all(root.join("Llama-3-8B")).expect("folder");
        for (age, name) in [
            (50, "train_llama3_8b.log"),
            (40, "train-Llama-3-8B.out.gz"),
            (30, "Llama-3-8B/rank0.log"),
            (20, "mistral.log"),
            (10, "llama3_8b.json"),
            (5, "notes.md"),
        ] {
            let path = root.join(name);
            fs::write(&path, "").expect("write");
            let time = SystemTime::now() - std::time::Duration::from_secs(age);
            File::options().write(true).open(&path).and_then(|file| file.set_modified(time)).expect("time");
        }
        let found =
            |model| newest_log(root, model).map(|path| path.strip_prefix(root).expect("below").to_owned());
        assert_eq!(found(Some("llama3_8b")).expect("a log"), Path::new("Llama-3-8B/rank0.log"));
        assert_eq!(found(Some("train llama3")).expect("a log"), Path::new("train-Llama-3-8B.out.gz"));
        assert_eq!(found(None).expect("a log"), Path::new("mistral.log"));
        let error = found(Some("qwen")).expect_err("none").to_string();
        assert!(
            error.ends_with("no log of a model `qwen` among 4 files that are named like logs"),
            "{error}"
        );
    }
}
