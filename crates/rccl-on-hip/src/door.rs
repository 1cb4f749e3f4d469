//! How the ranks of a communicator get their shared memory.
//!
//! The first rank makes the memory, and listens on an abstract Unix socket whose name is derived from the
//! unique id. The other ranks connect and receive the memory's descriptor. Nothing here has a name in a file
//! system. Both sides ask the system for the peer's user: all ranks belong to one user, and a stranger who
//! finds the socket gets nothing.
//!
//! The memory is sealed: no process, not even one of the same user, can change its size while others have it
//! mapped. A rank maps only sealed memory.

use std::ffi::{c_int, c_long};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rccl_sys::ncclResult_t;

use crate::error::{Failure, Result};

/// How long a rank waits before it tries again.
const PAUSE: Duration = Duration::from_millis(1);
/// How long it waits for an answer before it checks whether to go on.
const NAP: Duration = Duration::from_millis(50);
/// These seals fix the size of the memory, and themselves.
const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A deadline; any limit is valid, however long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    began: Instant,
    pub(crate) limit: Duration,
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self { began: Instant::now(), limit }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.began.elapsed() >= self.limit
    }
}

/// The memory as one rank has it: through its own open file, on which it may take locks.
pub(crate) struct Entry {
    pub(crate) memory: File,
    pub(crate) role: Role,
}

/// The part of a rank until all have joined.
pub(crate) enum Role {
    /// It sends the memory to the others.
    Host(Door),
    /// It got the memory from another rank. Closing this connection tells that rank that this one has taken
    /// its place.
    Guest(UnixStream),
}

/// The memory that a rank looks for or makes.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The name of the socket.
    pub(crate) name: &'a str,
    /// The first bytes of the memory; the rest is zeros.
    pub(crate) head: &'a [u8],
    pub(crate) bytes: usize,
    /// The user whose processes may have it.
    pub(crate) user: libc::uid_t,
}

/// The socket where the other ranks get the memory.
pub(crate) struct Door {
    listener: UnixListener,
    user: libc::uid_t,
    memory: File,
    /// Ranks that have got it, but have not taken their places yet.
    guests: Vec<UnixStream>,
}

/// Finds the memory or makes it.
///
/// Waits until the rank that made it answers, the time is up, or `gives_up` returns true.
pub(crate) fn enter(wanted: Wanted<'_>, deadline: Deadline, gives_up: &dyn Fn() -> bool) -> Result<Entry> {
    let system = |what| move |error| Failure::system(what, error);
    let address = SocketAddr::from_abstract_name(wanted.name).map_err(system("a socket's name"))?;
    while !gives_up() {
        if let Some(stream) = connect(wanted.name).map_err(system("cannot connect to another rank"))? {
            if let Some(memory) = ask(&stream, wanted.user, deadline, gives_up)? {
                return Ok(Entry { memory, role: Role::Guest(stream) });
            }
        } else {
            match UnixListener::bind_addr(&address) {
                Ok(listener) => {
                    let made = Door::host(listener, wanted);
                    return made.map_err(system("cannot make memory for several ranks"));
                }
                // Another rank is about to listen, or has too many guests to answer this one yet.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(Failure::system("cannot listen for other ranks", error)),
            }
        }
        if deadline.is_over() {
            let limit = deadline.limit;
            let text = format!("no other rank sent the shared memory within {limit:?}");
            return Err(Failure::new(ncclResult_t::ncclSystemError, text));
        }
        std::thread::sleep(PAUSE);
    }
    Err(Failure::usage("the communicator was given up before its ranks had joined"))
}

