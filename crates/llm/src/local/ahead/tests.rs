//! A scheduler with a model that remembers tokens by their pages, so that a page which belongs to two texts,
//! or states of another place in the text, change what it says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use backend::{CpuBackend, DType, KvCache, KvLayout};
use proptest::prelude::*;

use super::*;
use crate::config::{Config, Delta, HeadOrder};
use crate::engine::{Event, Events, FinishReason, Request, Sampling, Usage};
use crate::error::Error;
use crate::local::device::Device;
use crate::local::pages::Pages;
use crate::local::progress::{Memories, Memory};
use crate::local::queue::Queue;
use crate::local::sequence::Sequence;
use crate::model::{Cache, Model, States, Step};
use crate::random::RandomModel;
use crate::tokenizer::Tokenizer;

const PAGE: usize = 4;
const CONTEXT: usize = 28;
const PLACES: usize = 3;

static BACKEND: LazyLock<Arc<dyn KernelBackend>> =
    LazyLock::new(|| Arc::new(CpuBackend::new().expect("the CPU")));
static TOKENIZER: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| {
    let model = RandomModel::named("random:tiny:f16").expect("a model");
    Arc::new(model.tokenizer().expect("a tokenizer"))
});

/// What a text of these tokens is remembered by.
fn after(state: u32, token: u32) -> u32 {
    (state * 31 + token + 1) % (1 << 16)
}

fn next_of(state: u32) -> u32 {
    ((state * 40_503) >> 7) % 37
}

/// A model whose next token depends on all tokens of the text, as it finds them in its pages, and in states,
/// if it has some.
#[derive(Debug)]
struct Remembering {
    config: Config,
    by_slot: Mutex<Vec<u32>>,
    control: Arc<Control>,
}

/// What a test and its model tell each other.
#[derive(Debug)]
struct Control {
    /// The steps that were made.
    steps: AtomicUsize,
    /// The step that fails.
    fails_at: AtomicUsize,
}

impl Model for Remembering {
    fn config(&self) -> &Config {
        &self.config
    }

    fn hidden(&self, backend: &dyn KernelBackend, step: &Step, cache: &Cache) -> crate::Result<Tensor> {
        let Control { steps, fails_at } = &*self.control;
        if steps.fetch_add(1, Ordering::Relaxed) == fails_at.load(Ordering::Relaxed) {
            return Err(Error::Device { reason: "as the test wants it".into() });
        }
        let (ids, positions) = (backend.to_u32(&step.ids)?, backend.to_u32(&step.positions)?);
        let slots = backend.download(&step.slots)?;
        let slots = slots.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes) as usize);
        let mut by_slot = self.by_slot.lock().expect("no panic");
        for (slot, id) in slots.zip(&ids) {
            by_slot[slot] = *id;
        }
        let (mut said, mut first) = (Vec::new(), 0);
        for group in &step.groups {
            let table = backend.to_u32(&group.table)?;
            let states = group.states.as_ref().map(|states| backend.to_u32(states)).transpose()?;
            for (sequence, pages) in table.chunks(table.len() / group.sequences).enumerate() {
                let state = match (&states, &cache.states) {
                    (Some(places), Some(states)) => {
                        Some(states.layers[0].delta.select(0, places[sequence] as usize)?)
                    }
                    _ => None,
                };
                for token in first..first + group.queries {
                    let text = (0..=positions[token] as usize)
                        .map(|at| by_slot[pages[at / PAGE] as usize * PAGE + at % PAGE]);
                    let mut seen = text.fold(0, after);
                    if let Some(state) = &state {
                        let before = backend.to_f32(state)?[0] as u32;
                        let behind = after(before, ids[token]);
                        backend.upload_f32(&[behind as f32], state)?;
                        // Both have seen the same.
                        seen = if seen == behind { seen } else { 0 };
                    }
                    said.push(next_of(seen) as f32);
                }
                first += group.queries;
            }
        }
        Ok(backend.tensor(DType::F32, &[said.len(), 1], &said)?)
    }

    fn logits(&self, backend: &dyn KernelBackend, hidden: &Tensor) -> crate::Result<Tensor> {
        let said = backend.to_f32(hidden)?;
        let vocabulary = self.config.vocabulary;
        let mut logits = vec![0.0; said.len() * vocabulary];
        for (row, said) in said.iter().enumerate() {
            logits[row * vocabulary + *said as usize] = 1000.0;
        }
        Ok(backend.tensor(DType::F32, &[said.len(), vocabulary], &logits)?)
    }
}

