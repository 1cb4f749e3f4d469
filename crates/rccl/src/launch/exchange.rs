//! Rank 0 sends the id to the others over TCP, in the protocol of [`greeting`](super::greeting).
//!
//! It serves all connections at the same time, and drops those that do not soon prove to be ranks. So
//! strangers learn nothing and block nobody. Someone who opens thousands of connections can delay ranks,
//! which retry until their time is up.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::address::{bind, is_taken, places};
use super::greeting::{self, Asks, Caller, Id, Offer, Refusal, Stranger};
use super::{Launch, LaunchError};

/// How long one side waits for the other to send something.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before rank 0 polls again, and before a rank connects again.
const PAUSE: Duration = Duration::from_millis(2);
const LONG_PAUSE: Duration = Duration::from_millis(20);
/// The most strangers connected to rank 0 at once. Beyond that, the oldest is dropped.
const MOST_STRANGERS: usize = 256;

/// A time limit for all waits together; any length is valid.
#[derive(Clone, Copy)]
struct Deadline(Instant, Duration);

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self(Instant::now(), limit)
    }

    /// The time left.
    fn left(&self) -> Duration {
        self.1.saturating_sub(self.0.elapsed())
    }

    fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// The time left for one wait. Never 0, which sockets refuse.
    fn patience(&self) -> Duration {
        self.left().clamp(Duration::from_millis(1), PATIENCE)
    }
}

/// Sends the id to all ranks, or receives it.
pub(super) fn exchange(launch: &Launch, own: Option<Id>, limit: Duration) -> Result<Id, LaunchError> {
    match own {
        Some(id) if launch.size == 1 => Ok(id),
        Some(id) => serve(launch, id, limit).map(|()| id),
        None => fetch(launch, limit),
    }
}

fn name(launch: &Launch) -> String {
    let (host, port) = launch.address();
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn network(launch: &Launch, problem: &'static str) -> impl Fn(io::Error) -> LaunchError {
    let (rank, address) = (launch.rank, name(launch));
    move |source| LaunchError::Network { rank, address: address.clone(), problem, source }
}

fn nonce() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn serve(launch: &Launch, id: Id, limit: Duration) -> Result<(), LaunchError> {
    let deadline = Deadline::after(limit);
    let failed = network(launch, "rank 0 cannot listen");
    let listeners = loop {
        match bind(launch, deadline.patience()) {
            // An earlier job may still hold the port.
            Err(error) if is_taken(&error) && !deadline.is_over() => std::thread::sleep(LONG_PAUSE),
            result => break result.map_err(&failed)?,
        }
    };
    listeners.iter().try_for_each(|listener| listener.set_nonblocking(true)).map_err(&failed)?;
    let mut offer = Offer { key: &launch.key, size: launch.size, id, missing: (1..launch.size).collect() };
    let mut lines = Vec::new();
    while !offer.missing.is_empty() {
        let before = lines.len();
        accept(&listeners, &mut lines).map_err(&failed)?;
        let mut moved = lines.len() != before;
        for line in &mut lines {
            moved |= line.go_on(&mut offer);
        }
        lines.retain(|line| !line.is_over());
        while lines.iter().filter(|line| !line.caller.is_proved()).count() > MOST_STRANGERS {
            let first = lines.iter().position(|line| !line.caller.is_proved());
            first.map(|first| lines.remove(first));
        }
        if moved {
            continue;
        }
        if deadline.is_over() {
            let missing = offer.missing.into_iter().collect();
            return Err(LaunchError::Missed { address: name(launch), limit, missing, size: launch.size });
        }
        std::thread::sleep(if lines.is_empty() { LONG_PAUSE } else { PAUSE }.min(deadline.left()));
    }
    Ok(())
}

/// Accepts all pending connections. Errors here are the peer's, or temporary.
fn accept(listeners: &[TcpListener], lines: &mut Vec<Line>) -> io::Result<()> {
    for listener in listeners {
        while let Ok((stream, _)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                let (caller, said) = (Caller::new(nonce()?), Vec::new());
                lines.push(Line { stream, caller, said, since: Instant::now(), is_open: true });
            }
            if lines.len() > 2 * MOST_STRANGERS {
                break;
            }
        }
    }
    Ok(())
}

