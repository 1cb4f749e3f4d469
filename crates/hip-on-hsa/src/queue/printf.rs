//! `printf` for device code: a format and its arguments, as packed by AMD's device libraries, become text.
//!
//! A message is a row of 64-bit words: the format's text, then each argument. Texts end in a NUL and are
//! padded to whole words; every other argument is one word, whatever its type, integers without regard to
//! their sign. The host's `snprintf` does each conversion, so the text is what the host would print.

use std::ffi::{c_char, c_int, c_longlong};

/// Maximum bytes of a message's text. Widths and precisions are cut to it, too, so that a wild one does not
/// exhaust memory.
pub(crate) const LONGEST: usize = 1 << 20;

/// The text of a message.
pub(crate) struct Printed {
    pub(crate) text: Vec<u8>,
    /// Whether text beyond [`LONGEST`] was cut off.
    pub(crate) cut: bool,
}

/// The text of a message. It ends at a missing argument or a conversion that C lacks.
pub(crate) fn format(words: &[u64]) -> Printed {
    let mut text = convert_all(words);
    let cut = text.len() > LONGEST;
    text.truncate(LONGEST);
    Printed { text, cut }
}

/// The text up to and including the conversion that exceeds the limit.
fn convert_all(words: &[u64]) -> Vec<u8> {
    let mut words = Words(words);
    let format = words.text();
    let mut out = Vec::with_capacity(format.len().min(LONGEST) + 32);
    let mut rest = format.as_slice();
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        if out.len() > LONGEST {
            return out;
        }
        if rest.get(1) == Some(&b'%') {
            out.push(b'%');
            rest = &rest[2..];
            continue;
        }
        let Some((conversion, length)) = Conversion::read(rest, &mut words) else { return out };
        if conversion.print(&mut words, &mut out).is_none() {
            return out;
        }
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    out
}

/// The rest of a message.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// The bytes up to the next NUL, or all of them.
    fn text(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        while let Some(word) = self.next() {
            let bytes = word.to_le_bytes();
            match bytes.iter().position(|&byte| byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&bytes[..end]);
                    break;
                }
                None => text.extend_from_slice(&bytes),
            }
        }
        text
    }
}

/// One conversion of a format, its `*`s replaced by their arguments.
struct Conversion {
    /// `%`, flags, width and precision, for the host's `snprintf`; the length and the letter are still to
    /// come.
    start: Vec<u8>,
    length: Length,
    letter: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Char,
    Short,
    Int,
    Long,
}

impl Conversion {
    /// Reads the conversion at the start of a format, and returns its length in bytes.
    fn read(format: &[u8], words: &mut Words<'_>) -> Option<(Conversion, usize)> {
        let mut at = 1;
        let mut flags = Vec::new();
        while let Some(flag) = format.get(at).filter(|byte| b"-+ #0'".contains(byte)) {
            flags.push(*flag);
            at += 1;
        }
        let mut width = number(format, &mut at, words)?;
        if let Some(negative) = width.filter(|&width| width < 0) {
            flags.push(b'-');
            width = Some(negative.saturating_neg());
        }
        let mut precision = None;
        if format.get(at) == Some(&b'.') {
            at += 1;
            // A negative precision, which only an argument can give, counts as absent.
            precision =
                Some(number(format, &mut at, words)?.unwrap_or(0)).filter(|&precision| precision >= 0);
        }
        let mut length = Length::Int;
        while let Some(modifier) = format.get(at).filter(|byte| b"hljztLq".contains(byte)) {
            length = match (modifier, length) {
                (b'h', Length::Short) => Length::Char,
                (b'h', _) => Length::Short,
                _ => Length::Long,
            };
            at += 1;
        }
        let letter = *format.get(at)?;
        let mut start = vec![b'%'];
        start.extend_from_slice(&flags);
        if let Some(width) = width {
            start.extend_from_slice(width.min(LONGEST as i64).to_string().as_bytes());
        }
        if let Some(precision) = precision {
            start.extend_from_slice(format!(".{}", precision.min(LONGEST as i64)).as_bytes());
        }
        Some((Conversion { start, length, letter }, at + 1))
    }

