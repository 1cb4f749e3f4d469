//! The memory accesses of instructions in LLVM's IR.

use code_object::metrics::{Access, Space};

use super::sizes::Types;
use crate::ir::split;

/// An access of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accessed<'a> {
    pub(super) space: Space,
    pub(super) access: Access,
    pub(super) bytes: Bytes<'a>,
}

/// The number of bytes that a work-item accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bytes<'a> {
    Known(u64),
    /// The number in a value: its type and name.
    Value(&'a str, &'a str),
}

/// Where to find the size of an intrinsic's access.
#[derive(Clone, Copy)]
enum Size {
    /// The size of the result.
    Result,
    /// The size of the first argument.
    First,
    /// The third argument is the number of bytes.
    Third,
}

/// The beginning of a name, its accesses, and the number of bytes.
type Intrinsic = (&'static str, &'static [(Space, Access)], Size);

/// The intrinsics of AMDGPU that access memory, by the beginning of their names. The first match counts.
const INTRINSICS: &[Intrinsic] = &[
    ("s.buffer.load", &[(Space::Constant, Access::Load)], Size::Result),
    ("global.load.lds", &[(Space::Global, Access::Load), (Space::Lds, Access::Store)], Size::Third),
    ("load.to.lds", &[(Space::Global, Access::Load), (Space::Lds, Access::Store)], Size::Third),
    ("global.load.tr", &[(Space::Global, Access::Load)], Size::Result),
    ("ds.read.tr", &[(Space::Lds, Access::Load)], Size::Result),
    ("ds.load.tr", &[(Space::Lds, Access::Load)], Size::Result),
];

/// The same for the buffer families, by the rest of the name after `raw.buffer.` and the like.
const BUFFERS: &[Intrinsic] = &[
    ("load.lds", &[(Space::Global, Access::Load), (Space::Lds, Access::Store)], Size::Third),
    ("load", &[(Space::Global, Access::Load)], Size::Result),
    ("store", &[(Space::Global, Access::Store)], Size::First),
    ("atomic", &[(Space::Global, Access::Atomic)], Size::First),
];

/// The accesses of a line; empty for most instructions.
pub(super) fn of<'a>(line: &'a str, types: &Types<'_>) -> Vec<Accessed<'a>> {
    parse(line, types).unwrap_or_default()
}

fn parse<'a>(line: &'a str, types: &Types<'_>) -> Option<Vec<Accessed<'a>>> {
    let line = line.strip_prefix("  ")?;
    let (result, instruction) = match line.split_once(" = ") {
        Some((name, instruction)) if name.starts_with('%') => (true, instruction),
        _ => (false, line),
    };
    let (word, mut rest) = instruction.split_once(' ')?;
    let one = |space, access, bytes| Some(vec![Accessed { space, access, bytes: Bytes::Known(bytes) }]);
    match word {
        "load" if result => {
            rest = without(rest, &["atomic ", "volatile "]);
            let (bytes, _) = types.first(rest)?;
            one(space(split(rest, ',').get(1)?)?, Access::Load, bytes)
        }
        "store" => {
            rest = without(rest, &["atomic ", "volatile "]);
            let (bytes, _) = types.first(rest)?;
            one(space(split(rest, ',').get(1)?)?, Access::Store, bytes)
        }
        "atomicrmw" => {
            rest = without(rest, &["volatile "]);
            let pointer = rest.split_once(' ')?.1;
            let (bytes, _) = types.first(split(pointer, ',').get(1)?)?;
            one(space(pointer)?, Access::Atomic, bytes)
        }
        "cmpxchg" => {
            rest = without(rest, &["weak ", "volatile "]);
            let (bytes, _) = types.first(split(rest, ',').get(1)?)?;
            one(space(rest)?, Access::Atomic, bytes)
        }
        "call" | "tail" | "musttail" | "notail" => called(instruction, types),
        _ => None,
    }
}

