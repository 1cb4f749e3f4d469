//! Where rank 0 listens, and where the others look for it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::Launch;

/// Where rank 0 listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listen {
    /// At these addresses. If none of them belongs to this host, on all interfaces.
    At(Vec<IpAddr>),
    /// At these addresses, and nowhere else.
    OnlyAt(Vec<IpAddr>),
    /// On all interfaces.
    Everywhere,
}

const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
const EVERYWHERE: [IpAddr; 2] = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];

/// Whether an address is a loopback address, including an IPv4 one mapped to IPv6.
fn is_loopback(address: &IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// The addresses where ranks of one host meet: the loopback addresses among those found, else the standard
/// ones.
fn of_one_host(found: &[IpAddr]) -> Vec<IpAddr> {
    let own: Vec<_> = found.iter().copied().filter(is_loopback).collect();
    if own.is_empty() { LOOPBACK.to_vec() } else { own }
}

/// Where rank 0 listens. `host` is the address or name of its host; `found` are the addresses of that name.
///
/// Listening on loopback only is enough for a job on one host, and for ranks that were given a loopback
/// address. A host's own name does not count as one: it may resolve to the loopback interface on that host,
/// and to another interface elsewhere.
pub(super) fn listen(host: &str, own_name: &str, found: &[IpAddr], is_one_host: bool) -> Listen {
    let label = |name: &str| name.split('.').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_address = host.parse::<IpAddr>().is_ok();
    let is_own_name = !is_address && label(host) == label(own_name) && label(host) != "localhost";
    if is_one_host {
        Listen::OnlyAt(of_one_host(found))
    } else if !is_own_name && !found.is_empty() && found.iter().all(is_loopback) {
        Listen::OnlyAt(found.to_vec())
    } else if is_address {
        Listen::At(found.to_vec())
    } else {
        Listen::Everywhere
    }
}

/// The addresses of rank 0's host. A name look-up ends after the limit.
fn look_up(host: &str, limit: Duration) -> io::Result<Vec<IpAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![address]);
    }
    let (sender, answer) = channel();
    let name = host.to_owned();
    // The system's own look-up has no time limit.
    std::thread::Builder::new().name("rccl name".into()).spawn(move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        drop(sender.send(found.map(|found| found.map(|address| address.ip()).collect::<Vec<_>>())));
    })?;
    let mut found = match answer.recv_timeout(limit) {
        Ok(found) => found?,
        Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
        Err(RecvTimeoutError::Disconnected) => Vec::new(),
    };
    let mut seen = std::collections::HashSet::new();
    found.retain(|address| seen.insert(*address));
    match found.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address")),
        false => Ok(found),
    }
}

/// The addresses where a rank looks for rank 0.
pub(super) fn places(launch: &Launch, limit: Duration) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = launch.address();
    let found = look_up(host, limit);
    let found = if launch.is_one_host() { of_one_host(&found.unwrap_or_default()) } else { found? };
    Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

/// Makes rank 0 listen, on at least one address.
pub(super) fn bind(launch: &Launch, limit: Duration) -> io::Result<Vec<TcpListener>> {
    let (host, port) = launch.address();
    let own_name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // Other hosts may be able to resolve a name that this host cannot.
    let found = look_up(host, limit).unwrap_or_default();
    let all = |addresses: &[IpAddr]| {
        let bind = |address: &IpAddr| TcpListener::bind((*address, port));
        let (bound, failed): (Vec<_>, Vec<_>) = addresses.iter().map(bind).partition(Result::is_ok);
        let bound: Vec<_> = bound.into_iter().flatten().collect();
        match failed.into_iter().find_map(Result::err) {
            Some(error) if bound.is_empty() => Err(error),
            _ => Ok(bound),
        }
    };
    // The first one serves both protocols, if the host has both.
    let everywhere = || {
        let [both, old] = EVERYWHERE.map(|address| [address]);
        all(&both).or_else(|error| if is_taken(&error) { Err(error) } else { all(&old) })
    };
    match listen(host, &own_name, &found, launch.is_one_host()) {
        Listen::OnlyAt(addresses) => all(&addresses),
        Listen::At(addresses) => match all(&addresses) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => everywhere(),
            result => result,
        },
        Listen::Everywhere => everywhere(),
    }
}

/// Whether another socket listens there.
pub(super) fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_job_of_one_host_is_offered_to_no_other() {
        for (host, found, at) in [
            ("127.0.0.1", &["127.0.0.1"][..], &["127.0.0.1"][..]),
            ("127.0.1.1", &["127.0.1.1"], &["127.0.1.1"]),
            ("LOCALHOST", &["::1", "127.0.0.1"], &["::1", "127.0.0.1"]),
            ("::ffff:127.0.0.1", &["::ffff:127.0.0.1"], &["::ffff:127.0.0.1"]),
            ("node1", &["10.0.0.1", "127.0.1.1"], &["127.0.1.1"]),
            ("node1", &["10.0.0.1"], &["127.0.0.1", "::1"]),
            ("10.0.0.1", &["10.0.0.1"], &["127.0.0.1", "::1"]),
            ("nowhere", &[], &["127.0.0.1", "::1"]),
        ] {
            assert_eq!(listen(host, "node1", &ips(found), true), Listen::OnlyAt(ips(at)), "{host}");
        }
    }

    #[test]
    fn a_job_of_several_hosts_listens_where_it_was_told() {
        for (host, found, at) in [
            ("127.0.1.1", &["127.0.1.1"][..], Listen::OnlyAt(ips(&["127.0.1.1"]))),
            ("localhost", &["::1", "127.0.0.1"], Listen::OnlyAt(ips(&["::1", "127.0.0.1"]))),
            ("10.0.0.1", &["10.0.0.1"], Listen::At(ips(&["10.0.0.1"]))),
            ("other", &["10.0.0.1"], Listen::Everywhere),
            ("other", &[], Listen::Everywhere),
            // As in Debian's `/etc/hosts`.
            ("Node1.cluster", &["127.0.1.1"], Listen::Everywhere),
            ("node1", &["127.0.1.1", "10.0.0.1"], Listen::Everywhere),
        ] {
            assert_eq!(listen(host, "node1\n", &ips(found), false), at, "{host}");
        }
        // Hosts without a name.
        assert!(matches!(listen("localhost", "localhost", &ips(&["127.0.0.1"]), false), Listen::OnlyAt(_)));
    }
}
