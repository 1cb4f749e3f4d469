//! What code for NVIDIA GPUs says of its kernels' parameters: cubins in `.nv.info`, PTX in its declarations.
//! For drivers that do not tell.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, SectionHeader as _};

/// NVIDIA's machine in ELF headers.
const EM_CUDA: u16 = 190;
/// Entries of `.nv.info` about a parameter (`EIATTR_KPARAM_INFO`), and about one of a kernel whose parameters
/// have more than 4 KiB (`EIATTR_KPARAM_INFO_V2`).
const KPARAM_INFO: u8 = 0x17;
const KPARAM_INFO_V2: u8 = 0x45;
/// The entry with the size of all parameters (`EIATTR_CBANK_PARAM_SIZE`).
const PARAM_SIZE: u8 = 0x19;
/// Formats of entries: a number of 16 bits (`EIFMT_HVAL`), and one with a size (`EIFMT_SVAL`).
const HALF: u8 = 3;
const SIZED: u8 = 4;

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Where it lies in the argument segment, bytes.
    pub offset: u32,
    /// Its size, bytes.
    pub size: u32,
    /// It is declared as a pointer. Compilers before CUDA 12.8 declare none as one, and cubins do not tell.
    pub is_pointer: bool,
}

/// The parameters of a kernel of a cubin or a PTX text, in order. None if the image is neither, has no such
/// kernel, or is not understood: nothing is guessed.
///
/// ```
/// let ptx = b".version 8.0\n.target sm_80\n.visible .entry f(.param .u32 n, .param .u64 .ptr .align 1 p)\n{ ret; }";
/// let found = code_object::cuda::parameters(ptx, "f").unwrap();
/// assert_eq!((found[1].offset, found[1].size, found[1].is_pointer), (8, 8, true));
/// assert!(code_object::cuda::parameters(ptx, "g").is_none());
/// ```
#[must_use]
pub fn parameters(image: &[u8], kernel: &str) -> Option<Vec<Parameter>> {
    if image.starts_with(b"\x7fELF") {
        return of_cubin(image, kernel);
    }
    let text = std::str::from_utf8(image.strip_suffix(&[0]).unwrap_or(image)).ok()?;
    of_ptx(&without_comments(text), kernel)
}

fn of_cubin(image: &[u8], kernel: &str) -> Option<Vec<Parameter>> {
    let header = FileHeader64::<LittleEndian>::parse(image).ok()?;
    if header.e_machine.get(LittleEndian) != EM_CUDA {
        return None;
    }
    let sections = header.sections(LittleEndian, image).ok()?;
    sections.section_by_name(LittleEndian, format!(".text.{kernel}").as_bytes())?;
    let (_, section) = sections.section_by_name(LittleEndian, format!(".nv.info.{kernel}").as_bytes())?;
    let mut rest = section.data(LittleEndian, image).ok()?;
    let mut found: Vec<(u16, Parameter)> = Vec::new();
    let mut total = 0;
    while let [format, attribute, low, high, after @ ..] = rest {
        let value = u16::from_le_bytes([*low, *high]);
        // Only sized entries have more than these four bytes.
        let (payload, next) = match *format {
            SIZED => after.split_at_checked(value.into())?,
            1..=3 => (&[][..], after),
            _ => return None,
        };
        match (*format, *attribute) {
            (SIZED, KPARAM_INFO | KPARAM_INFO_V2) => {
                let [_, _, _, _, o0, o1, a0, a1, size @ ..] = payload else { return None };
                let size = u32::from_le_bytes(size.try_into().ok()?);
                let size = if *attribute == KPARAM_INFO { size >> 18 } else { size };
                let offset = u16::from_le_bytes([*a0, *a1]).into();
                found.push((u16::from_le_bytes([*o0, *o1]), Parameter { offset, size, is_pointer: false }));
            }
            (HALF, PARAM_SIZE) => total = u32::from(value),
            _ => {}
        }
        rest = next;
    }
    found.sort_by_key(|(ordinal, _)| *ordinal);
    // What is missing is described in a way that is not known here: the last one ends where all do.
    let in_order = found.iter().enumerate().all(|(at, (ordinal, _))| at == usize::from(*ordinal));
    let end = found.iter().map(|(_, parameter)| parameter.offset.saturating_add(parameter.size)).max();
    let is_whole = rest.is_empty() && in_order && end.unwrap_or(0) == total;
    is_whole.then(|| found.into_iter().map(|(_, parameter)| parameter).collect())
}