/// The accesses of a call, if it calls an intrinsic.
fn called<'a>(instruction: &'a str, types: &Types<'_>) -> Option<Vec<Accessed<'a>>> {
    let (before, call) = instruction.split_once("@llvm.")?;
    let (name, arguments) = call.split_once('(')?;
    let arguments = split(arguments.rsplit_once(')')?.0, ',');
    let mut parts = name.split('.');
    match parts.next()? {
        kind @ ("memcpy" | "memmove" | "memset") => {
            let spaces: Vec<Space> = parts.filter_map(|part| numbered(part.strip_prefix('p')?)).collect();
            let bytes = amount(arguments.get(2)?)?;
            let access =
                |(space, access): (&Space, Access)| Accessed { space: *space, access, bytes: bytes.clone() };
            let both = [Access::Store, Access::Load];
            let count = if kind == "memset" { 1 } else { 2 };
            (spaces.len() == count).then(|| spaces.iter().zip(both).map(access).collect())
        }
        "amdgcn" => {
            let name = name.strip_prefix("amdgcn.")?;
            let buffer = ["raw.buffer.", "struct.buffer.", "raw.ptr.buffer.", "struct.ptr.buffer."]
                .iter()
                .find_map(|family| name.strip_prefix(family));
            let (name, rows) = buffer.map_or((name, INTRINSICS), |name| (name, BUFFERS));
            let (_, accesses, size) = rows.iter().find(|(begin, ..)| name.starts_with(begin))?;
            let bytes = match size {
                Size::Result => Bytes::Known(types.first(returned(before)?)?.0),
                Size::First => Bytes::Known(types.first(arguments.first()?)?.0),
                Size::Third => amount(arguments.get(2)?)?,
            };
            let accessed = |(space, access): &(Space, Access)| Accessed {
                space: *space,
                access: *access,
                bytes: bytes.clone(),
            };
            Some(accesses.iter().map(accessed).collect())
        }
        _ => None,
    }
}

/// A call's return type, from the text before the function's name: after flags and attributes.
fn returned(before: &str) -> Option<&str> {
    let words = before.strip_prefix("tail ").unwrap_or(before).strip_prefix("call ")?;
    let flags = [
        "fast ",
        "nnan ",
        "ninf ",
        "nsz ",
        "arcp ",
        "contract ",
        "afn ",
        "reassoc ",
        "noundef ",
        "nofpclass(nan) ",
    ];
    let mut rest = words;
    while let Some(after) = flags.iter().find_map(|flag| rest.strip_prefix(flag)) {
        rest = after;
    }
    Some(rest)
}

/// The value of an argument with the number of bytes.
fn amount(argument: &str) -> Option<Bytes<'_>> {
    let (ty, value) = argument.trim().split_once(' ')?;
    // Attributes may come in between.
    let value = value.rsplit(' ').next()?;
    match value.parse() {
        Ok(bytes) => Some(Bytes::Known(bytes)),
        Err(_) => value.starts_with('%').then_some(Bytes::Value(ty, value)),
    }
}

/// The address space of the pointer at the start of a text.
fn space(pointer: &str) -> Option<Space> {
    let rest = pointer.trim_start().strip_prefix("ptr")?;
    match rest.strip_prefix(" addrspace(") {
        Some(rest) => numbered(rest.split_once(')')?.0),
        None => Some(Space::Flat),
    }
}

fn numbered(space: &str) -> Option<Space> {
    Some(match space {
        "0" => Space::Flat,
        "1" | "7" | "8" | "9" => Space::Global,
        "3" => Space::Lds,
        "4" => Space::Constant,
        "5" => Space::Scratch,
        _ => return None,
    })
}

