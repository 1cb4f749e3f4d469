//! Messages of `printf` and `assert`, which arrive in parts.

use std::collections::BTreeMap;

use crate::output;
use crate::output::Channel;
use crate::queue::printf;
use crate::queue::progress::Progress;

/// A message's descriptor: begins, ends, words that follow (three bits), number of the message.
pub(crate) const BEGIN: u64 = 1 << 0;
pub(crate) const END: u64 = 1 << 1;
pub(crate) const LENGTH_SHIFT: u32 = 5;
pub(crate) const LENGTH_MASK: u64 = 7;
pub(crate) const NUMBER_SHIFT: u32 = 8;
/// The message number of dropped messages: their other parts are accepted and ignored.
const DROPPED: u64 = 0;

/// Maximum words of one message: 1 MiB; a format and its arguments usually need a few hundred bytes.
pub(crate) const LONGEST: usize = 1 << 17;
/// Maximum words of all messages in progress of a queue: 16 MiB.
pub(crate) const MOST: usize = 1 << 21;

/// Incomplete messages of a queue.
pub(crate) struct Messages {
    /// By number, the oldest first.
    parts: BTreeMap<u64, Vec<u64>>,
    /// The maximum number: one for each work-item that can run.
    limit: usize,
    /// Words of all of them.
    words: usize,
    last: u64,
    /// Whether dropped messages have been reported.
    said: bool,
}

impl Messages {
    /// The messages of a queue on which this many work-items can run.
    pub(crate) fn new(limit: usize) -> Self {
        Messages { parts: BTreeMap::new(), limit, words: 0, last: DROPPED, said: false }
    }

    /// Takes a part of a message. A complete message is printed, and the answer is the number of bytes, or
    /// -1.
    pub(crate) fn take(&mut self, words: [u64; 8], text: &mut Text) -> Result<[u64; 2], String> {
        let mut descriptor = words[0];
        if descriptor & BEGIN != 0 {
            descriptor = with_number(descriptor & !BEGIN, self.begin(text));
        }
        let number = descriptor >> NUMBER_SHIFT;
        let length = (descriptor >> LENGTH_SHIFT & LENGTH_MASK) as usize;
        let ends = descriptor & END != 0;
        if number != DROPPED {
            let message =
                self.parts.get_mut(&number).ok_or("device code continued a message that it had not begun")?;
            if message.len() + length > LONGEST || self.words + length > MOST {
                self.forget(number, text);
                descriptor = with_number(descriptor, DROPPED);
            } else {
                message.extend_from_slice(&words[1..=length]);
                self.words += length;
            }
        }
        if !ends {
            return Ok([descriptor, words[1]]);
        }
        let message = self.remove(descriptor >> NUMBER_SHIFT);
        let printed = match message.split_first() {
            Some((0, message)) => self.print(Channel::Output, message, text),
            Some((1, message)) => self.print(Channel::Error, message, text),
            // Unknown versions of the message, and dropped messages.
            _ => -1,
        };
        Ok([printed as u64, words[1]])
    }

    /// Begins a message and returns its number.
    fn begin(&mut self, text: &mut Text) -> u64 {
        // If there is one more than work-items can run, the oldest belongs to a work-item that has ended.
        if self.parts.len() >= self.limit
            && let Some(&oldest) = self.parts.keys().next()
        {
            self.forget(oldest, text);
        }
        self.last = match (self.last + 1) & (u64::MAX >> NUMBER_SHIFT) {
            DROPPED => DROPPED + 1,
            number => number,
        };
        self.remove(self.last);
        self.parts.insert(self.last, Vec::new());
        self.last
    }

    fn remove(&mut self, number: u64) -> Vec<u64> {
        let message = self.parts.remove(&number).unwrap_or_default();
        self.words -= message.len();
        message
    }

    /// Drops a message, and reports that the first time.
    fn forget(&mut self, number: u64, text: &mut Text) {
        self.remove(number);
        self.say(text);
    }

    fn print(&mut self, channel: Channel, message: &[u64], text: &mut Text) -> i64 {
        let printed = printf::format(message);
        if printed.cut {
            self.say(text);
        }
        text.add(channel, &printed.text)
    }

    fn say(&mut self, text: &mut Text) {
        if !std::mem::replace(&mut self.said, true) {
            text.add(Channel::Error, output::DROPPED.as_bytes());
        }
    }

    /// Messages in progress, and their words.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn held(&self) -> (usize, usize) {
        (self.parts.len(), self.words)
    }
}

fn with_number(descriptor: u64, number: u64) -> u64 {
    descriptor & ((1 << NUMBER_SHIFT) - 1) | number << NUMBER_SHIFT
}

