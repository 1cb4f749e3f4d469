//! The syntax of the files; see `tests/filetests/exec/README.md`.

use std::collections::HashMap;

use vgpu::isa::{Isa, scalar};

/// Instructions with the same effect, and the effect.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) variants: Vec<Variant>,
    pub(super) cases: Vec<Case>,
}

/// An instruction of a target.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) isa: Isa,
    /// The wave sizes to run it with.
    pub(super) sizes: &'static [u8],
    pub(super) bytes: Vec<u8>,
    pub(super) text: String,
    pub(super) line: usize,
}

/// A state before the instruction, and the changes after it.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) inputs: Vec<(Place, Content)>,
    pub(super) outputs: Vec<(Place, Content)>,
    pub(super) end: End,
    pub(super) line: usize,
}

/// How a wave ends.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum End {
    /// It continues with the next instruction.
    Next,
    /// It continues at an address.
    Jump(u64),
    /// `s_endpgm`.
    Program,
    /// At a barrier.
    Barrier,
    /// With a fault whose text contains this.
    Fault(String),
}

/// A location.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Place {
    /// Vector registers: the first (accumulation registers from 256 on), and their number.
    Vector(usize, usize),
    /// Scalar slots: the first, and their number.
    Scalar(usize, usize),
    Scc,
    Mode,
    /// Bytes of LDS: the first, and the number per element.
    Lds(usize, usize),
    /// Bytes of global memory, likewise.
    Memory(usize, usize),
    /// Four bytes of each lane's scratch memory.
    Scratch(usize),
}

impl Place {
    /// Whether each lane has a separate one.
    pub(super) fn has_lanes(self) -> bool {
        matches!(self, Place::Vector(..) | Place::Scratch(_))
    }

    /// The size of an element in bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Place::Vector(_, count) | Place::Scalar(_, count) => 4 * count,
            Place::Scc | Place::Mode | Place::Scratch(_) => 4,
            Place::Lds(_, size) | Place::Memory(_, size) => size,
        }
    }
}

/// The content of a location.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// One value everywhere.
    One(Value),
    /// Values by lane, or by element of memory.
    List(Vec<(usize, Value)>),
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Little-endian bytes, as many as the location has.
    Bytes(Vec<u8>),
    /// The address of global memory plus an offset.
    Address(u64),
    /// Any quiet NaN.
    Nan,
    /// A floating-point number or one of its two neighbours.
    Near(u64),
    /// Two halves of a register, the low one first.
    Halves(Box<[Value; 2]>),
}

type Lists = HashMap<String, String>;

/// Parses the blocks of a file.
pub(super) fn parse(text: &str) -> Result<Vec<Block>, String> {
    let mut lists = Lists::new();
    let mut blocks: Vec<Block> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let at = |why: String| format!("line {number}: {why}");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix("let ") {
            let (name, list) = rest.split_once(" = ").ok_or_else(|| at("no ` = `".to_owned()))?;
            lists.insert(name.to_owned(), list.to_owned());
        } else if line.starts_with(' ') {
            let block = blocks.last_mut().ok_or_else(|| at("a case without an instruction".to_owned()))?;
            block.cases.push(case(line, number, &lists).map_err(at)?);
        } else {
            if blocks.last().is_none_or(|block| !block.cases.is_empty()) {
                blocks.push(Block { variants: Vec::new(), cases: Vec::new() });
            }
            let new = variants(line, number).map_err(at)?;
            if let Some(block) = blocks.last_mut() {
                block.variants.extend(new);
            }
        }
    }
    match blocks.last() {
        Some(block) if block.cases.is_empty() => Err("the last instruction has no case".to_owned()),
        _ => Ok(blocks),
    }
}

/// `gfx1030 gfx1100/32: 01 05 00 06 ; v_add_f32_e32 v0, v1, v2`
fn variants(line: &str, number: usize) -> Result<Vec<Variant>, String> {
    let (head, text) = line.split_once(" ; ").ok_or("no ` ; `")?;
    let (targets, bytes) = head.split_once(": ").ok_or("no `: `")?;
    let bytes: Vec<u8> = bytes
        .split(' ')
        .map(|byte| u8::from_str_radix(byte, 16).map_err(|e| format!("{byte}: {e}")))
        .collect::<Result<_, _>>()?;
    let variant = |target: &str| {
        let (name, size) = target.split_once('/').unwrap_or((target, ""));
        let isa = Isa::by_name(name).ok_or_else(|| format!("no target {name}"))?;
        let sizes: &[u8] = match size {
            "32" => &[32],
            "64" => &[64],
            "" if isa.is_gfx9() => &[64],
            "" => &[32, 64],
            _ => return Err(format!("no wave size {size}")),
        };
        Ok(Variant { isa, sizes, bytes: bytes.clone(), text: text.to_owned(), line: number })
    };
    targets.split(' ').map(variant).collect()
}

/// ` v1=3 s[4:5]=mem+10 -> v0=[1 2]`
fn case(line: &str, number: usize, lists: &Lists) -> Result<Case, String> {
    let (before, after) = line.split_once(" ->").ok_or("no ` ->`")?;
    let mut end = End::Next;
    let mut outputs = Vec::new();
    for (name, content) in words(after)? {
        match (name.as_str(), content.as_deref()) {
            ("end", None) => end = End::Program,
            ("barrier", None) => end = End::Barrier,
            ("fault", Some(text)) => end = End::Fault(text.trim_matches('"').to_owned()),
            ("pc", Some(pc)) => end = End::Jump(hex(pc)?),
            (name, Some(content)) => outputs.push(assignment(name, content, lists)?),
            (name, None) => return Err(format!("{name} has no value")),
        }
    }
    let inputs = words(before)?
        .into_iter()
        .map(|(name, content)| assignment(&name, &content.ok_or("no value")?, lists))
        .collect::<Result<_, _>>()?;
    Ok(Case { inputs, outputs, end, line: number })
}

