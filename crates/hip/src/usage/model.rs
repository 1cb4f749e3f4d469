//! Runs random programs of streams, buffers, graphs, host functions, faults and drops on the device of
//! [`fake::step`](crate::fake::step). That device checks one rule about memory accesses, and does not depend
//! on how this crate orders streams.

use proptest::prelude::*;

use crate::fake::step::Session;
use crate::memory::Allocator;
use crate::{DeviceBuffer, Error, Event, Graph, GraphExec, ManagedBuffer, Result, Stream};

const STREAMS: usize = 4;
const BUFFERS: usize = 3;
const LEN: usize = 8;

/// One action of a program or its device. Numbers name streams and buffers; the buffer after the last one is
/// the managed one.
#[derive(Clone, Debug)]
enum Do {
    New(usize, usize),
    Drop(usize),
    Fill(usize, usize),
    Copy(usize, usize, usize),
    Read(usize, usize),
    /// Fills both halves of a buffer, each on its own stream.
    Halves(usize, usize, usize),
    Host,
    HostMut,
    /// Makes a graph that fills one buffer and copies it to another.
    Graph(usize, usize),
    Launch(usize),
    DropGraph,
    HostFunction(usize),
    Record(usize),
    WaitEvent(usize),
    WaitStream(usize, usize),
    Steps(usize, usize),
    Fault(usize),
    NewStream(usize),
}

fn things() -> impl Strategy<Value = Vec<Do>> {
    let stream = || 0..STREAMS;
    let buffer = || 0..BUFFERS;
    let any = || 0..=BUFFERS;
    let thing = prop_oneof![
        2 => (buffer(), stream()).prop_map(|(b, s)| Do::New(b, s)),
        2 => buffer().prop_map(Do::Drop),
        8 => (any(), stream()).prop_map(|(b, s)| Do::Fill(b, s)),
        4 => (any(), any(), stream()).prop_map(|(a, b, s)| Do::Copy(a, b, s)),
        1 => (any(), stream()).prop_map(|(b, s)| Do::Read(b, s)),
        1 => (any(), stream(), stream()).prop_map(|(b, s, t)| Do::Halves(b, s, t)),
        1 => Just(Do::Host),
        2 => Just(Do::HostMut),
        1 => (any(), any()).prop_map(|(a, b)| Do::Graph(a, b)),
        2 => stream().prop_map(Do::Launch),
        1 => Just(Do::DropGraph),
        1 => stream().prop_map(Do::HostFunction),
        1 => stream().prop_map(Do::Record),
        1 => stream().prop_map(Do::WaitEvent),
        1 => (stream(), stream()).prop_map(|(s, t)| Do::WaitStream(s, t)),
        6 => (stream(), 1..4_usize).prop_map(|(s, n)| Do::Steps(s, n)),
        3 => stream().prop_map(Do::Fault),
        1 => stream().prop_map(Do::NewStream),
    ];
    prop::collection::vec(thing, 1..60)
}

/// A running program and its objects.
struct Program {
    streams: Vec<Stream>,
    buffers: Vec<Option<DeviceBuffer<u32>>>,
    managed: ManagedBuffer<u32>,
    graph: Option<(Graph, GraphExec)>,
    event: Option<Event>,
    /// The contents of each buffer, if known despite any failures; the managed one comes last.
    known: [Option<u32>; BUFFERS + 1],
    session: Session,
}

/// Accepts the errors that a program may get: a stream has failed, or a graph has the managed buffer.
fn allowed<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Fault(_) | Error::Unsupported { .. }) => None,
        Err(error) => panic!("{error:?}"),
    }
}

impl Program {
    fn new(allocator: Allocator) -> Self {
        let session = Session::begin();
        session.device.set_allocator_despite_quirks(allocator).unwrap();
        let streams: Vec<_> = (0..STREAMS).map(|_| session.device.stream().unwrap()).collect();
        let managed = ManagedBuffer::zeroed(&session.device, LEN).unwrap();
        let buffers = std::iter::repeat_with(|| None).take(BUFFERS).collect();
        let mut known = [None; BUFFERS + 1];
        known[BUFFERS] = Some(0);
        Self { streams, buffers, managed, graph: None, event: None, known, session }
    }

