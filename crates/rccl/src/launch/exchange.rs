//! Rank 0 gives the id to the others over TCP.
//!
//! A rank connects and says which one it is, of which job and of how many ranks; rank 0 answers with the id, or with why it does not. Whoever
//! says something else is not answered.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::{Launch, LaunchError};
use crate::communicator::UniqueId;

type Id = [u8; UniqueId::SIZE];

const MAGIC: [u8; 8] = *b"frcm-rv1";
/// How long one who has connected may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// What rank 0 answers.
const HERE: u8 = 0;
const OTHER_SIZE: u8 = 1;
const TAKEN: u8 = 2;

/// What a rank says.
fn greeting(launch: &Launch) -> [u8; 32] {
    let mut words = [0; 32];
    words[..8].copy_from_slice(&MAGIC);
    words[8..16].copy_from_slice(&launch.job.to_le_bytes());
    words[16..24].copy_from_slice(&(launch.size as u64).to_le_bytes());
    words[24..].copy_from_slice(&(launch.rank as u64).to_le_bytes());
    words
}

fn word(bytes: &[u8; 32], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Gives the id to all ranks, or gets it.
pub(super) fn exchange(launch: &Launch, own: Option<Id>, limit: Duration) -> Result<Id, LaunchError> {
    match own {
        Some(id) if launch.size == 1 => Ok(id),
        Some(id) => serve(launch, id, limit).map(|()| id),
        None => fetch(launch, limit),
    }
}

fn name(launch: &Launch) -> String {
    let (host, port) = launch.address();
    format!("{host}:{port}")
}

fn network(launch: &Launch, problem: &'static str) -> impl Fn(io::Error) -> LaunchError {
    let (rank, address) = (launch.rank, name(launch));
    move |source| LaunchError::Network { rank, address: address.clone(), problem, source }
}

fn serve(launch: &Launch, id: Id, limit: Duration) -> Result<(), LaunchError> {
    let until = Instant::now() + limit;
    let (host, port) = launch.address();
    // What is only for this host is not offered to others.
    let here = if matches!(host, "127.0.0.1" | "::1" | "localhost") { host } else { "0.0.0.0" };
    let failed = network(launch, "rank 0 cannot listen");
    let listener = loop {
        match TcpListener::bind((here, port)) {
            // A job before may not have let go of it yet.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                std::thread::sleep(PAUSE);
            }
            result => break result.map_err(&failed)?,
        }
    };
    listener.set_nonblocking(true).map_err(&failed)?;
    let mut missing: BTreeSet<usize> = (1..launch.size).collect();
    while !missing.is_empty() {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(rank) = answer(launch, stream, id, &missing) {
                    missing.remove(&rank);
                }
            }
            Err(_) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(_) => {
                let missing = missing.into_iter().collect();
                return Err(LaunchError::Missed { address: name(launch), limit, missing, size: launch.size });
            }
        }
    }
    Ok(())
}

/// Answers one who has connected, and says which rank it is if it has got the id.
fn answer(launch: &Launch, mut stream: TcpStream, id: Id, missing: &BTreeSet<usize>) -> Option<usize> {
    let mut said = [0; 32];
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.read_exact(&mut said).ok()?;
    if said[..8] != MAGIC || word(&said, 8) != launch.job {
        tracing::debug!("somebody has connected who is not of this job");
        return None;
    }
    let rank = usize::try_from(word(&said, 24)).ok()?;
    let code = match word(&said, 16) == launch.size as u64 {
        false => OTHER_SIZE,
        true if missing.contains(&rank) => HERE,
        true => TAKEN,
    };
    stream.write_all(&[code]).ok()?;
    if code != HERE {
        return None;
    }
    stream.write_all(&id).ok()?;
    // It says that it has got it: it would ask again otherwise.
    stream.read_exact(&mut said[..1]).ok()?;
    Some(rank)
}

fn fetch(launch: &Launch, limit: Duration) -> Result<Id, LaunchError> {
    let until = Instant::now() + limit;
    loop {
        match ask(launch) {
            Ok(Ok(id)) => return Ok(id),
            Ok(Err(problem)) => {
                let (rank, address) = (launch.rank, name(launch));
                return Err(LaunchError::Refused { rank, address, problem });
            }
            Err(_) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(error) => return Err(network(launch, "rank 0 cannot be reached")(error)),
        }
    }
}

/// Asks once.
fn ask(launch: &Launch) -> io::Result<Result<Id, String>> {
    let (host, port) = launch.address();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        let mut stream = match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => stream,
            Err(error) => {
                last = error;
                continue;
            }
        };
        stream.set_read_timeout(Some(4 * PATIENCE))?;
        stream.write_all(&greeting(launch))?;
        let (mut code, mut id) = ([0], [0; UniqueId::SIZE]);
        stream.read_exact(&mut code)?;
        return match code[0] {
            HERE => {
                stream.read_exact(&mut id)?;
                stream.write_all(&[HERE])?;
                Ok(Ok(id))
            }
            OTHER_SIZE => Ok(Err(format!("rank 0 does not know of {} ranks", launch.size))),
            TAKEN => Ok(Err("rank 0 has given the id to a process of the same rank before".to_owned())),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "rank 0 says something unknown")),
        };
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranks of a job with a port of its own.
    fn job(size: usize) -> Vec<Launch> {
        // The port is free again when the listener is gone.
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
                    // The others come first.
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
            stranger.write_all(b"GET / HTTP/1.1\r\nHost: somebody\r\n\r\n").unwrap();
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
}