/// Receives the memory from the rank at the other end. `None` if that rank is gone, or the time is up.
fn ask(
    stream: &UnixStream,
    user: libc::uid_t,
    deadline: Deadline,
    gives_up: &dyn Fn() -> bool,
) -> Result<Option<File>> {
    let system = |what| move |error| Failure::system(what, error);
    let host = user_of(stream).map_err(system("cannot tell who the other rank is"))?;
    if host != user {
        let text = format!(
            "the memory of this communicator belongs to user {host}, but this rank to user {user}: all ranks belong to one user"
        );
        return Err(Failure::new(ncclResult_t::ncclSystemError, text));
    }
    while !gives_up() && !deadline.is_over() {
        wait_for([stream.as_fd()].into_iter(), NAP);
        match receive(stream.as_fd()) {
            Ok(given) => {
                let memory =
                    reopen(given.as_fd()).map_err(system("cannot open the memory of another rank"))?;
                check_sealed(&memory).map_err(system("cannot use the memory of another rank"))?;
                return Ok(Some(memory));
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => {}
                io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => return Ok(None),
                _ => return Err(Failure::system("cannot get the memory from another rank", error)),
            },
        }
    }
    Ok(None)
}

impl Door {
    fn host(listener: UnixListener, wanted: Wanted<'_>) -> io::Result<Entry> {
        listener.set_nonblocking(true)?;
        let given = make(wanted.head, wanted.bytes)?;
        // A passed descriptor shares its open file, and so its locks. So the rank takes its lock on another
        // open file.
        let memory = reopen(given.as_fd())?;
        let door = Self { listener, user: wanted.user, memory: given, guests: Vec::new() };
        Ok(Entry { memory, role: Role::Host(door) })
    }

    /// Sends the memory to ranks that connect, until one has taken its place or the time is up. True if
    /// anything happened.
    pub(crate) fn serve(&mut self, nap: Duration) -> bool {
        let doors =
            std::iter::once(self.listener.as_fd()).chain(self.guests.iter().map(|guest| guest.as_fd()));
        let ready = wait_for(doors, nap);
        if !ready.contains(&true) {
            return false;
        }
        // A guest sends nothing. If its connection closes, it has taken its place or is gone.
        let mut is_gone = ready.iter().skip(1);
        self.guests.retain(|_| is_gone.next() != Some(&true));
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => match self.answer(&stream) {
                    Ok(true) => self.guests.push(stream),
                    Ok(false) => {}
                    Err(error) => tracing::debug!(%error, "cannot answer a rank that has connected"),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a rank's connection yet");
                    std::thread::sleep(PAUSE);
                    return true;
                }
            }
        }
    }

    /// Sends the memory over a connection, if the peer is the same user.
    fn answer(&self, stream: &UnixStream) -> io::Result<bool> {
        let user = user_of(stream)?;
        if user != self.user {
            tracing::warn!(user, "refused another user's request for the memory of a communicator");
            return Ok(false);
        }
        stream.set_nonblocking(true)?;
        send(stream.as_fd(), self.memory.as_fd()).map(|()| true)
    }
}

/// Makes new memory, sealed and fully allocated.
fn make(head: &[u8], bytes: usize) -> io::Result<File> {
    // SAFETY: the name is a text; nothing else owns the returned descriptor.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"rccl".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    // Allocate all of it now. If the machine lacks memory, the first access would otherwise kill the process.
    let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: the descriptor is the file's.
    let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    file.write_all_at(head, 0)?;
    // SAFETY: the call takes plain numbers.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The same memory through a new open file.
fn reopen(memory: BorrowedFd<'_>) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    File::options().read(true).write(true).open(path)
}

/// Fails unless it is memory whose size is sealed.
fn check_sealed(memory: &File) -> io::Result<()> {
    // SAFETY: the call takes plain numbers.
    let seals = unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_GET_SEALS) };
    // SAFETY: all fields are numbers.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is the file's, and the place is valid for writes.
    let told = unsafe { libc::fstatfs(memory.as_raw_fd(), &raw mut system) } == 0;
    match told && is_sealed(seals, system.f_type as c_long) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not sealed memory")),
    }
}

