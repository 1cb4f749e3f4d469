//! Any bytes as a replay file: they are refused, or written again as they were.

/// Bytes before the contents: what each file begins with, the version, and the hash.
pub(crate) const HEADER: usize = 52;

/// The bytes with the hash that they should have.
pub(crate) fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = bytes.to_vec();
    if let Some((header, contents)) = sealed.split_at_mut_checked(HEADER) {
        header[20..].copy_from_slice(blake3::hash(contents).as_bytes());
    }
    sealed
}

/// Reads the bytes.
pub(crate) fn run(bytes: &[u8]) {
    match hal::Replay::parse(bytes) {
        Ok(replay) => assert!(replay.to_bytes() == bytes),
        Err(error) => assert!(error.to_string().starts_with("the replay file: ")),
    }
}

/// Reads the bytes as contents behind a correct header.
#[allow(dead_code, reason = "not every user has only contents")]
pub(crate) fn run_contents(bytes: &[u8]) {
    let mut file = b"ferrocm replay\r\n\x02\0\0\0".to_vec();
    file.resize(HEADER, 0);
    file.extend_from_slice(bytes);
    run(&sealed(&file));
}
