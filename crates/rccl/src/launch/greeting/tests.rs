use proptest::prelude::*;

use super::*;

const ID: Id = [42; UniqueId::SIZE];

fn key(secret: &str) -> Key {
    Key::of("none", [secret, ""])
}

fn offer(key: &Key, size: usize) -> Offer<'_> {
    Offer { key, size, id: ID, missing: (1..size).collect() }
}

fn exactly<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap()
}

/// Runs the whole conversation, and returns its result.
fn talk(asks: Asks, caller: &mut Caller, offer: &mut Offer<'_>) -> Result<Result<Id, Refusal>, Stranger> {
    let challenge = caller.hear(&asks.hello(), offer)?;
    let (proved, proof) = asks.prove(&exactly(&challenge))?;
    let answer = proved.hear(&exactly(&caller.hear(&proof, offer)?))?;
    if answer.is_ok() {
        assert!(caller.is_proved() && !caller.is_done(), "it is missing until it says that it has the id");
        assert!(caller.hear(&[GOT], offer)?.is_empty());
    }
    assert!(caller.is_done());
    Ok(answer)
}

#[test]
fn a_rank_that_knows_the_key_gets_the_id_once() {
    let key = key("secret");
    let mut offer = offer(&key, 3);
    let mut ask = |size, rank, nonce| {
        talk(Asks::new(&key, size, rank, [nonce; 32]), &mut Caller::new([nonce + 100; 32]), &mut offer)
    };
    assert_eq!(ask(3, 2, 1), Ok(Ok(ID)));
    assert_eq!(ask(3, 2, 2), Ok(Err(Refusal::Taken)));
    assert_eq!(ask(3, 0, 3), Ok(Err(Refusal::Taken)));
    assert_eq!(ask(3, 3, 4), Ok(Err(Refusal::Taken)));
    assert_eq!(ask(4, 1, 5), Ok(Err(Refusal::OtherSize)));
    assert_eq!(ask(3, 1, 6), Ok(Ok(ID)));
    assert!(offer.missing.is_empty());
}

#[test]
fn neither_side_trusts_one_who_does_not_know_the_key() {
    let (ours, theirs) = (key("secret"), key("guess"));
    let mut offer = offer(&ours, 2);
    // The rank notices that this is not rank 0.
    let mut caller = Caller::new([1; 32]);
    assert_eq!(talk(Asks::new(&theirs, 2, 1, [2; 32]), &mut caller, &mut offer), Err(Stranger));
    // Rank 0 notices that this is not a rank, whatever it sends as a proof, even rank 0's own.
    for at in [0, 32] {
        let mut caller = Caller::new([1; 32]);
        let challenge = caller.hear(&Asks::new(&theirs, 2, 1, [2; 32]).hello(), &mut offer).unwrap();
        assert_eq!(caller.hear(&challenge[at..at + PROOF], &mut offer), Err(Stranger));
    }
    assert_eq!(offer.missing, [1].into());
}

#[test]
fn nothing_that_was_said_serves_again_or_tells_the_id() {
    let key = key("secret");
    let mut offer = offer(&key, 3);
    let asks = Asks::new(&key, 3, 1, [1; 32]);
    let (hello, mut caller) = (asks.hello(), Caller::new([2; 32]));
    let challenge = caller.hear(&hello, &mut offer).unwrap();
    let (proved, proof) = asks.prove(&exactly(&challenge)).unwrap();
    let answer = caller.hear(&proof, &mut offer).unwrap();
    assert_eq!(proved.hear(&exactly(&answer)), Ok(Ok(ID)));
    let said = [&hello[..], &challenge, &proof, &answer].concat();
    assert!(!said.windows(4).any(|bytes| bytes == &ID[..4]));
    // To rank 0, by an eavesdropper.
    let mut again = Caller::new([3; 32]);
    assert_ne!(again.hear(&hello, &mut offer).unwrap(), challenge);
    assert_eq!(again.hear(&proof, &mut offer), Err(Stranger));
    // To another rank.
    assert!(matches!(Asks::new(&key, 3, 2, [4; 32]).prove(&exactly(&challenge)), Err(Stranger)));
}

#[test]
fn what_somebody_has_changed_on_the_way_is_refused() {
    let key = key("");
    for (part, at) in (0..4).flat_map(|part| (0..ANSWER).map(move |at| (part, at))) {
        let change = |index, bytes: &mut [u8]| {
            if let (true, Some(byte)) = (part == index, bytes.get_mut(at)) {
                *byte ^= 1;
            }
        };
        let mut offer = offer(&key, 2);
        let asks = Asks::new(&key, 2, 1, [1; 32]);
        let mut caller = Caller::new([2; 32]);
        let told = (|| {
            let mut hello = asks.hello();
            change(0, &mut hello);
            let mut challenge = caller.hear(&hello, &mut offer)?;
            change(1, &mut challenge);
            let (proved, mut proof) = asks.prove(&exactly(&challenge))?;
            change(2, &mut proof);
            let mut answer = caller.hear(&proof, &mut offer)?;
            change(3, &mut answer);
            proved.hear(&exactly(&answer))
        })();
        let length = [HELLO, CHALLENGE, PROOF, ANSWER][part];
        assert_eq!(told, if at < length { Err(Stranger) } else { Ok(Ok(ID)) }, "{part} {at}");
    }
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_come_to_an_end(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        keep in 0..400_usize,
        pieces in prop::collection::vec(1..50_usize, 1..20),
    ) {
        super::any_input::run(&bytes, keep, &pieces);
    }
}
