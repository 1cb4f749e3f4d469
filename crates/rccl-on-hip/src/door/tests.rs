use std::os::unix::net::UnixStream;

use super::*;
use crate::id::Id;

const LIMIT: Duration = Duration::from_secs(20);

fn name() -> String {
    Id::fresh().unwrap().socket().unwrap()
}

fn wanted(name: &str) -> Wanted<'_> {
    Wanted { name, head: b"head", bytes: 8192, user: own_user() }
}

fn host(name: &str) -> (File, Door) {
    match enter(wanted(name), Deadline::after(LIMIT), &|| false).unwrap() {
        Entry { memory, role: Role::Host(door) } => (memory, door),
        Entry { role: Role::Guest(_), .. } => panic!("somebody was here before"),
    }
}

/// What a guest gets from a serving host.
fn guest(door: &mut Door, wanted: Wanted<'_>) -> Result<File> {
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| enter(wanted, Deadline::after(LIMIT), &|| false));
        while !asks.is_finished() {
            door.serve(Duration::from_millis(1));
        }
        asks.join().unwrap().map(|entry| entry.memory)
    })
}

#[test]
fn all_ranks_have_the_same_memory_whose_size_nobody_changes() {
    let name = name();
    let (first, mut door) = host(&name);
    let second = guest(&mut door, wanted(&name)).unwrap();
    first.write_all_at(b"said", 4096).unwrap();
    for memory in [&first, &second] {
        let mut read = [0; 4];
        memory.read_exact_at(&mut read, 4096).unwrap();
        assert_eq!(&read, b"said");
        memory.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"head");
        for size in [0, 4096, 1 << 20] {
            let changed = memory.set_len(size).unwrap_err();
            assert_eq!(changed.kind(), io::ErrorKind::PermissionDenied, "{size}");
        }
        assert_eq!(memory.metadata().unwrap().len(), 8192);
        assert_eq!(memory.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn another_user_gets_nothing_and_is_told_so() {
    let name = name();
    let (_memory, mut door) = host(&name);
    let stranger = Wanted { user: own_user() + 1, ..wanted(&name) };
    let refused = guest(&mut door, stranger).unwrap_err();
    assert!(refused.text.contains("all ranks belong to one user"), "{}", refused.text);
    // The host checks the user, too.
    door.user += 1;
    let stream = connect(&name).unwrap().unwrap();
    while !door.serve(Duration::from_millis(1)) {}
    assert_eq!(receive(stream.as_fd()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert!(door.guests.is_empty());
    door.user -= 1;
    guest(&mut door, wanted(&name)).unwrap();
}

#[test]
fn silent_guests_keep_nobody_out() {
    let name = name();
    let (_memory, mut door) = host(&name);
    let _silent: Vec<_> = (0..20).map(|_| connect(&name).unwrap().unwrap()).collect();
    guest(&mut door, wanted(&name)).unwrap();
}

#[test]
fn a_host_that_goes_leaves_its_place_to_the_next() {
    let name = name();
    let (_memory, door) = host(&name);
    let next = std::thread::scope(|scope| {
        let asks = scope.spawn(|| enter(wanted(&name), Deadline::after(LIMIT), &|| false));
        drop(door);
        asks.join().unwrap().unwrap()
    });
    assert!(matches!(next.role, Role::Host(_)));
}

#[test]
fn who_gives_up_or_is_out_of_time_does_not_wait_for_a_silent_host() {
    let name = name();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _silent = UnixListener::bind_addr(&address).unwrap();
    let given_up = std::cell::Cell::new(0);
    let gives_up = || {
        given_up.set(given_up.get() + 1);
        given_up.get() > 2
    };
    assert!(enter(wanted(&name), Deadline::after(Duration::MAX), &gives_up).is_err());
    let late = enter(wanted(&name), Deadline::after(Duration::from_millis(10)), &|| false);
    assert_eq!(late.err().unwrap().code, ncclResult_t::ncclSystemError);
}

#[test]
fn what_is_not_sealed_memory_is_refused() {
    let whole = libc::TMPFS_MAGIC;
    assert!(is_sealed(SEALS, whole) && is_sealed(SEALS | libc::F_SEAL_FUTURE_WRITE, whole));
    for missing in [libc::F_SEAL_SHRINK, libc::F_SEAL_GROW, libc::F_SEAL_SEAL] {
        assert!(!is_sealed(SEALS & !missing, whole));
    }
    assert!(!is_sealed(-1, whole) && !is_sealed(SEALS, libc::HUGETLBFS_MAGIC));
    // An attacker may send a file instead.
    let path = std::env::temp_dir().join(name());
    let file = File::create_new(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(check_sealed(&file).is_err());
    let (here, there) = UnixStream::pair().unwrap();
    send(here.as_fd(), file.as_fd()).unwrap();
    let given = ask(&there, own_user(), Deadline::after(LIMIT), &|| false);
    let given = given.err().unwrap();
    assert!(
        given.text.contains("cannot use the memory") || given.text.contains("cannot open"),
        "{}",
        given.text
    );
}

#[test]
fn messages_without_one_descriptor_are_refused() {
    use std::io::Write as _;
    let (mut here, there) = UnixStream::pair().unwrap();
    assert_eq!(receive(there.as_fd()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    here.write_all(b"x").unwrap();
    assert_eq!(receive(there.as_fd()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    drop(here);
    assert_eq!(receive(there.as_fd()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}
