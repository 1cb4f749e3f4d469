//! Replay files with any contents.

#[path = "any_replay/mod.rs"]
mod any_replay;

use proptest::prelude::*;

proptest! {
    #[test]
    fn any_contents_are_refused_or_kept(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        any_replay::run(&bytes);
        any_replay::run_contents(&bytes);
    }

    /// Small numbers are more often counts and variants.
    #[test]
    fn contents_of_small_numbers_are_refused_or_kept(bytes in prop::collection::vec(0u8..4, 0..300)) {
        any_replay::run_contents(&bytes);
    }
}

/// The seeds of the fuzz target; none in a published crate.
fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/replay");
    let files = std::fs::read_dir(folder).into_iter().flatten();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

proptest! {
    #[test]
    fn changed_files_are_refused_or_kept(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        for file in seeds() {
            any_replay::run(&file);
            let mut contents = file[any_replay::HEADER..].to_vec();
            for (place, byte) in &changes {
                let place = place.index(contents.len());
                contents[place] = *byte;
            }
            if is_cut {
                contents.truncate(end.index(contents.len()));
            }
            any_replay::run_contents(&contents);
        }
    }
}

#[test]
fn an_empty_run_is_a_file() {
    // A text without characters, one GPU, and six empty lists.
    let mut contents = [0u32, 1].map(u32::to_le_bytes).concat();
    contents.resize(8 + 6 * 4, 0);
    let mut file = b"ferrocm replay\r\n\x02\0\0\0".to_vec();
    file.resize(52, 0);
    file.extend_from_slice(&contents);
    let replay = hal::Replay::parse(&any_replay::sealed(&file)).unwrap();
    assert_eq!((replay.target(), replay.submissions(), replay.compared()), ("", 0, 0));
    any_replay::run_contents(&contents);
}

#[test]
fn what_is_wrong_is_said() {
    let refused = |bytes: &[u8]| hal::Replay::parse(bytes).unwrap_err().to_string();
    assert_eq!(refused(b"PK"), "the replay file: it does not begin as a replay file does");
    let mut file = b"ferrocm replay\r\n".to_vec();
    assert_eq!(refused(&file), "the replay file: it has 16 bytes, and its header 52");
    file.extend_from_slice(&9u32.to_le_bytes());
    file.resize(60, 0);
    assert_eq!(refused(&file), "the replay file: it has version 9 of the format; this program reads 2");
    file[16] = 2;
    assert_eq!(refused(&file), "the replay file: it is damaged: its hash is not that of its contents");
    file[52..56].copy_from_slice(&100u32.to_le_bytes());
    assert_eq!(
        refused(&any_replay::sealed(&file)),
        "the replay file: at byte 4 of its contents: 100 bytes should follow, 4 do"
    );
}
