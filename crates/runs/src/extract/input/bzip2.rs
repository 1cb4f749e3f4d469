//! A decoder for bzip2: blocks of Huffman-coded, move-to-front-coded, Burrows-Wheeler-transformed text with
//! runs. There is no specification; Julian Seward's program defines the format. The decoder verifies the
//! checksums of blocks and streams.

use std::io::{self, Read};

const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;
/// The number of symbols for which one of a block's tables is used before the next is chosen.
const GROUP: usize = 50;
const MAX_LENGTH: usize = 20;

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("bzip2: {what}"))
}

/// Bits of a stream, the highest bit of each byte first.
struct Bits<R> {
    source: R,
    buffer: Box<[u8]>,
    at: usize,
    filled: usize,
    bits: u64,
    count: u32,
}

impl<R: Read> Bits<R> {
    fn new(source: R) -> Bits<R> {
        Bits { source, buffer: vec![0; 1 << 16].into_boxed_slice(), at: 0, filled: 0, bits: 0, count: 0 }
    }

    /// The next byte; `None` at the end of the data.
    fn byte(&mut self) -> io::Result<Option<u8>> {
        while self.at == self.filled {
            self.filled = match self.source.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.at = 0;
        }
        self.at += 1;
        Ok(Some(self.buffer[self.at - 1]))
    }

    /// Up to 32 bits.
    fn take(&mut self, width: u32) -> io::Result<u32> {
        while self.count < width {
            let byte = self.byte()?.ok_or_else(|| {
                io::Error::new(io::ErrorKind::UnexpectedEof, "bzip2: the data ends in a stream")
            })?;
            self.bits = self.bits << 8 | u64::from(byte);
            self.count += 8;
        }
        self.count -= width;
        Ok((self.bits >> self.count & ((1 << width) - 1)) as u32)
    }

    fn bit(&mut self) -> io::Result<bool> {
        Ok(self.take(1)? == 1)
    }

    fn align(&mut self) {
        self.count -= self.count % 8;
    }
}

/// A Huffman code: for each length, the first code beyond that length, and where its symbols begin.
struct Table {
    limits: [u32; MAX_LENGTH + 2],
    offsets: [u32; MAX_LENGTH + 2],
    symbols: Vec<u16>,
}

impl Table {
    fn new(lengths: &[u8]) -> Table {
        let mut table = Table {
            limits: [0; MAX_LENGTH + 2],
            offsets: [0; MAX_LENGTH + 2],
            symbols: Vec::with_capacity(lengths.len()),
        };
        let mut code = 0_u32;
        for length in 1..=MAX_LENGTH {
            table.offsets[length] = (table.symbols.len() as u32).wrapping_sub(code);
            let of_length = lengths.iter().enumerate().filter(|(_, of)| usize::from(**of) == length);
            table.symbols.extend(of_length.map(|(symbol, _)| symbol as u16));
            code = table.symbols.len() as u32;
            code = code.wrapping_sub(table.offsets[length]);
            table.limits[length] = code;
            code <<= 1;
        }
        table
    }

    fn decode<R: Read>(&self, bits: &mut Bits<R>) -> io::Result<u16> {
        let mut code = 0;
        for length in 1..=MAX_LENGTH {
            code = code << 1 | bits.take(1)?;
            if code < self.limits[length] {
                let place = code.wrapping_add(self.offsets[length]) as usize;
                return self.symbols.get(place).copied().ok_or_else(|| bad("a code without a symbol"));
            }
        }
        Err(bad("a code without a symbol"))
    }
}

fn checksum(mut sum: u32, byte: u8) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut place = 0;
        while place < 256 {
            let mut value = (place as u32) << 24;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 0x8000_0000 != 0 { value << 1 ^ 0x04c1_1db7 } else { value << 1 };
                bit += 1;
            }
            table[place] = value;
            place += 1;
        }
        table
    };
    sum = sum << 8 ^ TABLE[(sum >> 24) as usize ^ usize::from(byte)];
    sum
}

/// Decodes one bzip2 file: all of its streams.
pub(super) struct Decoder<R> {
    bits: Bits<R>,
    /// The maximum bytes of a block; 0 outside of a stream.
    capacity: usize,
    /// The stream's checksum so far.
    combined: u32,
    /// Decoded text that has not been read yet.
    text: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> Decoder<R> {
    pub(super) fn new(source: R) -> Decoder<R> {
        Decoder { bits: Bits::new(source), capacity: 0, combined: 0, text: Vec::new(), at: 0, ended: false }
    }

    /// Starts the next stream; false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        self.bits.align();
        if self.bits.count == 0 {
            let Some(byte) = self.bits.byte()? else { return Ok(false) };
            self.bits.bits = u64::from(byte);
            self.bits.count = 8;
        }
        if self.bits.take(24)? != u32::from_be_bytes([0, b'B', b'Z', b'h']) {
            return Err(bad("no stream where one must begin"));
        }
        let level = self.bits.take(8)?;
        if !(u32::from(b'1')..=u32::from(b'9')).contains(&level) {
            return Err(bad("an unknown size of blocks"));
        }
        self.capacity = 100_000 * (level - u32::from(b'0')) as usize;
        self.combined = 0;
        Ok(true)
    }

