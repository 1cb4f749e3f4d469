//! Arbitrary bytes from the other side.

use super::*;

const KEY: fn() -> Key = || Key::of("none", ["", ""]);
const NONCE: Nonce = [1; 32];

/// Cuts a rank's messages to rank 0 after `keep` bytes, appends `bytes`, and delivers them in pieces. Rank 0
/// must believe only the whole conversation. The same is then done with rank 0's messages to a rank.
pub(crate) fn run(bytes: &[u8], keep: usize, pieces: &[usize]) {
    let key = KEY();
    let asks = || Asks::new(&key, 5, 3, [2; 32]);
    let offer = || Offer { key: &key, size: 5, id: [42; UniqueId::SIZE], missing: (1..5).collect() };
    let (mut caller, mut first) = (Caller::new(NONCE), offer());
    let heard =
        |said: Result<Vec<u8>, Stranger>| said.unwrap_or_else(|Stranger| unreachable!("it is a rank"));
    let challenge = heard(caller.hear(&asks().hello(), &mut first));
    let Some(challenge) = challenge.first_chunk::<CHALLENGE>() else { unreachable!("rank 0 answers") };
    let Ok((proved, proof)) = asks().prove(challenge) else { unreachable!("it is rank 0") };
    let answer = heard(caller.hear(&proof, &mut first));

    let whole = [&asks().hello()[..], &proof, &[GOT]].concat();
    let said = with_rest(&whole, keep, bytes);
    let (mut caller, mut offer) = (Caller::new(NONCE), offer());
    let mut sizes = pieces.iter().copied().filter(|size| *size != 0).cycle();
    let mut rest = &said[..];
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(sizes.next().unwrap_or(rest.len()).min(rest.len()));
        rest = behind;
        if caller.hear(piece, &mut offer).is_err() {
            break;
        }
    }
    assert_eq!(!offer.missing.contains(&3), said.starts_with(&whole), "only a whole conversation counts");
    assert_eq!(offer.missing.len(), 4 - usize::from(said.starts_with(&whole)));

    let said = with_rest(challenge, keep, bytes);
    if let Some(said) = said.first_chunk::<CHALLENGE>() {
        assert_eq!(asks().prove(said).is_ok(), said == challenge);
    }
    let said = with_rest(&answer, keep, bytes);
    if let Some(said) = said.first_chunk::<ANSWER>() {
        assert_eq!(proved.hear(said).is_ok(), said[..] == answer[..]);
    }
}

fn with_rest(whole: &[u8], keep: usize, rest: &[u8]) -> Vec<u8> {
    [&whole[..keep.min(whole.len())], rest].concat()
}
