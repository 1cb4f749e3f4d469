//! The seeds of the fuzz target `replay`: `FERROCM_BLESS=1` writes them when the format changes.

use std::path::Path;

use super::*;

fn bytes(bytes: &[u8]) -> Bytes {
    bytes.into()
}

/// A run without anything.
fn nothing() -> Contents {
    Contents::of("gfx1100".to_owned(), 1)
}

/// A run with one of everything that a file can have.
fn everything() -> Contents {
    let buffer = |buffer, offset| PlaceOf::Buffer { buffer, offset };
    let binding = |slot, offset| PlaceOf::Binding { slot, offset };
    let kernel = |code, name: &str| KernelOf { code, name: name.to_owned() };
    let list = vec![
        Command::Dispatch {
            kernel: kernel(0, "scale"),
            workgroups: [4, 1, 1],
            workgroup: [256, 1, 1],
            lds: 64,
            args: vec![
                ArgOf::At { place: buffer(0, 16) },
                ArgOf::At { place: binding(1, 0) },
                ArgOf::Value { bytes: bytes(&2.0_f32.to_le_bytes()) },
            ],
        },
        Command::Barrier {},
        Command::Indirect {
            kernel: kernel(1, "add"),
            workgroup: [64, 1, 1],
            lds: 0,
            counts: buffer(1, 0),
            args: Vec::new(),
        },
        Command::Copy { to: buffer(1, 1), from: binding(0, 3), len: 8 },
        Command::Fill { to: binding(0, 0), pattern: bytes(&[1, 2]), len: 16 },
        Command::Update { to: buffer(0, 2), bytes: bytes(b"some data") },
        Command::TimeStamp { to: buffer(1, 24) },
    ];
    Contents {
        target: "gfx90a:sramecc+:xnack-".to_owned(),
        members: 2,
        library: vec![bytes(b"\x7fELF")],
        codes: vec![bytes(b"\x7fELF1"), bytes(b"\x7fELF2")],
        buffers: vec![
            BufferOf { is_host: 0, member: 0, size: 64 },
            BufferOf { is_host: 1, member: 1, size: 32 },
        ],
        commands: vec![CommandsOf { member: 0, list }, CommandsOf { member: 1, list: Vec::new() }],
        events: vec![
            Event::Write { buffer: 0, offset: 60, bytes: bytes(&[1, 2, 3, 4]) },
            Event::Read {
                buffer: 1,
                offset: 8,
                path: "/weights".to_owned(),
                at: 4096,
                len: 24,
                hash: blake3::hash(&[0; 24]).into(),
            },
            Event::Execute { commands: 0, bindings: vec![(0, 0), (1, 32)] },
            Event::Execute { commands: 1, bindings: Vec::new() },
        ],
        last: vec![(0, bytes(&[5; 64])), (1, bytes(&[6; 32]))],
    }
}

#[test]
#[cfg_attr(miri, ignore = "files of the checkout")]
fn the_seeds_of_the_fuzz_target_are_files_of_this_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/replay");
    let bless = variables::BLESS.text().unwrap().is_some();
    for (name, contents) in [("nothing", nothing()), ("everything", everything())] {
        let file = contents.to_bytes();
        assert!(Contents::parse(&file).as_ref() == Ok(&contents), "{name}");
        // A published crate has no fuzz targets.
        if !folder.is_dir() {
            continue;
        }
        let path = folder.join(name);
        if bless {
            std::fs::write(&path, &file).unwrap();
        }
        assert!(std::fs::read(&path).is_ok_and(|kept| kept == file), "{name}: FERROCM_BLESS=1 writes it");
    }
}