/// A connection from a caller of rank 0.
struct Line {
    stream: TcpStream,
    caller: Caller,
    /// Bytes still to be sent.
    said: Vec<u8>,
    /// When the last valid message arrived.
    since: Instant,
    is_open: bool,
}

impl Line {
    /// Whether the connection can be dropped.
    fn is_over(&self) -> bool {
        let is_done = self.caller.is_done() && self.said.is_empty();
        !self.is_open || is_done || self.since.elapsed() > PATIENCE
    }

    /// Does what can be done without waiting. Returns whether it did anything.
    fn go_on(&mut self, offer: &mut Offer<'_>) -> bool {
        match self.try_to_go_on(offer) {
            Ok(moved) => moved,
            Err(error) => {
                tracing::debug!(%error, "rank 0 drops a caller");
                self.is_open = false;
                true
            }
        }
    }

    fn try_to_go_on(&mut self, offer: &mut Offer<'_>) -> io::Result<bool> {
        let mut moved = false;
        let mut bytes = [0; 256];
        if let Some(count) = now(self.stream.read(&mut bytes))? {
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.said.extend(self.caller.hear(&bytes[..count], offer).map_err(stranger)?);
            moved = true;
        }
        while !self.said.is_empty() {
            let Some(count) = now(self.stream.write(&self.said))? else { break };
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.said.drain(..count);
            self.since = Instant::now();
            moved = true;
        }
        Ok(moved)
    }
}

/// `None` if the operation would block.
fn now<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn stranger(_: Stranger) -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "the other end does not know the job's name and secret, or is not a rank",
    )
}

fn fetch(launch: &Launch, limit: Duration) -> Result<Id, LaunchError> {
    let deadline = Deadline::after(limit);
    loop {
        match ask(launch, deadline) {
            Ok(Ok(id)) => return Ok(id),
            Ok(Err(refusal)) => {
                let problem = match refusal {
                    Refusal::OtherSize => {
                        format!("rank 0 expects another number of ranks than {}", launch.size)
                    }
                    Refusal::Taken => {
                        "rank 0 has already sent the id to another process of the same rank".to_owned()
                    }
                };
                let (rank, address) = (launch.rank, name(launch));
                return Err(LaunchError::Refused { rank, address, problem });
            }
            Err(_) if !deadline.is_over() => std::thread::sleep(LONG_PAUSE.min(deadline.left())),
            Err(error) => return Err(network(launch, "rank 0 cannot be reached")(error)),
        }
    }
}

