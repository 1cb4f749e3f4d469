//! Common to all logs: lines with colours and prefixes, numbers, units, times of day. Everything works on
//! bytes, so invalid UTF-8 is not a problem.

use std::sync::LazyLock;

use memchr::{memchr, memchr3_iter, memmem};

/// Removes the escape sequences of terminals. Borrows the line if it has none; otherwise writes the rest to
/// the buffer.
///
/// Sequences without their escape byte, as in logs copied from a web page (`[32m`), are removed as well.
pub(super) fn without_colours<'a>(line: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let shown = Shown::of(line);
    if !shown.bare && memchr(0x1b, line).is_none() {
        return line;
    }
    buffer.clear();
    buffer.extend(shown.map(|at| line[at]));
    buffer
}

/// The places of the bytes of a line outside escape sequences.
pub(super) struct Shown<'t> {
    line: &'t [u8],
    at: usize,
    /// Whether there are sequences without their escape byte.
    bare: bool,
}

impl<'t> Shown<'t> {
    pub(super) fn of(line: &'t [u8]) -> Shown<'t> {
        static RESET: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"[0m"));
        Shown { line, at: 0, bare: RESET.find(line).is_some() }
    }
}

impl Iterator for Shown<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let at = self.at;
            let (&byte, after) = self.line.get(at..)?.split_first()?;
            let parameters = match (byte, after.first()) {
                (0x1b, Some(b'[')) => Some(2),
                (0x1b, _) => {
                    self.at += 2;
                    continue;
                }
                (b'[', _) if self.bare && is_colour(after) => Some(1),
                _ => None,
            };
            self.at += 1;
            let Some(parameters) = parameters else { return Some(at) };
            // Parameters and intermediates, then one final byte.
            let sequence = &self.line[at + parameters..];
            let end = sequence.iter().position(|byte| (0x40..=0x7e).contains(byte));
            self.at = end.map_or(self.line.len(), |end| at + parameters + end + 1);
        }
    }
}

/// Whether this is the text after the bracket of a colour: digits and semicolons, and `m`.
fn is_colour(after: &[u8]) -> bool {
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    digits > 0 && digits <= 8 && after.get(digits) == Some(&b'm')
}

/// A number at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number<'a> {
    /// A finite number, and the text after it.
    Value(f64, &'a [u8]),
    /// `nan`, `inf` or `-inf`, and the text after it.
    NotFinite(&'a [u8]),
    /// Digits that are not an unambiguous number: `1.2.3`, `1,234` where a comma may be either, `12e`.
    Malformed,
    /// No digit at all.
    None,
}

/// How a program prints large numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commas {
    /// Commas separate thousands: `1,234`.
    Thousands,
    /// They do not: a comma is a locale's decimal point, or ends the number.
    Decimal,
}

/// Digits times a power of ten, rounded once, as a parser does. `None` for more digits or larger powers than
/// f64 represents exactly; a parser reads those.
///
/// Both the digits and the power of ten are exact, so only one multiplication or division rounds (Clinger
/// 1990).
fn exact(digits: u64, exponent: i32) -> Option<f64> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    if digits > 1 << 53 {
        return None;
    }
    let power = *POWERS.get(usize::try_from(exponent.unsigned_abs()).ok()?)?;
    Some(if exponent < 0 { digits as f64 / power } else { digits as f64 * power })
}

/// The maximum characters, digits and a point, whose digits fit into u64.
const FEW_DIGITS: usize = 16;

/// The value of digits with at most one point, times a power of ten, if it is [exact]. `None` for other
/// characters, too.
pub(super) fn plain_decimal(text: &[u8], exponent: i32) -> Option<f64> {
    if text.len() > FEW_DIGITS {
        return None;
    }
    let mut digits = 0_u64;
    let mut decimals = None;
    for &byte in text {
        match (byte, decimals) {
            (b'0'..=b'9', _) => {
                digits = 10 * digits + u64::from(byte - b'0');
                decimals = decimals.map(|decimals| decimals + 1);
            }
            (b'.', None) => decimals = Some(0),
            _ => return None,
        }
    }
    if text.is_empty() || text == b"." {
        return None;
    }
    exact(digits, exponent.checked_sub(decimals.unwrap_or(0))?)
}

