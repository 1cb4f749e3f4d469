use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::fake::{self, GRANULARITY};
use crate::{GrowableBuffer, drop_failures};

/// The fake's bookkeeping is global, so tests run one at a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const PAGE: usize = GRANULARITY.0;

#[test]
fn memory_is_mapped_once_and_where_nothing_is() {
    let _turn = turn();
    let device = fake::device(0);
    let range = AddressRange::reserve(&device, 4 * PAGE - 7).unwrap();
    assert_eq!((range.size(), range.granularity().minimum), (4 * PAGE, PAGE));
    let (one, two) =
        (PhysicalMemory::new(&device, 1).unwrap(), PhysicalMemory::new(&device, PAGE + 1).unwrap());
    assert_eq!((one.size(), two.size()), (PAGE, 2 * PAGE));
    let mapped = range.map::<u32>(PAGE, std::slice::from_ref(&two)).unwrap();
    assert_eq!((mapped.len(), mapped.address()), (2 * PAGE / 4, range.address().offset(PAGE)));
    let refused = |offset, memory: &[PhysicalMemory]| match range.map::<u8>(offset, memory) {
        Err(Error::VirtualMemory(error)) => error,
        other => panic!("{other:?}"),
    };
    let one_at = |offset| refused(offset, std::slice::from_ref(&one));
    assert_eq!(one_at(PAGE), VirtualMemoryError::Occupied { start: PAGE, end: 3 * PAGE });
    assert_eq!(one_at(2 * PAGE), VirtualMemoryError::Occupied { start: PAGE, end: 3 * PAGE });
    assert_eq!(one_at(1), VirtualMemoryError::Misaligned { offset: 1, granularity: PAGE });
    assert_eq!(refused(0, std::slice::from_ref(&two)), VirtualMemoryError::AlreadyMapped);
    // A list is mapped as a whole or not at all.
    assert_eq!(refused(0, &[one.clone(), one.clone()]), VirtualMemoryError::AlreadyMapped);
    assert_eq!(fake::virtual_memory(), (1, 2, 1));
    for offset in [4 * PAGE, usize::MAX - PAGE + 1, usize::MAX / PAGE * PAGE] {
        let outside = range.map::<u8>(offset, std::slice::from_ref(&one));
        assert!(matches!(outside, Err(Error::OutOfRange { .. })), "{outside:?}");
    }
    assert!(!one.is_mapped() && two.is_mapped());
    let rest = [range.map::<u8>(0, std::slice::from_ref(&one)).unwrap(), range.map(0, &[]).unwrap()];
    assert_eq!(rest.each_ref().map(DeviceBuffer::len), [PAGE, 0]);
    drop((mapped, rest));
    let again = range.map::<u8>(0, &[two, one]).unwrap();
    assert_eq!((again.len(), fake::virtual_memory().2), (3 * PAGE, 2));
}

#[test]
fn it_is_unmapped_when_its_streams_are_done_and_in_whatever_order_things_are_dropped() {
    let _turn = turn();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let make = || {
        let range = AddressRange::reserve(&device, 2 * PAGE).unwrap();
        let memory = PhysicalMemory::new(&device, PAGE).unwrap();
        let mut buffer = range.map::<u32>(0, std::slice::from_ref(&memory)).unwrap();
        buffer.fill(&stream, 1).unwrap();
        fake::calls(&stream);
        (range, memory, buffer)
    };
    let (range, memory, buffer) = make();
    drop(buffer);
    assert_eq!((fake::calls(&stream), fake::virtual_memory()), (vec!["synchronize"], (1, 1, 0)));
    drop((memory, range));
    let (range, memory, buffer) = make();
    drop(range);
    drop(memory);
    assert_eq!(fake::virtual_memory(), (1, 1, 1), "the buffer keeps both");
    drop(buffer);
    assert_eq!(fake::virtual_memory(), (0, 0, 0));
    // Dropping the buffer blocks while work still uses it.
    let (range, memory, buffer) = make();
    let hold = fake::hold(&stream);
    let dropping = std::thread::spawn(move || drop(buffer));
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(memory.is_mapped() && fake::virtual_memory().2 == 1);
    drop(hold);
    dropping.join().unwrap();
    assert_eq!((memory.is_mapped(), fake::virtual_memory()), (false, (1, 1, 0)));
    drop(range);
}

#[test]
fn what_cannot_be_unmapped_is_kept_and_counted() {
    let _turn = turn();
    let device = fake::device(0);
    let range = AddressRange::reserve(&device, 2 * PAGE).unwrap();
    let memory = PhysicalMemory::new(&device, PAGE).unwrap();
    let before = drop_failures();
    fake::fail_to_unmap();
    drop(range.map::<u32>(0, std::slice::from_ref(&memory)).unwrap());
    assert!(drop_failures() > before);
    let occupied = range.map::<u32>(0, &[PhysicalMemory::new(&device, PAGE).unwrap()]);
    assert!(matches!(occupied, Err(Error::VirtualMemory(VirtualMemoryError::Occupied { .. }))));
    let mapped = range.map::<u32>(PAGE, std::slice::from_ref(&memory));
    assert!(matches!(mapped, Err(Error::VirtualMemory(VirtualMemoryError::AlreadyMapped))));
    drop((range, memory));
    assert_eq!(fake::virtual_memory(), (1, 1, 1), "addresses and memory are not given back");
    fake::forget_virtual_memory();
}