fn without<'a>(mut text: &'a str, words: &[&str]) -> &'a str {
    for word in words {
        text = text.strip_prefix(word).unwrap_or(text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_access_what_their_types_and_pointers_say() {
        use Access::{Atomic, Load, Store};
        let types = Types::default();
        let known = |line: &str| -> Vec<(Space, Access, u64)> {
            let bytes = |one: &Accessed<'_>| match one.bytes {
                Bytes::Known(bytes) => bytes,
                Bytes::Value(..) => panic!("{line}"),
            };
            of(line, &types).iter().map(|one| (one.space, one.access, bytes(one))).collect()
        };
        for (line, expected) in [
            ("  %17 = load float, ptr addrspace(1) %16, align 4, !tbaa !19", (Space::Global, Load, 4)),
            (
                "  %1 = load atomic volatile i64, ptr %0 syncscope(\"agent\") acquire, align 8",
                (Space::Flat, Load, 8),
            ),
            (
                "  %1 = load <3 x float>, ptr addrspace(4) getelementptr inbounds (i8, ptr addrspace(4) @c, i64 16), align 16",
                (Space::Constant, Load, 12),
            ),
            ("  store float %19, ptr addrspace(3) %20, align 4", (Space::Lds, Store, 4)),
            (
                "  store volatile <2 x i16> <i16 1, i16 2>, ptr addrspace(5) %20, align 4",
                (Space::Scratch, Store, 4),
            ),
            ("  store { i32, i8 } { i32 1, i8 2 }, ptr addrspace(1) @x, align 4", (Space::Global, Store, 8)),
            (
                "  %9 = atomicrmw volatile fadd ptr addrspace(1) %8, double %7 syncscope(\"agent\") monotonic, align 8",
                (Space::Global, Atomic, 8),
            ),
            (
                "  %9 = cmpxchg weak ptr addrspace(3) %8, i32 0, i32 1 monotonic monotonic, align 4",
                (Space::Lds, Atomic, 4),
            ),
            (
                "  %3 = tail call contract <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8) %r, i32 0, i32 0, i32 0)",
                (Space::Global, Load, 16),
            ),
            (
                "  call void @llvm.amdgcn.struct.buffer.store.format.v2f16(<2 x half> %v, <4 x i32> %r, i32 0, i32 0, i32 0, i32 0)",
                (Space::Global, Store, 4),
            ),
            (
                "  %3 = call i32 @llvm.amdgcn.raw.buffer.atomic.add.i32(i32 %v, <4 x i32> %r, i32 0, i32 0, i32 0)",
                (Space::Global, Atomic, 4),
            ),
            (
                "  tail call void @llvm.memset.p1.i64(ptr addrspace(1) align 16 %0, i8 0, i64 256, i1 false)",
                (Space::Global, Store, 256),
            ),
        ] {
            assert_eq!(known(line), [expected], "{line}");
        }
        assert_eq!(
            known(
                "  call void @llvm.memcpy.p5.p4.i64(ptr addrspace(5) align 4 %a, ptr addrspace(4) %b, i64 40, i1 false)"
            ),
            [(Space::Scratch, Store, 40), (Space::Constant, Load, 40)]
        );
        assert_eq!(
            known(
                "  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %g, ptr addrspace(3) %l, i32 16, i32 0, i32 0)"
            ),
            [(Space::Global, Load, 16), (Space::Lds, Store, 16)]
        );
        for nothing in [
            "  %20 = getelementptr inbounds nuw float, ptr addrspace(3) @t, i32 %11",
            "  call void @load(i32 1)",
            "  fence syncscope(\"workgroup\") release",
            "  br label %18",
            "  %2 = load token, ptr %1",
            "load i32, ptr %0",
            "  store",
            "  %1 = call float @llvm.fma.f32(float %a, float %b, float %c)",
        ] {
            assert_eq!(of(nothing, &types), [], "{nothing}");
        }
    }

    #[test]
    fn lengths_may_be_known_at_run_time_only() {
        let line =
            "  call void @llvm.memmove.p0.p1.i32(ptr %a, ptr addrspace(1) %b, i32 noundef %n, i1 false)";
        let accessed = of(line, &Types::default());
        assert_eq!(accessed.len(), 2);
        assert!(accessed.iter().all(|one| one.bytes == Bytes::Value("i32", "%n")));
    }
}
