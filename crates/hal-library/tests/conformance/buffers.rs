//! Memory.

use hal::{Error, MemoryKind, Options, Semaphore};

use crate::common::{LONG, setups, setups_with};

#[test]
fn ranges_outside_a_buffer_are_refused() {
    for setup in setups() {
        for kind in [MemoryKind::Device, MemoryKind::Host] {
            let buffer = setup.device.allocate(kind, 100).unwrap();
            assert_eq!((buffer.size(), buffer.kind()), (100, kind));
            buffer.write(96, b"1234").unwrap();
            let mut bytes = [0; 4];
            buffer.read(96, &mut bytes).unwrap();
            assert_eq!(&bytes, b"1234");
            let out =
                |offset, len| Err(Error::OutOfRange { what: "a buffer".to_owned(), offset, len, size: 100 });
            assert_eq!(buffer.write(97, b"1234"), out(97, 4));
            assert_eq!(buffer.read(u64::MAX, &mut bytes), out(u64::MAX, 4));
            assert!(matches!(setup.device.allocate(kind, 0), Err(Error::Option { name: "size", .. })));
            assert!(setup.device.allocate(kind, 1 << 50).is_err());
            assert!(setup.device.allocate_on(kind, 1, 4).is_err());
        }
    }
}

#[test]
fn blocks_are_shared_and_come_back() {
    let mut options = Options::default();
    options.block = 1 << 20;
    for setup in setups_with(&options) {
        let statistics = || setup.device.statistics(MemoryKind::Device, 0).unwrap();
        let before = statistics();
        let small: Vec<_> =
            (0..100).map(|_| setup.device.allocate(MemoryKind::Device, 1000).unwrap()).collect();
        let addresses: std::collections::BTreeSet<u64> = small.iter().map(|one| one.address()).collect();
        assert_eq!(addresses.len(), 100);
        assert_eq!(statistics().asked, before.asked + 1);
        assert_eq!(statistics().used, before.used + 100 * 1024);
        let large = setup.device.allocate(MemoryKind::Device, 3 << 20).unwrap();
        assert_eq!(statistics().asked, before.asked + 2);
        drop((small, large));
        let after = statistics();
        assert_eq!((after.used, after.reserved), (before.used, 1 << 20));
        assert_eq!(after.most, before.used + 100 * 1024 + (3 << 20));
        assert_eq!(setup.device.statistics(MemoryKind::Device, 1), None);
    }
}

#[test]
fn memory_of_the_host_has_a_limit_of_its_own() {
    let mut options = Options::default();
    (options.block, options.host_limit) = (1 << 20, 1 << 20);
    for setup in setups_with(&options) {
        let _held = setup.device.allocate(MemoryKind::Host, 800 << 10).unwrap();
        let error = setup.device.allocate(MemoryKind::Host, 800 << 10).unwrap_err();
        assert!(matches!(error, Error::Limit { pool: "host", limit: 0x10_0000, .. }), "{error}");
        setup.device.allocate(MemoryKind::Device, 2 << 20).unwrap();
    }
}

#[test]
fn memory_that_work_lets_go_of_is_there_for_later_work() {
    let mut options = Options::default();
    (options.block, options.limit) = (1 << 20, 4 << 20);
    for setup in setups_with(&options) {
        let line = Semaphore::new(0);
        let first = setup.queue.allocate(MemoryKind::Device, 3 << 20, &[], &[(&line, 1)]).unwrap();
        line.wait(1, LONG).unwrap();
        let buffer = first.get().expect("memory");
        // There is no room for both until the first has gone.
        let error = setup.device.allocate(MemoryKind::Device, 2 << 20).unwrap_err();
        assert!(matches!(error, Error::Limit { pool: "device", used, .. } if used == 3 << 20), "{error}");
        let second = setup.queue.allocate(MemoryKind::Device, 3 << 20, &[(&line, 1)], &[(&line, 3)]).unwrap();
        assert!(second.get().is_none());
        let go = Semaphore::new(0);
        drop(first);
        setup.queue.deallocate(buffer, &[(&line, 1), (&go, 1)], &[]).unwrap();
        assert!(second.get().is_none());
        go.signal(1).unwrap();
        line.wait(3, LONG).unwrap();
        assert_eq!(second.get().expect("memory").size(), 3 << 20);
        assert_eq!(setup.device.statistics(MemoryKind::Device, 0).unwrap().most, 3 << 20);
        // Nothing could ever make room for this.
        let never = Semaphore::new(0);
        setup.queue.allocate(MemoryKind::Device, 5 << 20, &[], &[(&never, 1)]).unwrap();
        assert!(matches!(never.wait(1, LONG), Err(Error::Limit { .. })));
    }
}