#[test]
fn what_no_device_may_use_is_unmapped_again() {
    let _turn = turn();
    let device = fake::device(0);
    let range = AddressRange::reserve(&device, 4 * PAGE).unwrap();
    let two = [PAGE, 2 * PAGE].map(|bytes| PhysicalMemory::new(&device, bytes).unwrap());
    fake::refuse_access();
    let refused = range.map::<u32>(0, &two);
    assert!(matches!(refused, Err(Error::Hip { operation: "hipMemSetAccess", .. })), "{refused:?}");
    assert_eq!(fake::virtual_memory(), (1, 2, 0));
    // Nothing is left behind.
    let mapped = range.map::<u32>(0, &two).unwrap();
    assert_eq!((mapped.size_in_bytes(), fake::virtual_memory().2), (3 * PAGE, 2));
    let mut growable = GrowableBuffer::<u32>::new(&device, 3 * PAGE).unwrap();
    growable.grow(1).unwrap();
    let memory = growable.memory();
    fake::refuse_access();
    assert!(growable.grow(2 * PAGE).is_err());
    assert_eq!((growable.len(), growable.memory()), (1, memory));
    growable.grow(2 * PAGE).unwrap();
    assert!(growable.memory() > memory);
}

#[test]
fn devices_do_what_they_were_allowed() {
    let _turn = turn();
    let (device, other) = (fake::device(0), fake::device(1));
    let range = AddressRange::reserve(&device, 4 * PAGE).unwrap();
    let two = [PhysicalMemory::new(&device, PAGE).unwrap(), PhysicalMemory::new(&other, PAGE).unwrap()];
    let _buffer = range.map::<u32>(0, &two).unwrap();
    let access = |device| [5, PAGE + 5].map(|offset| range.access(offset, device).unwrap());
    assert_eq!((access(&device), access(&other)), ([Access::ReadWrite; 2], [Access::None; 2]));
    range.set_access(PAGE..2 * PAGE, &other, Access::Read).unwrap();
    assert_eq!(access(&other), [Access::None, Access::Read]);
    range.set_access(0..2 * PAGE, &device, Access::None).unwrap();
    assert_eq!(access(&device), [Access::None; 2]);
    #[allow(clippy::reversed_empty_ranges, reason = "that is the case under test")]
    for wrong in [0..5 * PAGE, 4 * PAGE + 1..4 * PAGE + 1, 2..1] {
        let outside = range.set_access(wrong, &device, Access::Read);
        assert!(matches!(outside, Err(Error::OutOfRange { .. })), "{outside:?}");
    }
    assert!(matches!(range.access(4 * PAGE, &device), Err(Error::OutOfRange { .. })));
    let part = range.set_access(0..PAGE + 1, &device, Access::Read);
    assert!(matches!(part, Err(Error::Hip { .. })), "{part:?}");
    assert!(matches!(range.access(2 * PAGE, &device), Err(Error::Hip { .. })));
}

#[test]
#[cfg_attr(miri, ignore = "Miri knows few kinds of files")]
fn only_what_was_made_for_it_is_exported() {
    let _turn = turn();
    let device = fake::device(0);
    let refused = PhysicalMemory::new(&device, PAGE).unwrap().export();
    assert!(matches!(refused, Err(Error::VirtualMemory(VirtualMemoryError::NotExportable))), "{refused:?}");
    let memory = PhysicalMemory::exportable(&device, 2 * PAGE).unwrap();
    let descriptor = memory.export().unwrap();
    // SAFETY: the fake's descriptors refer to its own memory, which nothing uses.
    let imported = unsafe { PhysicalMemory::import(&device, &descriptor) }.unwrap();
    assert_eq!(imported.size(), 2 * PAGE);
    assert_ne!(imported, memory);
    let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let empty = tempfile::tempfile().unwrap();
    // SAFETY: they are refused.
    let refused =
        unsafe { [PhysicalMemory::import(&device, &socket), PhysicalMemory::import(&device, &empty)] };
    for nothing in refused {
        let error = nothing.unwrap_err();
        assert!(matches!(error, Error::VirtualMemory(VirtualMemoryError::NoMemory { .. })), "{error}");
    }
}

#[test]
fn a_growable_buffer_maps_what_it_needs_and_keeps_it_as_long_as_it_is_used() {
    let _turn = turn();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut buffer = GrowableBuffer::<u32>::new(&device, 10_000).unwrap();
    assert_eq!(fake::virtual_memory(), (1, 0, 0));
    for (len, memory, pieces) in [(1, 8192, 1), (2048, 8192, 1), (2049, 16384, 2), (10_000, 40_960, 3)] {
        buffer.grow(len).unwrap();
        assert_eq!((buffer.memory(), fake::virtual_memory()), (memory, (1, pieces, pieces)), "{len}");
    }
    buffer.as_mut_slice().fill(&stream, 9).unwrap();
    assert_eq!(buffer.as_slice().to_vec(&stream).unwrap(), vec![9; 10_000]);
    assert!(matches!(buffer.grow(10_001), Err(Error::OutOfRange { .. })));
    let mut large = GrowableBuffer::<u8>::new(&device, 4 << 20).unwrap();
    assert!(matches!(large.grow(4 << 20), Err(Error::OutOfMemory { .. })));
    assert_eq!((large.len(), large.memory()), (0, 0));
    drop((buffer, large));
    assert_eq!(fake::virtual_memory(), (0, 0, 0));
}