/// A number in the usual form: digits, an optional point between digits, an optional exponent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal<'t> {
    /// The text of the number only.
    pub(super) printed: &'t [u8],
    /// Meaningless if there are too many digits.
    digits: u64,
    decimals: usize,
    /// Meaningless if it has more than two digits.
    exponent: i32,
    /// Characters before the exponent.
    mantissa: usize,
    is_simple: bool,
}

impl<'t> Decimal<'t> {
    /// The longest such number at the beginning of a text.
    #[inline(always)]
    pub(super) fn at_start_of(text: &'t [u8]) -> Option<Decimal<'t>> {
        let digit = |at: usize| text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10);
        let mut digits = 0_u64;
        let mut at = 0;
        while let Some(next) = digit(at) {
            digits = digits.wrapping_mul(10).wrapping_add(u64::from(next));
            at += 1;
        }
        if at == 0 {
            return None;
        }
        let mut decimals = 0;
        if text.get(at) == Some(&b'.') {
            let point = at;
            while let Some(next) = digit(at + 1) {
                digits = digits.wrapping_mul(10).wrapping_add(u64::from(next));
                at += 1;
            }
            decimals = at - point;
            // The point itself, if digits follow it.
            at += usize::from(decimals > 0);
        }
        let mantissa = at;
        let mut exponent = 0_i32;
        let mut of_exponent = 0;
        if let Some(b'e' | b'E') = text.get(at) {
            let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
            while let Some(next) = digit(at + 1 + sign + of_exponent) {
                exponent = exponent.wrapping_mul(10).wrapping_add(i32::from(next));
                of_exponent += 1;
            }
            if of_exponent > 0 {
                if text[at + 1] == b'-' {
                    exponent = exponent.wrapping_neg();
                }
                at += 1 + sign + of_exponent;
            }
        }
        let is_simple = mantissa <= FEW_DIGITS && of_exponent <= 2;
        Some(Decimal { printed: &text[..at], digits, decimals, exponent, mantissa, is_simple })
    }

    /// The value, if it is finite.
    #[inline]
    pub(super) fn value(&self) -> Option<f64> {
        // There are at most sixteen decimals.
        let value =
            if self.is_simple { exact(self.digits, self.exponent - self.decimals as i32) } else { None };
        value
            .or_else(|| std::str::from_utf8(self.printed).ok()?.parse().ok())
            .filter(|value: &f64| value.is_finite())
    }

    /// Whether there is neither a point nor an exponent.
    #[inline]
    pub(super) fn has_digits_alone(&self) -> bool {
        self.mantissa == self.printed.len() && self.decimals == 0
    }

    /// The value of digits without point or exponent, if they are few.
    #[inline]
    pub(super) fn whole(&self) -> Option<u64> {
        (self.is_simple && self.has_digits_alone()).then_some(self.digits)
    }
}

/// The text without an initial sign.
pub(super) fn without_sign(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text)
}