    /// Prints the next argument; `None` if there is none or the letter is not a conversion.
    fn print(&self, words: &mut Words<'_>, out: &mut Vec<u8>) -> Option<()> {
        match self.letter {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' => {
                let value = words.next()?;
                let signed = matches!(self.letter, b'd' | b'i');
                let value = match (self.length, signed) {
                    (Length::Char, true) => value as i8 as i64,
                    (Length::Char, false) => i64::from(value as u8),
                    (Length::Short, true) => value as i16 as i64,
                    (Length::Short, false) => i64::from(value as u16),
                    (Length::Int, true) => value as i32 as i64,
                    (Length::Int, false) => i64::from(value as u32),
                    (Length::Long, _) => value as i64,
                };
                self.convert(b"ll", Value::Integer(value), out);
            }
            b'c' => self.convert(b"", Value::Character(words.next()? as u8), out),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                self.convert(b"", Value::Float(f64::from_bits(words.next()?)), out);
            }
            b'p' => self.convert(b"", Value::Pointer(words.next()?), out),
            b's' => {
                if words.0.is_empty() {
                    return None;
                }
                self.convert(b"", Value::Text(words.text()), out);
            }
            // Nothing is stored through the pointer.
            b'n' => {
                words.next()?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Converts one value with the host's `snprintf`.
    fn convert(&self, length: &[u8], mut value: Value, out: &mut Vec<u8>) {
        let mut format = self.start.clone();
        format.extend_from_slice(length);
        format.extend_from_slice(&[self.letter, 0]);
        if let Value::Text(text) = &mut value {
            text.push(0);
        }
        let mut buffer = vec![0u8; 128];
        loop {
            let (to, size, how) =
                (buffer.as_mut_ptr().cast::<c_char>(), buffer.len(), format.as_ptr().cast());
            // SAFETY: the format holds one conversion, has no `*`, ends in a NUL, and the argument has the
            // type that its letter and length stand for; the buffer has the stated size.
            let written = unsafe {
                match &value {
                    Value::Integer(value) => libc::snprintf(to, size, how, *value as c_longlong),
                    Value::Character(value) => libc::snprintf(to, size, how, c_int::from(*value)),
                    Value::Float(value) => libc::snprintf(to, size, how, *value),
                    Value::Pointer(value) => libc::snprintf(to, size, how, *value as *const u8),
                    Value::Text(text) => libc::snprintf(to, size, how, text.as_ptr()),
                }
            };
            let Ok(written) = usize::try_from(written) else { return };
            if written < buffer.len() {
                out.extend_from_slice(&buffer[..written]);
                return;
            }
            buffer = vec![0u8; written + 1];
        }
    }
}

enum Value {
    Integer(i64),
    Character(u8),
    Float(f64),
    Pointer(u64),
    Text(Vec<u8>),
}

/// A width or precision: digits, or the argument of a `*`. `Some(None)` if there is neither, `None` if there
/// is no argument.
fn number(format: &[u8], at: &mut usize, words: &mut Words<'_>) -> Option<Option<i64>> {
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        return Some(Some(i64::from(words.next()? as i32)));
    }
    let mut value = None;
    while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
        let digit = i64::from(digit - b'0');
        value = Some(value.unwrap_or(0i64).saturating_mul(10).saturating_add(digit));
        *at += 1;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Arg<'a> {
        Word(u64),
        Text(&'a str),
    }
    use Arg::{Text, Word};