fn scheduler(pages: usize, with_states: bool) -> (Scheduler, Arc<Control>) {
    let backend = &*BACKEND;
    let layout = KvLayout { pages, page: PAGE };
    let config = RandomModel::named("random:tiny:f16").and_then(|model| model.config()).expect("a model");
    let kv = KvCache { layers: Vec::new(), layout, dtype: DType::F32 };
    let delta = Delta {
        attention: vec![false],
        key_heads: 1,
        heads: 1,
        key_size: 1,
        value_size: 1,
        width: 2,
        order: HeadOrder::Grouped,
    };
    let states = with_states.then(|| States::new(&**backend, &delta, 2 * PLACES + 1).expect("states"));
    let places = states.as_ref().map(States::places);
    let cache = Cache { kv, states };
    let memories = Memories { model: Memory::of(&cache), drafter: None };
    let by_slot = Mutex::new(vec![u32::MAX / 64; layout.positions()]);
    let control = Control { steps: AtomicUsize::new(0), fails_at: AtomicUsize::new(usize::MAX) };
    let control = Arc::new(control);
    let model = Remembering { config, by_slot, control: Arc::clone(&control) };
    let scheduler = Scheduler {
        device: Device::new(Arc::clone(backend), Box::new(model), cache, DType::F32, CONTEXT),
        pages: Pages::new(layout, places),
        tokenizer: Arc::clone(&TOKENIZER),
        queue: Arc::new(Queue::new(64)),
        places: PLACES,
        chunk: 6,
        context: CONTEXT,
        guesses: 0,
        drafter: None,
        memories,
        runs_ahead: true,
        flight: None,
        admitted: 0,
        running: Vec::new(),
        paused: VecDeque::new(),
        ended: Vec::new(),
    };
    (scheduler, control)
}

/// A request, and what happens to it.
#[derive(Clone, Debug)]
struct Plan {
    prompt: Vec<u32>,
    most: usize,
    stop: Option<u32>,
    /// Whether the host draws its tokens.
    by_host: bool,
    /// Steps before it comes, and steps after which its listener leaves.
    comes: usize,
    leaves: Option<usize>,
}

impl Plan {
    fn request(&self) -> Request {
        let mut request = Request::new(self.prompt.clone());
        request.max_tokens = self.most;
        request.sampling = if self.by_host { Sampling::default() } else { Sampling::greedy() };
        request.stop = self.stop.iter().map(|stop| format!(" {stop}")).collect();
        request
    }

