//! The bytes that a token stands for in text.

use std::sync::LazyLock;

/// How a vocabulary writes its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pieces {
    /// GPT-2's: each byte is one of 256 characters.
    ByteLevel,
    /// SentencePiece's: `▁` is a space, `<0x41>` is a byte.
    SentencePiece,
    /// BERT's: a word's continuation begins with `##`; other tokens have a space before them.
    WordPiece,
}

/// SentencePiece's space.
pub(super) const SPACE: char = '▁';

impl Pieces {
    pub(super) fn bytes(self, token: &str) -> Vec<u8> {
        match self {
            // Characters outside of the table stand for themselves.
            Self::ByteLevel => {
                let mut bytes = Vec::new();
                for c in token.chars() {
                    match byte_of(c) {
                        Some(byte) => bytes.push(byte),
                        None => bytes.extend(c.to_string().as_bytes()),
                    }
                }
                bytes
            }
            Self::SentencePiece => match byte_token(token) {
                Some(byte) => vec![byte],
                None => token.replace(SPACE, " ").into_bytes(),
            },
            Self::WordPiece => match token.strip_prefix("##") {
                Some(rest) => rest.as_bytes().to_vec(),
                None => format!(" {token}").into_bytes(),
            },
        }
    }
}

/// The byte of a token such as `<0x0A>`.
fn byte_token(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok())?
}

/// GPT-2's characters for bytes: printable ones stand for themselves, the others are 256 and following.
static CHARACTERS: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut characters = ['\0'; 256];
    let mut next = 256;
    for byte in 0..=255_u8 {
        characters[usize::from(byte)] = match byte {
            b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
            _ => {
                let c = char::from_u32(next).unwrap_or('\0');
                next += 1;
                c
            }
        };
    }
    characters
});

fn byte_of(c: char) -> Option<u8> {
    CHARACTERS.iter().position(|&known| known == c).map(|at| at as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_of_its_own() {
        let mut characters = CHARACTERS.to_vec();
        characters.sort_unstable();
        characters.dedup();
        assert_eq!(characters.len(), 256);
        // GPT-2 writes a space as Ġ and a newline as Ċ.
        assert_eq!((CHARACTERS[0x20], CHARACTERS[0x0a], CHARACTERS[b'A' as usize]), ('Ġ', 'Ċ', 'A'));
        assert_eq!(Pieces::ByteLevel.bytes("ĠÃ©"), " é".as_bytes());
    }

    #[test]
    fn pieces_of_each_kind() {
        assert_eq!(Pieces::SentencePiece.bytes("▁the"), b" the");
        assert_eq!(Pieces::SentencePiece.bytes("<0x0A>"), b"\n");
        assert_eq!(Pieces::SentencePiece.bytes("<0x0>"), b"<0x0>");
        assert_eq!(Pieces::WordPiece.bytes("##ing"), b"ing");
        assert_eq!(Pieces::WordPiece.bytes("go"), b" go");
    }
}