/// Reads a number. Spaces before it are skipped.
pub(super) fn number(text: &[u8], commas: Commas) -> Number<'_> {
    let text = text.trim_ascii_start();
    let unsigned = without_sign(text);
    if let Some(decimal) = Decimal::at_start_of(unsigned)
        && let rest = &unsigned[decimal.printed.len()..]
        // The text after it may be part of the number, or invalidate it.
        && !matches!(rest, [b'.' | b'e' | b'E', ..] | [b',', b'0'..=b'9', ..])
        && let Some(value) = decimal.value()
    {
        return Number::Value(if text[0] == b'-' { -value } else { value }, rest);
    }
    let sign = text.len() - unsigned.len();
    let is_word = matches!(unsigned.first(), Some(b'n' | b'N' | b'i' | b'I'));
    for word in [&b"nan"[..], b"infinity", b"inf"].into_iter().filter(|_| is_word) {
        if unsigned.len() >= word.len() && unsigned[..word.len()].eq_ignore_ascii_case(word) {
            let rest = &unsigned[word.len()..];
            let ends = !rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            return if ends { Number::NotFinite(rest) } else { Number::None };
        }
    }
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(unsigned);
    let mut end = whole;
    let mut comma = None;
    match unsigned.get(whole) {
        Some(b'.') => end += 1 + digits(&unsigned[whole + 1..]),
        Some(b',') if whole > 0 => {
            let group = digits(&unsigned[whole + 1..]);
            match commas {
                _ if group == 0 => {}
                Commas::Thousands => {
                    // Groups of three digits each; otherwise it is something else.
                    while unsigned.get(end) == Some(&b',') {
                        match digits(&unsigned[end + 1..]) {
                            3 => end += 4,
                            0 => break,
                            _ => return Number::Malformed,
                        }
                    }
                    if whole > 3 {
                        return Number::Malformed;
                    }
                    comma = Some(end);
                    if unsigned.get(end) == Some(&b'.') {
                        end += 1 + digits(&unsigned[end + 1..]);
                    }
                }
                Commas::Decimal => {
                    comma = Some(0);
                    end += 1 + group;
                    let exponent = matches!(unsigned.get(end), Some(b'e' | b'E'));
                    // `1,234` may be thousands, but `0,123` cannot.
                    if group == 3 && whole <= 3 && unsigned[0] != b'0' && !exponent {
                        return Number::Malformed;
                    }
                }
            }
        }
        _ => {}
    }
    if !unsigned[..end].iter().any(u8::is_ascii_digit) {
        return Number::None;
    }
    if let Some(b'e' | b'E') = unsigned.get(end) {
        let after = &unsigned[end + 1..];
        let sign = usize::from(matches!(after.first(), Some(b'-' | b'+')));
        match digits(&after[sign..]) {
            0 if sign == 1 || after.is_empty() => return Number::Malformed,
            // A letter that begins a word, such as a unit.
            0 => {}
            exponent => end += 1 + sign + exponent,
        }
    }
    let rest = &unsigned[end..];
    // A second point or a second comma within digits.
    if let [b'.' | b',', digit, ..] = rest
        && digit.is_ascii_digit()
        && comma.is_none_or(|place| place == 0 || rest[0] == b'.')
    {
        return Number::Malformed;
    }
    let literal = &text[..sign + end];
    let plain: String = literal
        .iter()
        .filter_map(|&byte| match (byte, commas) {
            (b',', Commas::Thousands) => None,
            (b',', Commas::Decimal) => Some('.'),
            _ => Some(char::from(byte)),
        })
        .collect();
    match plain.parse().ok().filter(|value: &f64| value.is_finite()) {
        Some(value) => Number::Value(value, rest),
        None => Number::Malformed,
    }
}

/// An integer at the beginning of a text, after optional spaces, and the text after it. `None` for a number
/// with a fraction.
pub(super) fn whole(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fraction = matches!(text.get(digits..), Some([b'.', digit, ..]) if digit.is_ascii_digit());
    if fraction {
        return None;
    }
    let value = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((value, &text[digits..]))
}

/// Bytes of a unit of memory at the beginning of a text, and the text after it. `GB` is 10⁹ bytes here; the
/// formats know the programs that use it for 2³⁰ bytes.
pub(super) fn unit(text: &[u8]) -> Option<(f64, &[u8])> {
    let text = text.trim_ascii_start();
    let units: [(&[u8], f64); 10] = [
        (b"TiB", 1_099_511_627_776.0),
        (b"GiB", 1_073_741_824.0),
        (b"MiB", 1_048_576.0),
        (b"KiB", 1024.0),
        (b"TB", 1e12),
        (b"GB", 1e9),
        (b"MB", 1e6),
        (b"KB", 1e3),
        (b"bytes", 1.0),
        (b"B", 1.0),
    ];
    units
        .into_iter()
        .find(|(name, _)| text.len() >= name.len() && text[..name.len()].eq_ignore_ascii_case(name))
        .map(|(name, bytes)| (bytes, &text[name.len()..]))
}