/// The text with a blank for each comment.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        out.push_str(&rest[..start]);
        out.push(' ');
        let comment = &rest[start..];
        let end = if comment.starts_with("//") {
            comment.find('\n')
        } else {
            comment[2..].find("*/").map(|end| end + 4)
        };
        rest = end.map_or("", |end| &comment[end..]);
    }
    out + rest
}

fn of_ptx(text: &str, kernel: &str) -> Option<Vec<Parameter>> {
    let after = text.split(".entry").skip(1).find_map(|entry| {
        let rest = entry.trim_start().strip_prefix(kernel)?;
        // A longer name begins the same way.
        let rest = rest.trim_start();
        rest.starts_with(['(', '{', '.', ';']).then_some(rest)
    })?;
    let Some(list) = after.strip_prefix('(') else { return Some(Vec::new()) };
    let (list, _) = list.split_once(')')?;
    let mut end = 0_u32;
    let declared = list.split(',').map(str::trim).filter(|declaration| !declaration.is_empty());
    declared
        .map(|declaration| {
            let (size, align, is_pointer) = declared_as(declaration)?;
            let offset = end.checked_next_multiple_of(align)?;
            end = offset.checked_add(size)?;
            Some(Parameter { offset, size, is_pointer })
        })
        .collect()
}