/// Output of the lanes of a wave in one call.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) output: Vec<u8>,
    pub(crate) error: Vec<u8>,
}

impl Text {
    fn add(&mut self, channel: Channel, text: &[u8]) -> i64 {
        match channel {
            Channel::Output => self.output.extend_from_slice(text),
            Channel::Error => self.error.extend_from_slice(text),
        }
        text.len() as i64
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.output.len() + self.error.len()
    }

    pub(crate) fn write(self, progress: &Progress) {
        output::write(Channel::Output, &self.output);
        output::write(Channel::Error, &self.error);
        if !self.error.is_empty() {
            progress.note_error_output(&String::from_utf8_lossy(&self.error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8; 8]) -> u64 {
        u64::from_le_bytes(*bytes)
    }

    /// A descriptor that continues a message.
    fn more(descriptor: u64, length: u64, flags: u64) -> u64 {
        descriptor & !(LENGTH_MASK << LENGTH_SHIFT) | length << LENGTH_SHIFT | flags
    }

    #[test]
    fn messages_of_many_parts_are_put_together() {
        let mut messages = Messages::new(64);
        let mut text = Text::default();
        // Two lanes begin before either goes on. The first word says standard output or standard error.
        let mut take = |words| messages.take(words, &mut text);
        let first = take([BEGIN | 1 << LENGTH_SHIFT, 0, 9, 9, 9, 9, 9, 9]).unwrap()[0];
        let second = take([BEGIN | 1 << LENGTH_SHIFT, 1, 9, 9, 9, 9, 9, 9]).unwrap()[0];
        assert_ne!(first, second);
        let [a, b] = [word(b"%d of %d"), word(b"\n\0\0\0\0\0\0\0")];
        assert_eq!(
            take([more(first, 2, 0), a, b, 9, 9, 9, 9, 9]).unwrap()[0] >> NUMBER_SHIFT,
            first >> NUMBER_SHIFT
        );
        take([more(second, 2, 0), a, b, 9, 9, 9, 9, 9]).unwrap();
        assert_eq!(take([more(second, 2, END), 3, 40, 9, 9, 9, 9, 9]).unwrap()[0], 8);
        assert_eq!(take([more(first, 2, END), 1, 2, 9, 9, 9, 9, 9]).unwrap()[0], 7);
        // Ended messages and unknown versions are not mistaken for anything else.
        assert!(take([more(first, 2, END), 1, 2, 9, 9, 9, 9, 9]).is_err());
        assert_eq!(take([BEGIN | END | 1 << LENGTH_SHIFT, 2, 9, 9, 9, 9, 9, 9]).unwrap()[0], u64::MAX);
        assert_eq!((text.output.as_slice(), text.error.as_slice()), (&b"1 of 2\n"[..], &b"3 of 40\n"[..]));
        assert_eq!(messages.held(), (0, 0));
    }

    #[test]
    fn messages_without_an_end_are_dropped_and_others_are_printed() {
        let mut messages = Messages::new(4);
        let mut text = Text::default();
        let begin = [BEGIN | 1 << LENGTH_SHIFT, 0, 0, 0, 0, 0, 0, 0];
        for _ in 0..1000 {
            messages.take(begin, &mut text).unwrap();
        }
        assert_eq!(messages.held(), (4, 4));
        // A message without an end.
        let mut endless = messages.take(begin, &mut text).unwrap()[0];
        for _ in 0..LONGEST {
            endless = messages.take([more(endless, 7, 0), 1, 2, 3, 4, 5, 6, 7], &mut text).unwrap()[0];
            assert!(messages.held().1 <= LONGEST + 4);
        }
        assert_eq!(
            messages.take([more(endless, 7, END), 1, 2, 3, 4, 5, 6, 7], &mut text).unwrap()[0],
            u64::MAX
        );
        // Many messages with a large total.
        let mut messages = Messages::new(1 << 20);
        let mut long: Vec<u64> = (0..64).map(|_| messages.take(begin, &mut text).unwrap()[0]).collect();
        for _ in 0..LONGEST / 8 {
            for number in &mut long {
                *number = messages.take([more(*number, 7, 0), 1, 2, 3, 4, 5, 6, 7], &mut text).unwrap()[0];
            }
            assert!(messages.held().1 <= MOST);
        }
        // A complete message is still printed.
        let whole = messages.take(begin, &mut text).unwrap()[0];
        assert_eq!(
            messages.take([more(whole, 1, END), word(b"hello\n\0\0"), 0, 0, 0, 0, 0, 0], &mut text).unwrap()
                [0],
            6
        );
        assert_eq!(text.output, b"hello\n");
        // Each of the two queues reported once what it did.
        assert_eq!(String::from_utf8(text.error).unwrap(), output::DROPPED.repeat(2));
    }
}