    fn view(&mut self, buffer: usize) -> Option<crate::DeviceSliceMut<'_, u32>> {
        match self.buffers.get_mut(buffer) {
            Some(buffer) => Some(buffer.as_mut()?.as_mut_slice()),
            None => Some(self.managed.as_mut_slice()),
        }
    }

    fn run(&mut self, place: usize, thing: &Do) {
        let value = place as u32 + 1;
        match *thing {
            Do::New(buffer, stream) => {
                self.buffers[buffer] = None;
                self.buffers[buffer] = allowed(DeviceBuffer::zeroed(&self.streams[stream], LEN));
                self.known[buffer] = Some(0);
            }
            Do::Drop(buffer) => self.buffers[buffer] = None,
            Do::Fill(buffer, stream) => {
                let stream = self.streams[stream].clone();
                let Some(mut view) = self.view(buffer) else { return };
                let filled = allowed(view.fill(&stream, value));
                self.known[buffer] = filled.map(|()| value);
            }
            Do::Copy(to, from, stream) => {
                if to == from || self.view(from).is_none() {
                    return;
                }
                let stream = self.streams[stream].clone();
                // Both are taken out, because two could not be borrowed at once.
                let copied = match (to.min(BUFFERS), from.min(BUFFERS)) {
                    (BUFFERS, from) => {
                        let Some(source) = &self.buffers[from] else { return };
                        self.managed.as_mut_slice().copy_from(&stream, source)
                    }
                    (to, BUFFERS) => {
                        let Some(target) = &mut self.buffers[to] else { return };
                        target.copy_from(&stream, &self.managed)
                    }
                    (to, from) => {
                        let source = self.buffers[from].take().expect("a buffer");
                        let copied =
                            self.buffers[to].as_mut().map(|target| target.copy_from(&stream, &source));
                        self.buffers[from] = Some(source);
                        let Some(copied) = copied else { return };
                        copied
                    }
                };
                self.known[to] = allowed(copied).and(self.known[from]);
            }
            Do::Read(buffer, stream) => {
                let (stream, known) = (self.streams[stream].clone(), self.known[buffer]);
                let Some(view) = self.view(buffer) else { return };
                let read = allowed(view.as_slice().to_vec(&stream));
                if let (Some(read), Some(known)) = (read, known) {
                    assert_eq!(read, [known; LEN]);
                }
            }
            Do::Halves(buffer, one, two) => {
                let (one, two) = (self.streams[one].clone(), self.streams[two].clone());
                let Some(view) = self.view(buffer) else { return };
                let (mut low, mut high) = view.split_at_mut(LEN / 2).unwrap();
                let filled =
                    allowed(low.fill(&one, value)).is_some() & allowed(high.fill(&two, value)).is_some();
                self.known[buffer] = filled.then_some(value);
            }
            Do::Host => {
                if let Some(elements) = allowed(self.managed.host()) {
                    self.session.host_sees(elements, false);
                }
            }
            Do::HostMut => {
                if let Some(elements) = allowed(self.managed.host_mut()) {
                    self.session.host_sees(elements, true);
                    elements.fill(value);
                    self.known[BUFFERS] = Some(value);
                }
            }
            Do::Graph(one, two) => {
                let mut graph = Graph::new(&self.session.device).unwrap();
                let Some(view) = self.view(one) else { return };
                let filled = graph.add_fill(view, value, &[]).unwrap();
                if one < BUFFERS && two == BUFFERS {
                    let source = self.buffers[one].as_ref().expect("a buffer");
                    graph.add_copy(self.managed.as_mut_slice(), source, &[filled]).unwrap();
                }
                let exec = graph.instantiate().unwrap();
                self.graph = Some((graph, exec));
            }
            Do::Launch(stream) => {
                if let Some((_, exec)) = &self.graph {
                    allowed(exec.launch(&self.streams[stream]));
                    self.known = [None; BUFFERS + 1];
                }
            }
            Do::DropGraph => self.graph = None,
            Do::HostFunction(stream) => {
                allowed(self.streams[stream].host_function(|| {}));
            }
            Do::Record(stream) => self.event = allowed(self.streams[stream].record()),
            Do::WaitEvent(stream) => {
                if let Some(event) = &self.event {
                    allowed(self.streams[stream].wait_event(event));
                }
            }
            Do::WaitStream(one, two) => {
                allowed(self.streams[one].wait_stream(&self.streams[two]));
            }
            Do::Steps(stream, count) => self.session.steps(&self.streams[stream], count),
            Do::Fault(stream) => {
                self.session.fault(&self.streams[stream]);
                self.known = [None; BUFFERS + 1];
            }
            Do::NewStream(stream) => self.streams[stream] = self.session.device.stream().unwrap(),
        }
        assert_eq!(self.session.broken(), Vec::<String>::new(), "after step {place}");
    }
}