/// Size and alignment of `.param .align 8 .b8 name[16]`, and whether it is a pointer.
fn declared_as(declaration: &str) -> Option<(u32, u32, bool)> {
    let mut words = declaration.split_whitespace().peekable();
    if words.next()? != ".param" {
        return None;
    }
    let (mut element, mut align, mut is_pointer) = (None, None, false);
    let mut name = String::new();
    while let Some(word) = words.next() {
        match word {
            // Behind `.ptr` it is the alignment of what the pointer leads to.
            ".align" => {
                let number = words.next()?.parse::<u32>().ok()?;
                if !is_pointer {
                    align = Some(number);
                }
            }
            ".ptr" => is_pointer = true,
            ".global" | ".shared" | ".const" | ".local" => {}
            _ if word.starts_with('.') => {
                let bits = word.trim_start_matches(|c: char| c == '.' || c.is_ascii_lowercase());
                element = Some(bits.parse::<u32>().ok().filter(|bits| bits % 8 == 0 && *bits > 0)? / 8);
            }
            _ => name.push_str(word),
        }
    }
    let element = element?;
    let count = match name.split_once('[') {
        Some((_, rest)) => rest.strip_suffix(']')?.trim().parse::<u32>().ok()?,
        None => 1,
    };
    let align = align.unwrap_or(element).max(element);
    (align.is_power_of_two()).then_some((element.checked_mul(count)?, align, is_pointer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(image: &[u8], kernel: &str) -> Option<Vec<(u32, u32, bool)>> {
        let parameters = parameters(image, kernel)?;
        Some(parameters.iter().map(|p| (p.offset, p.size, p.is_pointer)).collect())
    }

    const PTX: &str = "//\n// .entry not(.param .u8 a)\n.version 8.7\n.target sm_90\n.address_size 64\n\n\
        .visible .entry _Z1fPfi(\n\t.param .u64 .ptr .global .align 16 _Z1fPfi_param_0, // .param .u8 c\n\
        \t.param .u32 _Z1fPfi_param_1\n)\n.maxntid 256\n{ ret; }\n\
        .entry f(.param .u8 a, .param .align 8 .b8 pair[ 16 ], /* , .param */ .param .u16 h, .param .f64 d)\n{ ret; }\n\
        .weak .entry none()\n{ ret; }\n.visible .entry bare\n{ ret; }\n.visible .entry odd(.reg .u32 x)\n{ ret; }\n";

    #[test]
    fn declarations_of_ptx_are_laid_out() {
        let of = |kernel: &str| found(PTX.as_bytes(), kernel);
        assert_eq!(of("_Z1fPfi").unwrap(), [(0, 8, true), (8, 4, false)]);
        assert_eq!(of("f").unwrap(), [(0, 1, false), (8, 16, false), (24, 2, false), (32, 8, false)]);
        assert_eq!((of("none"), of("bare")), (Some(vec![]), Some(vec![])));
        for other in ["not", "odd", "_Z1f", "g", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    /// A cubin of a kernel with these bytes in its `.nv.info`.
    fn cubin(kernel: &str, info: &[u8]) -> Vec<u8> {
        let names = format!("\0.text.{kernel}\0.nv.info.{kernel}\0.shstrtab\0");
        let at = |name: &str| names.find(&format!("{name}\0")).unwrap() as u32;
        let mut bytes = vec![0; 64];
        bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\x33\x07\0\0\0\0\0\0\0");
        bytes[16..18].copy_from_slice(&2_u16.to_le_bytes());
        bytes[18..20].copy_from_slice(&EM_CUDA.to_le_bytes());
        bytes[20..24].copy_from_slice(&1_u32.to_le_bytes());
        let start = bytes.len() as u64;
        bytes.extend(info);
        let names_at = bytes.len() as u64;
        bytes.extend(names.as_bytes());
        let table = bytes.len() as u64;
        let mut section = |name: u32, kind: u32, offset: u64, size: u64| {
            let mut header = vec![0; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&offset.to_le_bytes());
            header[32..40].copy_from_slice(&size.to_le_bytes());
            bytes.extend(header);
        };
        section(0, 0, 0, 0);
        section(at(&format!(".text.{kernel}")), 1, start, 0);
        section(at(&format!(".nv.info.{kernel}")), 0x7000_0000, start, info.len() as u64);
        section(at(".shstrtab"), 3, names_at, names.len() as u64);
        bytes[40..48].copy_from_slice(&table.to_le_bytes());
        for (at, value) in [(52, 64_u16), (58, 64), (60, 4), (62, 3)] {
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    fn entry(kind: u8, ordinal: u16, offset: u16, size: u32) -> Vec<u8> {
        let mut bytes = vec![SIZED, kind, 12, 0, 0, 0, 0, 0];
        bytes.extend(ordinal.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        bytes.extend(if kind == KPARAM_INFO { size << 18 | 0x1_f000 } else { size }.to_le_bytes());
        bytes
    }

    fn total(bytes: u16) -> Vec<u8> {
        [&[HALF, PARAM_SIZE][..], &bytes.to_le_bytes()].concat()
    }

    #[test]
    fn entries_of_a_cubin_are_in_order() {
        let [first, second] =
            [(0, 0, 4), (1, 8, 8)].map(|(at, offset, size)| entry(KPARAM_INFO, at, offset, size));
        let info = [&second[..], &[3, 0x1b, 255, 0], &first, &[1, 0x35, 0, 0], &total(16)].concat();
        let whole = cubin("f", &info);
        assert_eq!(found(&whole, "f").unwrap(), [(0, 4, false), (8, 8, false)]);
        assert_eq!(found(&whole, "g"), None);
        assert_eq!(found(&cubin("f", &[]), "f").unwrap(), []);
        assert_eq!(
            found(&cubin("f", &[&second[..], &total(16)].concat()), "f"),
            None,
            "the first is missing"
        );
        assert_eq!(
            found(&cubin("f", &[&first[..], &total(16)].concat()), "f"),
            None,
            "the second is missing"
        );
        assert_eq!(found(&cubin("f", &total(8)), "f"), None, "none is described");
        assert_eq!(found(&cubin("f", &info[..6]), "f"), None, "an entry is cut");
        assert_eq!(found(&cubin("f", &[9, 9, 0, 0]), "f"), None, "a format that is not known");
        for end in 0..whole.len() {
            let _ = found(&whole[..end], "f");
        }
    }

    #[test]
    fn parameters_of_more_than_4_kib_have_entries_of_their_own() {
        let entries =
            [(1, 4800, 8), (0, 0, 4800)].map(|(at, offset, size)| entry(KPARAM_INFO_V2, at, offset, size));
        let whole = cubin("f", &[entries.concat(), total(4808)].concat());
        assert_eq!(found(&whole, "f").unwrap(), [(0, 4800, false), (4800, 8, false)]);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(0..=255_u8, 0..64)) {
            let _ = parameters(&cubin("f", &bytes), "f");
            let _ = parameters(&bytes, "f");
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(.entry|.param|.align|.ptr|.u32|.b8|f|[(),*/ 0-9\\[\\]\n]){0,20}") {
            let _ = parameters(format!(".version 8.0\n.entry f({text}").as_bytes(), "f");
        }
    }
}
