//! How the ranks of a communicator get at the memory that they share.
//!
//! The first rank that comes makes the memory, and listens on an abstract Unix socket whose name follows from the unique id. The others
//! connect, and get the memory's descriptor. Nothing of it has a name in a file system, and both sides ask the system who is at the other
//! end: ranks belong to one user, and a stranger who has found the socket's name out gets nothing.
//!
//! The memory is sealed: nobody, not even a process of the same user, can change its size while others have it mapped. A rank maps
//! nothing that is not.

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

/// How long a rank waits before it asks again.
const PAUSE: Duration = Duration::from_millis(1);
/// How long it waits for an answer before it looks whether it still has to.
const NAP: Duration = Duration::from_millis(50);
/// Nobody can change the size of the memory, nor take that back.
const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A time that is over at some point, however long the limit.
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

/// The memory as one rank has it: by a descriptor that it shares with no other rank, and on which it may lock what it likes.
pub(crate) struct Entry {
    pub(crate) memory: File,
    pub(crate) role: Role,
}

/// What a rank does until all have come.
pub(crate) enum Role {
    /// It gives the memory to the others.
    Host(Door),
    /// It has the memory from another rank, which is told by the end of this connection that this one has taken its place.
    Guest(UnixStream),
}

/// The memory that a rank looks for, or makes.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Of the socket.
    pub(crate) name: &'a str,
    /// What the memory begins with; the rest is zeros.
    pub(crate) head: &'a [u8],
    pub(crate) bytes: usize,
    /// Whose processes may have it.
    pub(crate) user: libc::uid_t,
}

/// Where the other ranks get the memory.
pub(crate) struct Door {
    listener: UnixListener,
    user: libc::uid_t,
    memory: File,
    /// Those that have got it, and have not taken their places yet.
    guests: Vec<UnixStream>,
}

/// Finds the memory, or makes it.
///
/// Waits until the rank that has made it answers, the time is over, or `gives_up` says so.
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
                // Another rank is about to listen, or has so many guests that it has not come to this one.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(Failure::system("cannot listen for other ranks", error)),
            }
        }
        if deadline.is_over() {
            let limit = deadline.limit;
            let text = format!("no rank has given this one the memory that they share within {limit:?}");
            return Err(Failure::new(ncclResult_t::ncclSystemError, text));
        }
        std::thread::sleep(PAUSE);
    }
    Err(Failure::usage("the communicator was given up before its ranks came together"))
}

/// Gets the memory from the rank that is at the other end. None if that is gone, or the time is over.
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
            "the memory of this communicator is user {host}'s, and this rank is user {user}'s: all ranks belong to one user"
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
        // Who gets a message of this process gets the same open file, with its locks. So the rank locks another one.
        let memory = reopen(given.as_fd())?;
        let door = Self { listener, user: wanted.user, memory: given, guests: Vec::new() };
        Ok(Entry { memory, role: Role::Host(door) })
    }

    /// Gives the memory to those who come, until one of them has taken its place or some time is over. True if anything has happened.
    pub(crate) fn serve(&mut self, nap: Duration) -> bool {
        let doors =
            std::iter::once(self.listener.as_fd()).chain(self.guests.iter().map(|guest| guest.as_fd()));
        let ready = wait_for(doors, nap);
        if !ready.contains(&true) {
            return false;
        }
        // A guest says nothing: it is gone, to its place or altogether.
        let mut is_gone = ready.iter().skip(1);
        self.guests.retain(|_| is_gone.next() != Some(&true));
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => match self.answer(&stream) {
                    Ok(true) => self.guests.push(stream),
                    Ok(false) => {}
                    Err(error) => tracing::debug!(%error, "a rank has come that cannot be answered"),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) => {
                    tracing::warn!(%error, "a rank that has come cannot be let in yet");
                    std::thread::sleep(PAUSE);
                    return true;
                }
            }
        }
    }

    /// Gives the memory to one who has come, if it is the same user's.
    fn answer(&self, stream: &UnixStream) -> io::Result<bool> {
        let user = user_of(stream)?;
        if user != self.user {
            tracing::warn!(user, "another user has asked for the memory of a communicator, and got nothing");
            return Ok(false);
        }
        stream.set_nonblocking(true)?;
        send(stream.as_fd(), self.memory.as_fd()).map(|()| true)
    }
}