/// Whether a file with these seals (-1 if it can have none), on this file system, is memory of a fixed size.
fn is_sealed(seals: c_int, system: c_long) -> bool {
    seals >= 0 && seals & SEALS == SEALS && system == c_long::from(libc::TMPFS_MAGIC)
}

/// The user of this process.
pub(crate) fn own_user() -> libc::uid_t {
    // SAFETY: the call takes nothing.
    unsafe { libc::geteuid() }
}

/// The user of the peer.
fn user_of(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let mut peer = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both are valid for writes, and the size is that of the first.
    let code = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut size,
        )
    };
    if code == 0 { Ok(peer.uid) } else { Err(io::Error::last_os_error()) }
}

/// Connects to an abstract socket without waiting. `None` if nothing listens there, or its backlog is full.
fn connect(name: &str) -> io::Result<Option<UnixStream>> {
    // SAFETY: the call takes numbers; nothing else owns the returned descriptor.
    let socket = unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let descriptor = libc::socket(libc::AF_UNIX, kind, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(descriptor)
    };
    // SAFETY: all fields are numbers.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // Abstract names begin with a zero byte, and end at the address's length.
    for (to, byte) in address.sun_path.iter_mut().skip(1).zip(name.bytes()) {
        *to = byte as _;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    // SAFETY: the address is a Unix socket's, of at least that length: `from_abstract_name` has accepted the
    // name.
    let code =
        unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length as libc::socklen_t) };
    if code == 0 {
        return Ok(Some(UnixStream::from(socket)));
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::ECONNREFUSED | libc::EAGAIN | libc::EINTR)) => {
            Ok(None)
        }
        error => Err(error),
    }
}

/// Waits until any of the sockets is readable, for at most the limit. Returns which are.
fn wait_for<'a>(sockets: impl Iterator<Item = BorrowedFd<'a>>, limit: Duration) -> Vec<bool> {
    let poll =
        |socket: BorrowedFd<'_>| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<_> = sockets.map(poll).collect();
    // SAFETY: the list has this many entries.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, limit.as_millis() as c_int) };
    polls.iter().map(|poll| poll.revents != 0).collect()
}

/// Space for the descriptors of a message, aligned as the system requires.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// # Safety
/// The message is used only while both arguments stay where they are.
unsafe fn message(byte: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all fields are numbers and null pointers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = byte;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    message
}

/// Sends a descriptor, with one byte.
fn send(socket: BorrowedFd<'_>, memory: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control([0; 64]);
    // SAFETY: everything is on the stack until the call returns; the macros place the control message within
    // its space.
    let sent = unsafe {
        let mut message = message(&mut part, &mut control);
        let size = size_of::<c_int>() as u32;
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(head).cast::<c_int>().write_unaligned(memory.as_raw_fd());
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives one descriptor without waiting. `WouldBlock` if none is there yet, `UnexpectedEof` if none will
/// come.
fn receive(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control([0; 64]);
    // SAFETY: everything is on the stack until the call returns.
    let (message, read) = unsafe {
        let mut message = message(&mut part, &mut control);
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        let read = libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags);
        // Now it has the length of what was received.
        (message, read)
    };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    // This process owns all received descriptors, and closes those that it does not want.
    let mut given = Vec::new();
    // SAFETY: the system has filled in the control messages, and the macros find them within their space;
    // nothing else owns the descriptors.
    unsafe {
        let mut head = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(found) = head.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let bytes = found.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let list = libc::CMSG_DATA(head).cast::<c_int>();
                let descriptors = (0..bytes / size_of::<c_int>()).map(|at| list.add(at).read_unaligned());
                given.extend(descriptors.map(|descriptor| OwnedFd::from_raw_fd(descriptor)));
            }
            head = libc::CMSG_NXTHDR(&raw const message, head);
        }
    }
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match (given.pop(), given.is_empty()) {
        (Some(memory), true) => Ok(memory),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not exactly one descriptor")),
    }
}

#[cfg(test)]
mod tests;