/// Splits a line into words, with or without `=`. Spaces in brackets and quotes do not separate words.
fn words(text: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let mut list: Vec<String> = Vec::new();
    let (mut depth, mut quoted, mut new) = (0u32, false, true);
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1).ok_or("`]` without `[`")?,
            '"' => quoted = !quoted,
            ' ' if depth == 0 && !quoted => {
                new = true;
                continue;
            }
            _ => {}
        }
        if new {
            list.push(String::new());
            new = false;
        }
        if let Some(word) = list.last_mut() {
            word.push(c);
        }
    }
    let split = |word: String| match word.split_once('=') {
        Some((name, content)) => (name.to_owned(), Some(content.to_owned())),
        None => (word, None),
    };
    Ok(list.into_iter().map(split).collect())
}

fn hex(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|e| format!("{text}: {e}"))
}

fn assignment(name: &str, content: &str, lists: &Lists) -> Result<(Place, Content), String> {
    let place = place(name)?;
    let content = match content.strip_prefix('$') {
        Some(name) => lists.get(name).ok_or_else(|| format!("no list {name}"))?,
        None => content,
    };
    let Some(list) = content.strip_prefix('[').and_then(|list| list.strip_suffix(']')) else {
        return Ok((place, Content::One(value(content, place.size())?)));
    };
    let mut values = Vec::new();
    let mut next = 0;
    for item in list.split_whitespace() {
        let item = match item.split_once(':') {
            Some((lane, item)) => {
                next = lane.parse().map_err(|e| format!("{lane}: {e}"))?;
                item
            }
            None => item,
        };
        if item != "-" {
            values.push((next, value(item, place.size())?));
        }
        next += 1;
    }
    Ok((place, Content::List(values)))
}

fn place(name: &str) -> Result<Place, String> {
    let unknown = || format!("no place {name}");
    let fixed = |slot: u8, count| Place::Scalar(usize::from(slot), count);
    match name {
        "scc" => return Ok(Place::Scc),
        "mode" => return Ok(Place::Mode),
        "vcc" => return Ok(fixed(scalar::VCC, 2)),
        "vcc_lo" => return Ok(fixed(scalar::VCC, 1)),
        "vcc_hi" => return Ok(fixed(scalar::VCC + 1, 1)),
        "exec" => return Ok(fixed(scalar::EXEC, 2)),
        "exec_lo" => return Ok(fixed(scalar::EXEC, 1)),
        "exec_hi" => return Ok(fixed(scalar::EXEC + 1, 1)),
        "m0" => return Ok(fixed(scalar::M0, 1)),
        _ => {}
    }
    if let Some((space, rest)) = name.split_once('+') {
        let (offset, size) = rest.split_once(".b").unwrap_or((rest, "32"));
        let offset = hex(offset)? as usize;
        let size = size.parse::<usize>().map_err(|_| unknown())? / 8;
        return match space {
            "lds" => Ok(Place::Lds(offset, size)),
            "mem" => Ok(Place::Memory(offset, size)),
            "scratch" if offset.is_multiple_of(4) && size == 4 => Ok(Place::Scratch(offset)),
            _ => Err(unknown()),
        };
    }
    let split = name.find(|c: char| !c.is_ascii_lowercase()).ok_or_else(unknown)?;
    let (kind, numbers) = name.split_at(split);
    let number = |text: &str| text.parse::<usize>().map_err(|_| unknown());
    let (first, last) = match numbers.strip_prefix('[').and_then(|numbers| numbers.strip_suffix(']')) {
        Some(range) => {
            let (first, last) = range.split_once(':').ok_or_else(unknown)?;
            (number(first)?, number(last)?)
        }
        None => (number(numbers)?, number(numbers)?),
    };
    let count = (last + 1).checked_sub(first).filter(|count| *count != 0).ok_or_else(unknown)?;
    match kind {
        "v" if last < 256 => Ok(Place::Vector(first, count)),
        "a" if last < 256 => Ok(Place::Vector(256 + first, count)),
        "s" if last < usize::from(scalar::VCC) => Ok(Place::Scalar(first, count)),
        "ttmp" if last < 16 => Ok(Place::Scalar(usize::from(scalar::TTMP0) + first, count)),
        _ => Err(unknown()),
    }
}

/// A value with this many bytes.
fn value(text: &str, size: usize) -> Result<Value, String> {
    if let Some(number) = text.strip_prefix("mem+") {
        return Ok(Value::Address(hex(number)?));
    }
    if text == "nan" {
        return Ok(Value::Nan);
    }
    if let Some((high, low)) = text.split_once('_') {
        return Ok(Value::Halves(Box::new([value(low, 2)?, value(high, 2)?])));
    }
    if let Some(number) = text.strip_prefix('~') {
        return Ok(Value::Near(hex(number)?));
    }
    let mut bytes = Vec::new();
    let mut digits = text;
    while !digits.is_empty() {
        let (rest, byte) = digits.split_at_checked(digits.len().saturating_sub(2)).ok_or("no number")?;
        bytes.push(u8::from_str_radix(byte, 16).map_err(|e| format!("{text}: {e}"))?);
        digits = rest;
    }
    if bytes.len() > size {
        return Err(format!("{text} has more than {size} bytes"));
    }
    bytes.resize(size, 0);
    Ok(Value::Bytes(bytes))
}