/// The rank that wrote a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rank<'t> {
    pub(super) rank: u32,
    /// The number of ranks, if the line has it.
    pub(super) world: Option<u32>,
    /// The text beginning with the rank's number.
    pub(super) text: &'t [u8],
    /// The text beginning with the number of ranks, if there is one.
    pub(super) text_of_world: Option<&'t [u8]>,
    /// The end of these numbers.
    pub(super) end: usize,
}

const RANK_WORDS: [&[u8]; 4] = [b"rank", b"Rank", b"RANK", b"default"];

/// The characters between a word for a rank and its number.
fn rank_separators(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'-' | b':' | b'=' | b'_')).count()
}

/// The rank that wrote a line. Looks at the prefix of the line.
///
/// `[rank-7/8]`, `[rank7]:`, `[Rank 7]`, `(RANK 7)`, `rank: 7`, `[default7]:` (torchrun), `7: ` (srun
/// --label), `[1,7]<stdout>:` (mpirun).
pub(super) fn rank(prefix: &[u8]) -> Option<Rank<'_>> {
    let small = |value: u64| u32::try_from(value).ok();
    let alone = |text, rank, rest: &[u8]| {
        Some(Rank {
            rank: small(rank)?,
            world: None,
            text,
            text_of_world: None,
            end: prefix.len() - rest.len(),
        })
    };
    for at in memchr3_iter(b'r', b'R', b'd', prefix) {
        let Some(word) = RANK_WORDS.into_iter().find(|word| prefix[at..].starts_with(word)) else { continue };
        // `default` also occurs in other texts.
        if word == b"default" && !prefix[..at].ends_with(b"[") {
            continue;
        }
        let after = &prefix[at + word.len()..];
        let separators = rank_separators(after);
        if separators > 2 {
            continue;
        }
        let text = &after[separators..];
        let Some((rank, rest)) = whole(text) else { continue };
        let mut found = alone(text, rank, rest)?;
        if let Some(behind) = rest.strip_prefix(b"/")
            && let Some((world, rest)) = whole(behind)
        {
            let end = prefix.len() - rest.len();
            found = Rank { world: small(world), text_of_world: Some(behind), end, ..found };
        }
        return Some(found);
    }
    let start = prefix.trim_ascii_start();
    if let Some((rank, rest)) = whole(start)
        && rest.starts_with(b":")
        // A time of day has digits there.
        && !rest.get(1).is_some_and(u8::is_ascii_digit)
    {
        return alone(start, rank, rest);
    }
    if let Some(after) = start.strip_prefix(b"[1,")
        && let Some((rank, rest)) = whole(after)
        && rest.starts_with(b"]<")
    {
        return alone(after, rank, rest);
    }
    None
}

/// Whether [`rank`] may find one in a line, or in a line that differs from it only in its numbers and the
/// spaces before them.
pub(super) fn may_have_rank(line: &[u8]) -> bool {
    let begins_with_number = |text: &[u8]| text.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
    let is_named = |word: &&[u8]| {
        memmem::find_iter(line, word).any(|at| {
            let after = &line[at + word.len()..];
            begins_with_number(&after[rank_separators(after)..])
        })
    };
    let start = line.trim_ascii_start();
    let is_label = Decimal::at_start_of(start)
        .map(|number| &start[number.printed.len()..])
        .is_some_and(|rest| rest.starts_with(b":") && !rest.get(1).is_some_and(u8::is_ascii_digit));
    RANK_WORDS.iter().any(is_named) || is_label || start.strip_prefix(b"[1,").is_some_and(begins_with_number)
}

