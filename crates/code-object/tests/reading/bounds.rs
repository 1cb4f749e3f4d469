//! No header of an accepted file leads outside: neither a table, nor the end that libraries compute if they
//! lack the length.

use code_object::bundle::{Extent, extent};
use code_object::{CodeObject, Error};

use crate::support::{Synthetic, counted_as_amd_does};

const PROGRAM: usize = 56;
const SECTION: usize = 64;

/// A change to the synthetic file, and what the error says about it.
struct Case {
    what: &'static str,
    at: fn(&Synthetic) -> usize,
    bytes: &'static [u8],
    error: &'static str,
}

fn program(file: &Synthetic, index: usize, field: usize) -> usize {
    file.places.program_headers + index * PROGRAM + field
}

fn section(file: &Synthetic, index: usize, field: usize) -> usize {
    file.places.section_headers + index * SECTION + field
}

const HUGE: &[u8] = &(1u64 << 40).to_le_bytes();
const ALL: &[u8] = &u64::MAX.to_le_bytes();

/// Sections of the synthetic file, by their index.
const DYNSYM: usize = 4;
const RELA: usize = 6;
const BSS: usize = 8;
/// The segments that are not loaded.
const NOTE: usize = 3;
const STACK: usize = 4;

const CASES: &[Case] = &[
    Case { what: "a stack's size", at: |f| program(f, STACK, 32), bytes: HUGE, error: "segment 4" },
    Case { what: "a stack's place", at: |f| program(f, STACK, 8), bytes: HUGE, error: "segment 4" },
    Case { what: "a sum that wraps", at: |f| program(f, STACK, 8), bytes: ALL, error: "segment 4" },
    Case { what: "a loaded size", at: |f| program(f, 0, 32), bytes: HUGE, error: "segment 0" },
    Case { what: "an unused size", at: |f| program(f, NOTE, 32), bytes: HUGE, error: "segment 3" },
    Case {
        what: "a note's name",
        at: |f| f.places.note - 20,
        bytes: &[255, 255, 255, 255],
        error: "segment 3",
    },
    Case { what: "a note's text", at: |f| f.places.note - 16, bytes: &[255, 255, 0, 0], error: "segment 3" },
    Case { what: "no segments", at: |_| 56, bytes: &[0, 0], error: "program header table" },
    Case { what: "segments elsewhere", at: |_| 56, bytes: &[255, 255], error: "program header table" },
    Case { what: "many segments", at: |_| 56, bytes: &[255, 0], error: "program header table" },
    Case { what: "small segments", at: |_| 54, bytes: &[40, 0], error: "entries of 40 bytes" },
    Case { what: "no sections", at: |_| 60, bytes: &[0, 0], error: "section header table" },
    Case { what: "sections elsewhere", at: |_| 60, bytes: &[0, 255], error: "section header table" },
    Case { what: "many sections", at: |_| 60, bytes: &[255, 0], error: "section header table" },
    Case { what: "small sections", at: |_| 58, bytes: &[40, 0], error: "entries of 40 bytes" },
    Case { what: "names of sections", at: |_| 62, bytes: &[9, 0], error: "section 9 is no string table" },
    Case { what: "names that are code", at: |_| 62, bytes: &[2, 0], error: "section 2 is no string table" },
    Case { what: "a name", at: |f| section(f, 1, 0), bytes: &[1, 0, 0, 0], error: "section 1: its name" },
    Case { what: "a section's place", at: |f| section(f, 2, 24), bytes: HUGE, error: "section 2" },
    Case { what: "a section's size", at: |f| section(f, 2, 32), bytes: ALL, error: "section 2" },
    Case { what: "the null section", at: |f| section(f, 0, 32), bytes: HUGE, error: "section 0" },
    Case { what: "where nothing is", at: |f| section(f, BSS, 24), bytes: HUGE, error: "section 8" },
    Case {
        what: "symbols' names",
        at: |f| section(f, DYNSYM, 40),
        bytes: &[99, 0, 0, 0],
        error: "section 99",
    },
    Case { what: "symbols' size", at: |f| section(f, DYNSYM, 56), bytes: &[16], error: "24 bytes" },
    Case { what: "half a symbol", at: |f| section(f, DYNSYM, 32), bytes: &[50, 0], error: "24 bytes" },
    Case { what: "a symbol's name", at: |f| f.places.dynsym + 24, bytes: &[255, 255], error: "its name" },
    Case {
        what: "a symbol's section",
        at: |f| f.places.dynsym + 30,
        bytes: &[9, 0],
        error: "does not exist",
    },
    Case { what: "a far section", at: |f| f.places.dynsym + 30, bytes: &[255, 255], error: "elsewhere" },
    Case { what: "a relocation's size", at: |f| section(f, RELA, 56), bytes: &[16], error: "24 bytes" },
    Case { what: "relocated section", at: |f| section(f, RELA, 44), bytes: &[9], error: "section 9" },
    Case { what: "a relocation's symbol", at: |f| f.places.rela + 12, bytes: &[5], error: "symbol 5" },
];

#[test]
fn no_header_leads_out_of_the_file() {
    let mut file = Synthetic::default();
    let whole = file.build();
    for Case { what, at, bytes, error } in CASES {
        let mut changed = whole.clone();
        let at = at(&file);
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        let found = CodeObject::parse(&changed).expect_err(what);
        assert!(matches!(found, Error::Truncated { .. } | Error::MalformedElf { .. }), "{what}: {found}");
        assert!(found.to_string().contains(error), "{what}: {found}");
    }
}

#[test]
fn strings_end_in_their_table() {
    let mut file = Synthetic::default();
    let mut whole = file.build();
    // The string table of symbols ends where the relocations begin, except for their alignment.
    let strings = section(&file, DYNSYM + 1, 0);
    let word = |at: usize| u64::from_le_bytes(*whole[at..].first_chunk().unwrap()) as usize;
    let end = word(strings + 24) + word(strings + 32);
    whole[end - 1] = b'x';
    let found = CodeObject::parse(&whole).unwrap_err();
    assert!(found.to_string().contains("does not end in a NUL"), "{found}");
}

#[test]
fn loaded_segments_ascend() {
    let mut file = Synthetic::default();
    let mut whole = file.build();
    let (first, second) = (file.places.program_headers, file.places.program_headers + PROGRAM);
    let (head, tail) = whole.split_at_mut(second);
    head[first..].swap_with_slice(&mut tail[..PROGRAM]);
    let found = CodeObject::parse(&whole).unwrap_err();
    assert!(found.to_string().contains("comes after"), "{found}");
}

#[test]
fn every_way_to_count_ends_in_the_file() {
    let whole = Synthetic::default().build();
    assert_eq!(extent(&whole).unwrap(), Extent::Bytes(whole.len()));
    assert_eq!(counted_as_amd_does(&whole), Some(whole.len()));
}
