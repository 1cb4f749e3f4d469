//! Code as text, where CUDA has PTX.
//!
//! Programs keep PTX as a string: they include it, write it to files, pass it on. Code for AMD's GPUs is binary, so it is written in
//! base64 behind a line that says what it is. A code object and a bundle of them for several targets are written alike.

/// The first line.
const HEADER: &str = "// ferrocm code object, base64\n";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes of code in a line of 76 characters.
const LINE: usize = 57;

/// Writes code as text.
pub(crate) fn encode(code: &[u8]) -> String {
    let mut text = String::with_capacity(HEADER.len() + code.len() / LINE * 77 + 78);
    text.push_str(HEADER);
    for line in code.chunks(LINE) {
        for triple in line.chunks(3) {
            let byte = |index: usize| u32::from(triple.get(index).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for digit in 0..4 {
                match digit <= triple.len() {
                    true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63])),
                    false => text.push('='),
                }
            }
        }
        text.push('\n');
    }
    text
}

/// Reads code that is written as text: nothing if the bytes are something else, an error if they are not whole. What comes behind a NUL
/// is not looked at.
pub(crate) fn decode(text: &[u8]) -> Option<Result<Vec<u8>, Damaged>> {
    let body = text.strip_prefix(HEADER.as_bytes())?;
    let body = body.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut code = Vec::with_capacity(body.len() / 4 * 3);
    let (mut bits, mut digits, mut padding) = (0_u32, 0, 0);
    for byte in body.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                0
            }
            _ => return Some(Err(Damaged)),
        };
        if padding > usize::from(*byte == b'=') * 2 {
            return Some(Err(Damaged));
        }
        bits = bits << 6 | u32::from(value);
        digits += 1;
        if digits == 4 {
            let [_, bytes @ ..] = bits.to_be_bytes();
            code.extend_from_slice(&bytes[..3 - padding]);
            (bits, digits) = (0, 0);
        }
    }
    Some(if digits == 0 { Ok(code) } else { Err(Damaged) })
}

/// The text is no code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_survives_as_text_at_every_length() {
        for length in (0..200).chain([57 * 3, 57 * 3 + 1]) {
            let code: Vec<u8> = (0..length).map(|index| (index * 37 % 256) as u8).collect();
            let text = encode(&code);
            assert!(text.lines().all(|line| line.len() <= 76));
            assert_eq!(decode(text.as_bytes()), Some(Ok(code.clone())), "{length}");
            let mut terminated = text.replace('\n', "\r\n").replacen("\r\n", "\n", 1).into_bytes();
            terminated.extend_from_slice(b"\0what is not text");
            assert_eq!(decode(&terminated), Some(Ok(code)), "{length}");
        }
    }

    #[test]
    fn the_digits_are_those_of_rfc_4648() {
        let text = |code: &[u8]| encode(code).lines().nth(1).unwrap_or_default().to_owned();
        for (plain, encoded) in [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(text(plain.as_bytes()), encoded);
        }
    }

    #[test]
    fn other_text_is_none_and_damaged_text_an_error() {
        assert_eq!(decode(b".version 7.0\n.target sm_80"), None);
        assert_eq!(decode(b"\x7fELF"), None);
        for body in ["Zg=", "Z===", "====", "Zg==Zg==", "Zm9v!", "Zm9"] {
            assert_eq!(decode(format!("{HEADER}{body}").as_bytes()), Some(Err(Damaged)), "{body}");
        }
    }
}