    fn pack(format: &str, arguments: &[Arg<'_>]) -> Vec<u64> {
        let mut words = Vec::new();
        let text = |text: &str, words: &mut Vec<u64>| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.push(0);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            words.extend(bytes.chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())));
        };
        text(format, &mut words);
        for argument in arguments {
            match argument {
                Word(word) => words.push(*word),
                Text(value) => text(value, &mut words),
            }
        }
        words
    }

    fn printed(format: &str, arguments: &[Arg<'_>]) -> String {
        String::from_utf8(super::format(&pack(format, arguments)).text).unwrap()
    }

    #[test]
    fn integers_have_the_width_of_their_length() {
        let minus_one = Word(0xffff_ffff);
        assert_eq!(printed("%d %i|", &[minus_one, Word(7)]), "-1 7|");
        assert_eq!(
            printed("%u %x %X %o", &[Word(0xffff_ffff), Word(255), Word(255), Word(8)]),
            "4294967295 ff FF 10"
        );
        assert_eq!(
            printed("%hhd %hhu %hd %hu", &[Word(0x1ff), Word(0x1ff), Word(0x1_8000), Word(0x1_8000)]),
            "-1 255 -32768 32768"
        );
        assert_eq!(
            printed("%ld %lld %llx %zu", &[Word(u64::MAX), Word(1 << 40), Word(u64::MAX), Word(5)]),
            "-1 1099511627776 ffffffffffffffff 5"
        );
        assert_eq!(
            printed(
                "[%5d|%-5d|%05d|%+d|% d|%#x|%.3d]",
                &[Word(1), Word(2), Word(3), Word(4), Word(5), Word(6), Word(7)]
            ),
            "[    1|2    |00003|+4| 5|0x6|007]"
        );
    }

    #[test]
    fn floats_characters_texts_and_pointers_are_as_on_the_host() {
        let float = |value: f64| Word(value.to_bits());
        assert_eq!(
            printed("%f %.2e %g %a", &[float(1.5), float(-12345.678), float(1e-5), float(1.0)]),
            "1.500000 -1.23e+04 1e-05 0x1p+0"
        );
        assert_eq!(
            printed("%F %G %5.1f|", &[float(f64::INFINITY), float(f64::NAN), float(2.25)]),
            "INF NAN   2.2|"
        );
        assert_eq!(
            printed(
                "%c%c %s|%6s|%-6s|%.2s|%s",
                &[
                    Word(72),
                    Word(105),
                    Text("longer than a word"),
                    Text("ab"),
                    Text("cd"),
                    Text("efg"),
                    Text("")
                ]
            ),
            "Hi longer than a word|    ab|cd    |ef|"
        );
        assert_eq!(printed("%p", &[Word(0x7f00_1234)]), "0x7f001234");
        assert_eq!(printed("100%% of %d%%\n", &[Word(3)]), "100% of 3%\n");
    }

    #[test]
    fn stars_take_their_arguments() {
        assert_eq!(
            printed(
                "[%*d|%-*d|%.*f]",
                &[Word(4), Word(1), Word(4), Word(2), Word(1), Word(2.55f64.to_bits())]
            ),
            "[   1|2   |2.5]"
        );
        // A negative width is a flag, a negative precision counts as absent.
        assert_eq!(
            printed("[%*d|%.*d]", &[Word(-4i32 as u32 as u64), Word(1), Word(-1i32 as u32 as u64), Word(2)]),
            "[1   |2]"
        );
        assert_eq!(printed("%999999999999d", &[Word(1)]).len(), LONGEST);
    }

    #[test]
    fn a_text_has_a_bound() {
        let wide = pack(&"%999999999d".repeat(10_000), &(0..10_000).map(Word).collect::<Vec<_>>());
        let printed = super::format(&wide);
        assert!(printed.cut);
        assert_eq!(printed.text.len(), LONGEST);
        let fits = super::format(&pack("%1048570d", &[Word(1)]));
        assert!(!fits.cut);
    }

    #[test]
    fn what_is_missing_or_unknown_ends_the_text() {
        assert_eq!(printed("a %d b", &[]), "a ");
        assert_eq!(printed("a %s b", &[]), "a ");
        assert_eq!(printed("a %*d b", &[Word(3)]), "a ");
        assert_eq!(printed("a %y b", &[Word(3)]), "a ");
        assert_eq!(printed("a %", &[]), "a ");
        assert_eq!(printed("a %n%d", &[Word(1), Word(2)]), "a 2");
        assert_eq!(super::format(&[]).text, b"");
        // A text without a NUL extends to the end.
        assert_eq!(super::format(&[u64::from_le_bytes(*b"no end %")]).text, b"no end ");
    }
}