    /// The tokens that the model says, and why it ends, by its rule alone.
    fn expected(&self) -> (Vec<u32>, FinishReason) {
        let mut state = self.prompt.iter().copied().fold(0, after);
        let (mut tokens, mut text) = (Vec::new(), String::new());
        loop {
            let token = next_of(state);
            state = after(state, token);
            tokens.push(token);
            text.push_str(&format!(" {token}"));
            if let Some(stop) = self.stop.map(|stop| format!(" {stop}")).filter(|stop| text.contains(stop)) {
                return (tokens, FinishReason::StopSequence(stop));
            }
            if tokens.len() == self.most || self.prompt.len() + tokens.len() >= CONTEXT {
                return (tokens, FinishReason::Length);
            }
        }
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    let prompt = (0..2_u32, 1..CONTEXT).prop_map(|(text, length)| {
        (0..length as u32).map(|at| if at < 6 { at } else { at * 2 + text }).collect()
    });
    let leaves = prop_oneof![4 => Just(None), 1 => (0..40_usize).prop_map(Some)];
    let by_host = prop_oneof![5 => Just(false), 1 => Just(true)];
    (prompt, 1..20_usize, proptest::option::of(0..37_u32), by_host, 0..25_usize, leaves).prop_map(
        |(prompt, most, stop, by_host, comes, leaves)| Plan { prompt, most, stop, by_host, comes, leaves },
    )
}

/// What a listener has heard.
#[derive(Default)]
struct Heard {
    tokens: Vec<u32>,
    end: Option<Result<(FinishReason, Usage)>>,
}

impl Heard {
    fn listen(&mut self, events: &mut Events) {
        while let Some(event) = events.try_next() {
            assert!(self.end.is_none(), "{event:?} behind the end");
            match event {
                Event::Token { id, .. } => self.tokens.push(id),
                Event::Finished { reason, usage, .. } => self.end = Some(Ok((reason, usage))),
                Event::Failed(error) => self.end = Some(Err(error)),
                Event::Prompt { .. } => {}
            }
        }
    }
}

/// Runs all of the plans; what each listener heard, and how many steps began before the tokens of the ones
/// before them were known.
fn run(scheduler: &mut Scheduler, plans: &[Plan]) -> (Vec<Heard>, usize) {
    let mut events: Vec<Option<Events>> = plans.iter().map(|_| None).collect();
    let mut heard: Vec<Heard> = plans.iter().map(|_| Heard::default()).collect();
    let mut ahead = 0;
    for round in 0.. {
        assert!(round < 3000, "it hangs");
        for (plan, events) in plans.iter().zip(&mut events) {
            if plan.comes == round {
                let (sender, listener) = Events::channel();
                scheduler.paused.push_back(Sequence::new(plan.request(), None, sender, &TOKENIZER));
                *events = Some(listener);
            }
            if plan.leaves.is_some_and(|after| round == plan.comes + after) {
                *events = None;
            }
        }
        let had_one = scheduler.flight.is_some();
        scheduler.round();
        ahead += usize::from(had_one && scheduler.flight.is_some());
        for (events, heard) in events.iter_mut().zip(&mut heard) {
            if let Some(events) = events {
                heard.listen(events);
            }
        }
        if scheduler.is_idle() && plans.iter().all(|plan| plan.comes <= round) {
            break;
        }
    }
    (heard, ahead)
}

/// Runs all of the plans, of which step `fails_at` fails, if there is one.
fn check(pages: usize, with_states: bool, plans: &[Plan], fails_at: Option<usize>) {
    let (mut scheduler, control) = scheduler(pages, with_states);
    control.fails_at.store(fails_at.unwrap_or(usize::MAX), Ordering::Relaxed);
    let (heard, _) = run(&mut scheduler, plans);
    control.fails_at.store(usize::MAX, Ordering::Relaxed);
    for (plan, heard) in plans.iter().zip(heard) {
        let (tokens, reason) = plan.expected();
        assert!(tokens.starts_with(&heard.tokens), "{plan:?}: {:?}, not {tokens:?}", heard.tokens);
        match heard.end {
            Some(Ok((ended, usage))) => {
                assert_eq!((&heard.tokens, ended), (&tokens, reason), "{plan:?}");
                let counted = (usage.prompt_tokens, usage.generated_tokens);
                assert_eq!(counted, (plan.prompt.len(), tokens.len()));
            }
            Some(Err(error)) => assert!(fails_at.is_some(), "{error}"),
            None => assert!(plan.leaves.is_some(), "{plan:?} has no end"),
        }
    }
    // No page is lost, and no place of states.
    let all = scheduler.pages.layout().positions();
    assert!(scheduler.pages.has_room(all), "{} of {all} positions", scheduler.pages.used_positions());
    let last = Plan { prompt: vec![1; 9], most: CONTEXT, stop: None, by_host: false, comes: 0, leaves: None };
    let (heard, ahead) = run(&mut scheduler, std::slice::from_ref(&last));
    assert_eq!(heard[0].tokens, last.expected().0, "behind all others");
    assert!(ahead > 0, "no step ran ahead");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Requests come, end, leave and make way in any order, with fewer pages than they would like.
    #[test]
    fn texts_are_those_of_the_model_and_no_page_is_lost(
        plans in proptest::collection::vec(plan(), 1..9),
        pages in CONTEXT / PAGE..3 * CONTEXT / PAGE,
        with_states in any::<bool>(),
    ) {
        check(pages, with_states, &plans, None);
    }

    /// The same where a step fails: its requests end, and those that come later do not know of it.
    #[test]
    fn a_step_that_fails_ends_its_requests_only(
        plans in proptest::collection::vec(plan(), 1..6),
        with_states in any::<bool>(),
        fails_at in 0..60_usize,
    ) {
        check(2 * CONTEXT / PAGE, with_states, &plans, Some(fails_at));
    }
}

/// The steps that a text takes.
fn steps(plan: &Plan, runs_ahead: bool) -> usize {
    let (mut scheduler, control) = scheduler(8, false);
    scheduler.runs_ahead = runs_ahead;
    let (heard, ahead) = run(&mut scheduler, std::slice::from_ref(plan));
    assert_eq!(heard[0].tokens, plan.expected().0);
    assert_eq!(ahead > 0, runs_ahead);
    control.steps.load(Ordering::Relaxed)
}

#[test]
fn a_step_is_made_for_nothing_only_if_the_host_could_not_know_the_end() {
    let alone = |stop| Plan { prompt: vec![3, 1, 4], most: 12, stop, by_host: false, comes: 0, leaves: None };
    let whole = alone(None);
    assert_eq!((steps(&whole, false), steps(&whole, true)), (12, 12));
    // The token that ends the text as late as one can before its length does.
    let stops = whole.expected().0.into_iter().map(|token| alone(Some(token)));
    let stops = stops.map(|plan| (plan.expected().0.len(), plan)).filter(|(tokens, _)| *tokens < 12);
    let (tokens, stopped) = stops.max_by_key(|(tokens, _)| *tokens).expect("a token");
    assert_eq!((steps(&stopped, false), steps(&stopped, true)), (tokens, tokens + 1));
}

/// Tokens whose way to the host fails, as it does behind a kernel that faults.
struct Lost;

impl Readback for Lost {
    fn wait(self: Box<Self>) -> backend::Result<Vec<u8>> {
        let reason = "as the test wants it".to_owned();
        Err(backend::Error::Unavailable { backend: "the test's".to_owned(), reason })
    }
}

#[test]
fn tokens_that_do_not_come_back_fail_their_requests() {
    let (mut scheduler, _) = scheduler(8, false);
    let plan = Plan { prompt: vec![3], most: 12, stop: None, by_host: false, comes: 0, leaves: None };
    let (sender, mut events) = Events::channel();
    scheduler.paused.push_back(Sequence::new(plan.request(), None, sender, &TOKENIZER));
    let mut heard = Heard::default();
    for _ in 0..4 {
        scheduler.round();
    }
    scheduler.flight.as_mut().expect("a step under way").copy = Box::new(Lost);
    scheduler.round();
    heard.listen(&mut events);
    assert!(matches!(heard.end, Some(Err(Error::Device { .. }))));
    assert!(!heard.tokens.is_empty() && plan.expected().0.starts_with(&heard.tokens));
    assert!(scheduler.is_idle() && scheduler.pages.has_room(8 * PAGE));
    let (heard, _) = run(&mut scheduler, std::slice::from_ref(&plan));
    assert_eq!(heard[0].tokens, plan.expected().0, "the engine goes on");
}