/// New memory, which is sealed and all there.
fn make(head: &[u8], bytes: usize) -> io::Result<File> {
    // SAFETY: the name is a text; the descriptor that is returned belongs to nobody else.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"rccl".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    // All of it is taken now: a machine that has no more would otherwise end the process at the first access.
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

/// The same memory by an open file of its own.
fn reopen(memory: BorrowedFd<'_>) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    File::options().read(true).write(true).open(path)
}

/// An error unless it is memory whose size nobody can change.
fn check_sealed(memory: &File) -> io::Result<()> {
    // SAFETY: the call takes plain numbers.
    let seals = unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_GET_SEALS) };
    // SAFETY: all of it are numbers.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is the file's, and the place is one to write to.
    let told = unsafe { libc::fstatfs(memory.as_raw_fd(), &raw mut system) } == 0;
    match told && is_sealed(seals, system.f_type as c_long) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not sealed memory")),
    }
}

/// Whether a file with such seals (-1 if it can have none), of such a file system, is memory that stays as large as it is.
fn is_sealed(seals: c_int, system: c_long) -> bool {
    seals >= 0 && seals & SEALS == SEALS && system == c_long::from(libc::TMPFS_MAGIC)
}

/// The user of this process.
pub(crate) fn own_user() -> libc::uid_t {
    // SAFETY: the call takes nothing.
    unsafe { libc::geteuid() }
}

/// The user at the other end.
fn user_of(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let mut peer = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both are places to write to, and the size is that of the first.
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

/// Connects to an abstract socket without waiting. None if nobody listens there, or more have come than it has room for.
fn connect(name: &str) -> io::Result<Option<UnixStream>> {
    // SAFETY: the call takes numbers; the descriptor that is returned belongs to nobody else.
    let socket = unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let descriptor = libc::socket(libc::AF_UNIX, kind, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(descriptor)
    };
    // SAFETY: all of it are numbers.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // Names of this kind begin with a zero, and end with the address.
    for (to, byte) in address.sun_path.iter_mut().skip(1).zip(name.bytes()) {
        *to = byte as _;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    // SAFETY: the address is that of a Unix socket, of at least that length: `from_abstract_name` has taken the name.
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

/// Waits until any of them has something to say, for some time at most. Tells which have.
fn wait_for<'a>(sockets: impl Iterator<Item = BorrowedFd<'a>>, limit: Duration) -> Vec<bool> {
    let poll =
        |socket: BorrowedFd<'_>| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<_> = sockets.map(poll).collect();
    // SAFETY: the list has so many places.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, limit.as_millis() as c_int) };
    polls.iter().map(|poll| poll.revents != 0).collect()
}

/// Room for the descriptors that come with a message, aligned as the system wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// # Safety
/// The message is used while the two others are where they are.
unsafe fn message(byte: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all of it are numbers and null pointers.
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
    // SAFETY: all of it is on the stack until the call has returned; the control message lies within its room, as the macros place it.
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

/// Receives one descriptor without waiting. `WouldBlock` if there is none yet, `UnexpectedEof` if there will be none.
fn receive(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control([0; 64]);
    // SAFETY: all of it is on the stack until the call has returned.
    let (message, read) = unsafe {
        let mut message = message(&mut part, &mut control);
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        (message, libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags))
    };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    // Whatever has come is this process's now, and is closed if it is not wanted.
    let mut given = Vec::new();
    // SAFETY: the system has filled the control messages in, which the macros find within their room; the descriptors belong to nobody else.
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
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not one descriptor")),
    }
}

#[cfg(test)]
mod tests;
