//! The beginning of a content's MD5 hash (RFC 1321), which compressed bundles have in their header.

/// How far each step rotates, four steps in turn for each of the four rounds.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The first 8 bytes of the hash.
pub(super) fn first_half(content: &[u8]) -> [u8; 8] {
    let constants = constants();
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let (blocks, rest) = content.as_chunks::<64>();
    for block in blocks {
        update(&mut state, block, &constants);
    }
    let mut last = rest.to_vec();
    last.push(0x80);
    last.resize((last.len() + 8).next_multiple_of(64) - 8, 0);
    last.extend((content.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in last.as_chunks::<64>().0 {
        update(&mut state, block, &constants);
    }
    let mut half = [0; 8];
    half[..4].copy_from_slice(&state[0].to_le_bytes());
    half[4..].copy_from_slice(&state[1].to_le_bytes());
    half
}

/// The integer parts of 2³² |sin i|.
fn constants() -> [u32; 64] {
    std::array::from_fn(|i| (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32)
}

fn update(state: &mut [u32; 4], block: &[u8; 64], constants: &[u32; 64]) {
    let word =
        |i: usize| u32::from_le_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]]);
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let (mixed, index) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(constants[step]).wrapping_add(word(index % 16));
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(ROTATIONS[step / 16][step % 4]));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_rfc_1321() {
        for (text, expected) in [
            ("", "d41d8cd98f00b204"),
            ("a", "0cc175b9c0f1b6a8"),
            ("abc", "900150983cd24fb0"),
            ("message digest", "f96b697d7cb7938d"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e400"),
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955",
            ),
        ] {
            let found: String =
                first_half(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