    /// Decodes the next block into `text`.
    fn block(&mut self) -> io::Result<()> {
        let magic = u64::from(self.bits.take(24)?) << 24 | u64::from(self.bits.take(24)?);
        let stated = self.bits.take(32)?;
        match magic {
            BLOCK => {}
            END => {
                self.capacity = 0;
                return if stated == self.combined {
                    Ok(())
                } else {
                    Err(bad("the checksum of a stream is wrong"))
                };
            }
            _ => return Err(bad("neither a block nor the end of a stream")),
        }
        if self.bits.bit()? {
            return Err(bad("a randomised block, as versions before 0.9.5 wrote them"));
        }
        let origin = self.bits.take(24)? as usize;
        let transformed = self.transformed()?;
        self.restore(&transformed, origin)?;
        let sum = !self.text.iter().fold(u32::MAX, |sum, byte| checksum(sum, *byte));
        if sum != stated {
            return Err(bad("the checksum of a block is wrong"));
        }
        self.combined = self.combined.rotate_left(1) ^ sum;
        Ok(())
    }

    /// The transformed text.
    fn transformed(&mut self) -> io::Result<Vec<u8>> {
        let bits = &mut self.bits;
        let ranges = bits.take(16)?;
        let mut front = Vec::with_capacity(256);
        for range in (0..16_u8).filter(|range| ranges >> (15 - range) & 1 == 1) {
            let used = bits.take(16)?;
            front
                .extend((0..16_u8).filter(|byte| used >> (15 - byte) & 1 == 1).map(|byte| range << 4 | byte));
        }
        if front.is_empty() {
            return Err(bad("a block without symbols"));
        }
        let alphabet = front.len() + 2;
        let groups = bits.take(3)? as usize;
        let selectors = bits.take(15)? as usize;
        if !(2..=6).contains(&groups) || selectors == 0 {
            return Err(bad("a block without tables"));
        }
        let mut order: Vec<u8> = (0..groups as u8).collect();
        let mut chosen = Vec::with_capacity(selectors);
        for _ in 0..selectors {
            let mut place = 0;
            while bits.bit()? {
                place += 1;
                if place >= groups {
                    return Err(bad("a table that does not exist"));
                }
            }
            order[..=place].rotate_right(1);
            chosen.push(order[0]);
        }
        let mut tables = Vec::with_capacity(groups);
        for _ in 0..groups {
            let mut length = bits.take(5)? as u8;
            let mut lengths = Vec::with_capacity(alphabet);
            for _ in 0..alphabet {
                loop {
                    if !(1..=MAX_LENGTH as u8).contains(&length) {
                        return Err(bad("a code of no possible length"));
                    }
                    if !bits.bit()? {
                        break;
                    }
                    length = if bits.bit()? { length - 1 } else { length + 1 };
                }
                lengths.push(length);
            }
            tables.push(Table::new(&lengths));
        }
        let end = alphabet as u16 - 1;
        let mut text = Vec::new();
        // A run of the front symbol, whose length is written in digits 1 and 2.
        let (mut run, mut digit) = (0_usize, 1_usize);
        for &table in &chosen {
            let table = &tables[usize::from(table)];
            for _ in 0..GROUP {
                let symbol = table.decode(bits)?;
                if symbol <= 1 {
                    run += digit << symbol;
                    digit <<= 1;
                    if run > self.capacity {
                        return Err(bad("a block that is too long"));
                    }
                    continue;
                }
                if text.len() + run > self.capacity {
                    return Err(bad("a block that is too long"));
                }
                text.resize(text.len() + run, front[0]);
                (run, digit) = (0, 1);
                if symbol == end {
                    return Ok(text);
                }
                let place = usize::from(symbol) - 1;
                front[..=place].rotate_right(1);
                text.push(front[0]);
            }
        }
        Err(bad("a block without an end"))
    }

    /// Inverts the transform, and then expands the runs that were shortened before it.
    fn restore(&mut self, transformed: &[u8], origin: usize) -> io::Result<()> {
        if origin >= transformed.len() {
            return Err(bad("a block that begins outside of itself"));
        }
        let mut starts = [0_u32; 256];
        for byte in transformed {
            starts[usize::from(*byte)] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        let mut next = vec![0_u32; transformed.len()];
        for (place, byte) in transformed.iter().enumerate() {
            let start = &mut starts[usize::from(*byte)];
            next[*start as usize] = place as u32;
            *start += 1;
        }
        self.text.clear();
        self.at = 0;
        let mut place = next[origin] as usize;
        let (mut last, mut repeated) = (None, 0);
        for _ in 0..transformed.len() {
            let byte = transformed[place];
            place = next[place] as usize;
            // After four equal bytes comes the number of further ones.
            if repeated == 4 {
                self.text.resize(self.text.len() + usize::from(byte), last.unwrap_or(0));
                (last, repeated) = (None, 0);
                continue;
            }
            repeated = if last == Some(byte) { repeated + 1 } else { 1 };
            last = Some(byte);
            self.text.push(byte);
        }
        Ok(())
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            if self.ended || buffer.is_empty() {
                return Ok(0);
            }
            if self.capacity == 0 && !self.begin()? {
                self.ended = true;
                return Ok(0);
            }
            self.block()?;
        }
        let count = buffer.len().min(self.text.len() - self.at);
        buffer[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