/// Asks once, at every address where rank 0 may be.
fn ask(launch: &Launch, deadline: Deadline) -> io::Result<Result<Id, Refusal>> {
    let mut last = io::ErrorKind::NotFound.into();
    for place in places(launch, deadline.patience())? {
        match ask_at(place, launch, deadline) {
            Ok(answer) => return Ok(answer),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn ask_at(place: SocketAddr, launch: &Launch, deadline: Deadline) -> io::Result<Result<Id, Refusal>> {
    let stream = TcpStream::connect_timeout(&place, deadline.patience())?;
    let until = Deadline::after(deadline.patience());
    let mut line = Timed { stream, until };
    let asks = Asks::new(&launch.key, launch.size, launch.rank, nonce()?);
    line.write_all(&asks.hello())?;
    let mut challenge = [0; greeting::CHALLENGE];
    line.read_exact(&mut challenge)?;
    let (proved, proof) = asks.prove(&challenge).map_err(stranger)?;
    line.write_all(&proof)?;
    let mut answer = [0; greeting::ANSWER];
    line.read_exact(&mut answer)?;
    let answer = proved.hear(&answer).map_err(stranger)?;
    if answer.is_ok() {
        // Rank 0 waits for this.
        line.write_all(&[greeting::GOT])?;
    }
    Ok(answer)
}

/// A connection with a time limit for all its traffic.
struct Timed {
    stream: TcpStream,
    until: Deadline,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.left() {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::UniqueId;

    /// The ranks of a job with its own port.
    fn job(size: usize) -> Vec<Launch> {
        // Dropping the listener frees the port.
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let launch = |rank: usize| {
            let variables = [
                ("RANK", rank.to_string()),
                ("LOCAL_RANK", rank.to_string()),
                ("WORLD_SIZE", size.to_string()),
                ("MASTER_ADDR", "127.0.0.1".to_owned()),
                ("MASTER_PORT", port.to_string()),
            ];
            let find = |name: &str| variables.iter().find(|one| one.0 == name).map(|one| one.1.clone());
            Launch::from_variables(find).unwrap()
        };
        (0..size).map(launch).collect()
    }

    const LIMIT: Duration = Duration::from_secs(20);
    const ID: Id = [42; UniqueId::SIZE];

    #[test]
    fn every_rank_gets_the_id_of_rank_0() {
        let job = job(5);
        std::thread::scope(|scope| {
            for launch in &job {
                scope.spawn(move || {
                    // The others connect first.
                    std::thread::sleep(Duration::from_millis(if launch.rank == 0 { 60 } else { 0 }));
                    let own = (launch.rank == 0).then_some(ID);
                    assert_eq!(exchange(launch, own, LIMIT).unwrap(), ID);
                });
            }
        });
    }

    #[test]
    fn who_does_not_come_is_named() {
        let job = job(3);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(exchange(&job[1], None, LIMIT).unwrap(), ID));
            exchange(&job[0], Some(ID), Duration::from_millis(500)).unwrap_err()
        });
        assert!(matches!(&error, LaunchError::Missed { missing, size: 3, .. } if missing == &[2]), "{error}");
        let error = exchange(&job[2], None, Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, LaunchError::Network { rank: 2, .. }), "{error}");
    }

    #[test]
    fn strangers_and_liars_are_kept_apart() {
        let job = job(2);
        std::thread::scope(|scope| {
            let zero = scope.spawn(|| exchange(&job[0], Some(ID), LIMIT).unwrap());
            let mut stranger = loop {
                match TcpStream::connect(job[0].address()) {
                    Ok(stream) => break stream,
                    Err(_) => std::thread::sleep(PAUSE),
                }
            };
            stranger.write_all(b"GET /somewhere HTTP/1.1\r\nHost: somebody\r\nAccept: */*\r\n\r\n").unwrap();
            assert!(!matches!(stranger.read(&mut [0; 8]), Ok(1..)));
            let other = Launch { size: 3, ..job[1].clone() };
            let error = exchange(&other, None, LIMIT).unwrap_err();
            assert!(matches!(error, LaunchError::Refused { .. }), "{error}");
            let again = Launch { rank: 0, ..job[1].clone() };
            let error = exchange(&again, None, LIMIT).unwrap_err();
            assert!(error.to_string().contains("same rank"), "{error}");
            assert_eq!(exchange(&job[1], None, LIMIT).unwrap(), ID);
            assert_eq!(zero.join().unwrap(), ID);
        });
    }

    #[test]
    fn silent_strangers_hold_nobody_up() {
        let job = job(3);
        std::thread::scope(|scope| {
            let zero = scope.spawn(|| exchange(&job[0], Some(ID), LIMIT).unwrap());
            let mut silent = Vec::new();
            while silent.len() < 40 {
                match TcpStream::connect(job[0].address()) {
                    Ok(stream) => silent.push(stream),
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
            // Some send a part of a rank's messages.
            for (at, stranger) in silent.iter_mut().enumerate() {
                let hello = Asks::new(&job[1].key, 3, 1, [at as u8; 32]).hello();
                stranger.write_all(&hello[..at]).unwrap();
            }
            // If rank 0 served connections one after the other, it would not reach these within its limit.
            let ranks = [1, 2].map(|rank| {
                let launch = &job[rank];
                scope.spawn(move || exchange(launch, None, LIMIT).unwrap())
            });
            ranks.into_iter().for_each(|rank| assert_eq!(rank.join().unwrap(), ID));
            assert_eq!(zero.join().unwrap(), ID);
        });
    }

    #[test]
    fn more_strangers_than_rank_0_has_room_for_are_forgotten() {
        let job = job(2);
        std::thread::scope(|scope| {
            let zero = scope.spawn(|| exchange(&job[0], Some(ID), LIMIT).unwrap());
            let mut held = Vec::new();
            while held.len() < MOST_STRANGERS + 20 {
                match TcpStream::connect(job[0].address()) {
                    Ok(stream) => held.push(stream),
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
            assert_eq!(exchange(&job[1], None, LIMIT).unwrap(), ID);
            assert_eq!(zero.join().unwrap(), ID);
        });
    }

    #[test]
    fn the_longest_limit_is_one() {
        let job = job(2);
        std::thread::scope(|scope| {
            let one = scope.spawn(|| exchange(&job[1], None, Duration::MAX).unwrap());
            assert_eq!(exchange(&job[0], Some(ID), Duration::MAX).unwrap(), ID);
            assert_eq!(one.join().unwrap(), ID);
        });
    }

    #[test]
    fn who_does_not_know_the_secret_gets_no_id_and_gives_none() {
        let job = job(2);
        let other = Launch { key: greeting::Key::of("", ["guessed", ""]), ..job[1].clone() };
        std::thread::scope(|scope| {
            let zero = scope.spawn(|| exchange(&job[0], Some(ID), LIMIT).unwrap());
            let error = exchange(&other, None, Duration::from_millis(300)).unwrap_err();
            assert!(matches!(error, LaunchError::Network { .. }), "{error}");
            assert_eq!(exchange(&job[1], None, LIMIT).unwrap(), ID);
            assert_eq!(zero.join().unwrap(), ID);
        });
        // Something listened there before rank 0, and is not rank 0.
        std::thread::scope(|scope| {
            let impostor = Launch { rank: 0, ..other };
            let impostor =
                scope.spawn(move || exchange(&impostor, Some([66; UniqueId::SIZE]), Duration::from_secs(1)));
            let error = exchange(&job[1], None, Duration::from_millis(600)).unwrap_err();
            assert!(matches!(error, LaunchError::Network { rank: 1, .. }), "{error}");
            assert!(impostor.join().unwrap().is_err());
        });
    }

    /// The addresses on which this process listens on a port, in hexadecimal as the system writes them.
    fn listens(port: u16) -> Vec<String> {
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let text: String = tables.iter().flat_map(std::fs::read_to_string).collect();
        let words = text.lines().map(|line| line.split_whitespace().skip(1).take(3).collect::<Vec<_>>());
        let here = words.filter(|words| words.len() == 3 && words[2] == "0A");
        here.filter_map(|words| words[0].strip_suffix(&format!(":{port:04X}")).map(str::to_owned)).collect()
    }

    #[test]
    fn rank_0_of_a_job_of_one_host_listens_on_the_loopback_interface_alone() {
        for host in
            ["127.0.0.1", "127.0.1.1", "localhost", "LOCALHOST", "10.255.255.1", "no-such-host.invalid"]
        {
            let of = |rank: usize| Launch {
                address: (host.to_owned(), job(1)[0].address().1),
                local_size: Some(2),
                rank,
                size: 2,
                ..job(1)[0].clone()
            };
            let zero = of(0);
            let one = Launch { rank: 1, ..zero.clone() };
            std::thread::scope(|scope| {
                let zero = scope.spawn(|| exchange(&zero, Some(ID), LIMIT).unwrap());
                let at = loop {
                    match listens(one.address().1) {
                        at if at.is_empty() => std::thread::sleep(PAUSE),
                        at => break at,
                    }
                };
                let is_loopback = |at: &String| at.ends_with("7F") || at.ends_with("01000000");
                assert!(at.iter().all(is_loopback), "{host}: {at:?}");
                assert_eq!(exchange(&one, None, LIMIT).unwrap(), ID, "{host}");
                zero.join().unwrap();
            });
        }
    }
}