/// The first date and time of day in a text, as ISO 8601: `2025-12-02T09:12:08`, with its fraction and
/// offset.
pub(super) fn timestamp(text: &[u8]) -> Option<String> {
    let text = &text[..text.len().min(160)];
    (0..text.len()).find_map(|start| {
        if start > 0 && text[start - 1].is_ascii_digit() {
            return None;
        }
        let digits = |at: usize, count: usize| {
            let slice = text.get(at..at + count)?;
            slice
                .iter()
                .all(u8::is_ascii_digit)
                .then(|| std::str::from_utf8(slice).ok()?.parse::<u32>().ok())
                .flatten()
        };
        let is = |at: usize, byte: u8| text.get(at) == Some(&byte);
        let year = digits(start, 4).filter(|year| (1970..2200).contains(year))?;
        let dashed = is(start + 4, b'-') && is(start + 7, b'-');
        let (month, day, end) = if dashed {
            (digits(start + 5, 2)?, digits(start + 8, 2)?, start + 10)
        } else {
            (digits(start + 4, 2)?, digits(start + 6, 2)?, start + 8)
        };
        if !is(end, b' ') && !is(end, b'T') || !is(end + 3, b':') || !is(end + 6, b':') {
            return None;
        }
        let (hour, minute, second) = (digits(end + 1, 2)?, digits(end + 4, 2)?, digits(end + 7, 2)?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let mut iso = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        let mut rest = &text[end + 9..];
        if let Some(fraction) = rest.strip_prefix(b",").or_else(|| rest.strip_prefix(b".")) {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count().min(9);
            if digits > 0 {
                iso.push('.');
                iso.extend(fraction[..digits].iter().map(|&byte| char::from(byte)));
                rest = &fraction[digits..];
            }
        }
        if let [b'+' | b'-', a, b, b':', c, d, ..] = rest
            && [a, b, c, d].iter().all(|byte| byte.is_ascii_digit())
        {
            iso.extend(rest[..6].iter().map(|&byte| char::from(byte)));
        } else if rest.starts_with(b"Z") {
            iso.push('Z');
        }
        Some(iso)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_or_refused_and_never_guessed() {
        let plain = |text: &str| match number(text.as_bytes(), Commas::Decimal) {
            Number::Value(value, rest) => Some((value, String::from_utf8_lossy(rest).into_owned())),
            _ => None,
        };
        for (text, value, rest) in [
            ("13372.8/13364.7 |", 13372.8, "/13364.7 |"),
            (" 9.984820E-06 |", 9.98482e-6, " |"),
            ("1e3", 1000.0, ""),
            ("-0.5,", -0.5, ","),
            ("5.018, TFLOP", 5.018, ", TFLOP"),
            ("13372,8/13364,7", 13372.8, "/13364,7"),
            ("6,548988E-03", 6.548_988e-3, ""),
            ("0,061 |", 0.061, " |"),
            ("7.", 7.0, ""),
            (".5s", 0.5, "s"),
            ("12ms", 12.0, "ms"),
            ("3elephants", 3.0, "elephants"),
            ("153.81GB", 153.81, "GB"),
            ("1.249e+03", 1249.0, ""),
        ] {
            assert_eq!(plain(text), Some((value, rest.to_owned())), "{text}");
        }
        for text in ["1,234", "1.2.3", "1.234,5", "12e-", "12e", "1e999", "1,2,3"] {
            assert_eq!(number(text.as_bytes(), Commas::Decimal), Number::Malformed, "{text}");
        }
        for text in ["", "-", "abc", ".", "nano", "-x1", "infinite"] {
            assert_eq!(number(text.as_bytes(), Commas::Decimal), Number::None, "{text}");
        }
        for text in ["nan |", "NaN", "-inf,", "Infinity", "inf"] {
            assert!(matches!(number(text.as_bytes(), Commas::Decimal), Number::NotFinite(_)), "{text}");
        }
        let grouped = |text: &'static str| number(text.as_bytes(), Commas::Thousands);
        assert_eq!(grouped("1,000  tflops"), Number::Value(1000.0, b"  tflops"));
        assert_eq!(grouped("1,234,567.5"), Number::Value(1_234_567.5, b""));
        assert_eq!(grouped("950,"), Number::Value(950.0, b","));
        for text in ["1,00", "1,0000", "1234,567", "1,234.5.6"] {
            assert_eq!(grouped(text), Number::Malformed, "{text}");
        }
    }

    #[test]
    fn numbers_are_those_of_a_parser_to_the_last_bit() {
        let mut state = 1_u64;
        for count in 0..200_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = state >> 12;
            let value = (bits % 10_u64.pow(1 + count % 16)) as f64 / 10_f64.powi((bits % 9) as i32);
            let text = match count % 3 {
                0 => format!("{value}"),
                1 => format!("{value:.4}"),
                _ => format!("{value:.6e}"),
            };
            let Number::Value(read, b"") = number(text.as_bytes(), Commas::Decimal) else { panic!("{text}") };
            assert_eq!(read.to_bits(), text.parse::<f64>().expect("a number").to_bits(), "{text}");
        }
        assert_eq!(plain_decimal(b"6046.6", -3), Some(6.0466));
        for text in [&b""[..], b".", b"1.2.3", b"-1", b"99999999999999999"] {
            assert_eq!(plain_decimal(text, 0), None);
        }
    }

    #[test]
    fn colours_are_removed_with_and_without_their_escape_byte() {
        let clean = |text: &[u8]| without_colours(text, &mut Vec::new()).to_vec();
        assert_eq!(clean(b"\x1b[32mstep: 1\x1b[0m"), b"step: 1");
        assert_eq!(clean(b"[[32m20251202 09:12:08[0m][[1;36mrank-7/8[0m]"), b"[20251202 09:12:08][rank-7/8]");
        assert_eq!(clean(b"a[8m] plain"), b"a[8m] plain");
        assert_eq!(clean(b"cut \x1b[3"), b"cut ");
        assert_eq!(clean(b"cut \x1b"), b"cut ");
    }

    #[test]
    fn ranks_of_all_launchers_are_read() {
        for (prefix, expected) in [
            ("[20251202 09:12:08][rank-7/8][INFO ] ", Some((7, Some(8)))),
            ("[rank3]:[titan] 2025-11-25 19:44:58,838 - root - INFO - ", Some((3, None))),
            ("[Rank 2] (after 20 iterations)", Some((2, None))),
            ("(RANK 5) ", Some((5, None))),
            ("[default7]: ", Some((7, None))),
            ("7: ", Some((7, None))),
            (" 0: Training epoch 0", Some((0, None))),
            ("[1,4]<stdout>: ", Some((4, None))),
            ("09:12:08 ", None),
            ("[2024-03-07 15:27:02,646] [INFO] ", None),
            ("ranking 7", None),
            ("default: 8 workers", None),
            ("rank 99999999999", None),
        ] {
            let found = rank(prefix.as_bytes());
            assert_eq!(found.map(|found| (found.rank, found.world)), expected, "{prefix}");
            if let Some(found) = found {
                assert!(may_have_rank(prefix.as_bytes()), "{prefix}");
                let last = found.world.unwrap_or(found.rank).to_string();
                assert!(prefix[..found.end].ends_with(&last), "{prefix}");
                assert!(found.text.starts_with(found.rank.to_string().as_bytes()), "{prefix}");
            }
        }
    }

    #[test]
    fn times_of_day_become_iso_8601() {
        for (text, expected) in [
            ("[20251202 09:12:08][rank-7/8]", Some("2025-12-02T09:12:08")),
            ("[2024-03-07 15:27:02,646] [INFO]", Some("2024-03-07T15:27:02.646")),
            ("[titan] 2025-11-25 19:44:58,838 - root", Some("2025-11-25T19:44:58.838")),
            ("[2025-10-17T11:32:59+08:00] Training", Some("2025-10-17T11:32:59+08:00")),
            ("2025-13-01 00:00:00", None),
            ("12025-10-01 00:00:00", None),
            ("no date 12:00:00", None),
            ("2025-10-01 24:00", None),
        ] {
            assert_eq!(timestamp(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn units_are_exact() {
        for (text, bytes) in
            [("GiB(62%)", 1_073_741_824.0), ("GB/", 1e9), (" MiB", 1_048_576.0), ("B", 1.0), ("TB", 1e12)]
        {
            assert_eq!(unit(text.as_bytes()).map(|(bytes, _)| bytes), Some(bytes), "{text}");
        }
        assert_eq!(unit(b"%"), None);
    }
}