fn run(allocator: Allocator, things: &[Do]) {
    let mut program = Program::new(allocator);
    for (place, thing) in things.iter().enumerate() {
        program.run(place, thing);
    }
    let Program { streams, buffers, managed, graph, event, session, .. } = program;
    drop((buffers, managed, graph, event, streams));
    assert_eq!(session.broken(), Vec::<String>::new(), "at the end");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 3000 }) })]

    #[test]
    fn nobody_touches_what_others_use_whatever_fails(
        things in things(),
        allocator in prop_oneof![Just(Allocator::Caching), Just(Allocator::Direct), Just(Allocator::StreamOrdered)],
    ) {
        run(allocator, &things);
    }
}

/// The second stream fails before it has waited for the first one, which still has work.
fn a_successor_fails(allocator: Allocator, then: &[Do]) {
    let failed = [
        Do::New(0, 0),
        Do::Fill(BUFFERS, 0),
        Do::Fill(0, 0),
        Do::Fill(1, 1),
        Do::Fill(BUFFERS, 1),
        Do::Fill(0, 1),
        Do::Fault(1),
    ];
    run(allocator, &[&failed[..], then].concat());
}

#[test]
fn the_host_does_not_get_what_the_predecessor_of_a_failed_stream_writes() {
    a_successor_fails(Allocator::Direct, &[Do::HostMut]);
    a_successor_fails(Allocator::Direct, &[Do::Fill(BUFFERS, 2), Do::Host]);
    a_successor_fails(Allocator::Direct, &[Do::NewStream(1), Do::Fill(BUFFERS, 2), Do::HostMut]);
}

#[test]
fn a_stream_comes_after_the_predecessor_of_a_failed_one() {
    a_successor_fails(Allocator::Direct, &[Do::Fill(0, 2), Do::Steps(2, 9)]);
    // The failure comes after the third stream has begun to wait.
    run(
        Allocator::Direct,
        &[Do::New(0, 0), Do::Fill(0, 1), Do::Fill(0, 2), Do::Fault(1), Do::Steps(2, 9), Do::Steps(0, 9)],
    );
}

#[test]
fn memory_that_the_predecessor_of_a_failed_stream_writes_is_nobody_elses() {
    for allocator in [Allocator::Caching, Allocator::Direct, Allocator::StreamOrdered] {
        a_successor_fails(allocator, &[Do::Drop(0), Do::New(0, 2), Do::Steps(2, 9)]);
        // Either one fails, before or after the memory gets a new owner.
        for failed in [0, 1] {
            let (drop, new, fault) = (Do::Drop(0), Do::New(0, 2), Do::Fault(failed));
            for then in [[drop.clone(), fault.clone(), new.clone()], [drop, new, fault]] {
                let things = [&[Do::New(0, 0), Do::Fill(0, 1)][..], &then, &[Do::Steps(2, 9)]];
                run(allocator, &things.concat());
            }
        }
    }
}

#[test]
fn nobody_waits_for_what_a_past_user_does_later() {
    let session = Session::begin();
    session.device.set_allocator(Allocator::Direct).unwrap();
    let streams: Vec<_> = (0..3).map(|_| session.device.stream().unwrap()).collect();
    let mut later = DeviceBuffer::<u32>::uninit(&session.device, LEN).unwrap();
    let mut managed = ManagedBuffer::<u32>::zeroed(&session.device, LEN).unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit(&session.device, LEN).unwrap();
    for stream in &streams[..2] {
        managed.as_mut_slice().fill(stream, 1).unwrap();
        buffer.fill(stream, 1).unwrap();
    }
    later.fill(&streams[0], 2).unwrap();
    session.fault(&streams[1]);
    managed.as_mut_slice().fill(&streams[2], 3).unwrap();
    buffer.fill(&streams[2], 3).unwrap();
    assert_eq!(managed.host_mut().unwrap(), [3; LEN]);
    drop(buffer);
    assert_eq!((session.left(&streams[0]), session.left(&streams[2])), (1, 0));
    assert_eq!(later.to_vec(&streams[0]).unwrap(), [2; LEN]);
    drop((later, managed, streams));
    assert_eq!(session.broken(), Vec::<String>::new());
}
