//! Engines in this process: a model on one device, with a thread that runs its requests.
//!
//! Requests are batched continuously: each step computes the next token of every request that generates, and
//! a part of a prompt. Keys and values lie in pages; a request that begins as an earlier one did takes over
//! its pages. If the pages run out, the youngest request makes way and goes on later. A step in which all
//! requests generate is recorded as a graph once for each number of requests, on devices with graphs. Where
//! the device draws all tokens of a step, the next step begins before the host has read them.

mod ahead;
mod device;
mod drafter;
mod draw;
mod encoder;
mod open;
mod pages;
mod pooling;
mod progress;
mod queue;
mod ranks;
mod scheduler;
mod sequence;

use std::collections::VecDeque;
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use backend::Steps;

use crate::chat::ChatTemplate;
use crate::engine::{
    Constraint, Engine, EngineLoad, Event, Events, FinishReason, ModelDescription, Pooling, Request, Usage,
};
use crate::error::{Error, Result};
use crate::generate::constraint::{Grammar, Grammars};
use crate::model::States;
use crate::tokenizer::Tokenizer;
use device::Device;
use drafter::Drafter;
use pages::Pages;
use progress::{Memories, Memory};
use queue::{EmbedJob, Job, Queue};
use scheduler::Scheduler;

pub use open::{EngineOptions, LoadProgress, Speculation, open};

/// Alternatives of a token whose log-probabilities can be asked for.
const MOST_LOGPROBS: usize = 256;

/// A model that generates text.
struct Generator {
    description: ModelDescription,
    tokenizer: Arc<Tokenizer>,
    template: Option<ChatTemplate>,
    queue: Arc<Queue>,
    /// Made for the first request with a constraint.
    grammars: OnceLock<Grammars>,
    thread: Option<JoinHandle<()>>,
}

impl Generator {
    fn start(
        device: Device,
        drafter: Option<Drafter>,
        description: ModelDescription,
        tokenizer: Tokenizer,
        template: Option<ChatTemplate>,
        options: &EngineOptions<'_>,
        chunk: usize,
    ) -> Result<Self> {
        let (tokenizer, queue) = (Arc::new(tokenizer), Arc::new(Queue::new(options.queue)));
        let caches = [Some(&device.cache), drafter.as_ref().map(|drafter| &drafter.device.cache)];
        let states = caches.into_iter().flatten().find_map(|cache| cache.states.as_ref());
        let pages = Pages::new(device.layout(), states.map(States::places));
        let memories = Memories {
            model: Memory::of(&device.cache),
            drafter: drafter.as_ref().map(|drafter| Memory::of(&drafter.device.cache)),
        };
        queue.report(EngineLoad {
            places: options.places,
            cache_tokens: device.layout().positions(),
            ..EngineLoad::default()
        });
        let runs_ahead = options.ahead && options.steps == Steps::Graph && device.can_run_ahead();
        let scheduler = Scheduler {
            device,
            pages,
            tokenizer: Arc::clone(&tokenizer),
            queue: Arc::clone(&queue),
            places: options.places.max(1),
            chunk: chunk.max(1),
            context: description.context,
            guesses: options.speculation.tokens(),
            drafter,
            memories,
            runs_ahead,
            flight: None,
            admitted: 0,
            running: Vec::new(),
            ended: Vec::new(),
            paused: VecDeque::new(),
        };
        let thread = std::thread::Builder::new().name("engine".into()).spawn(move || scheduler.run());
        let thread = thread.map_err(|error| Error::Stopped { reason: format!("no thread: {error}") })?;
        Ok(Self { description, tokenizer, template, queue, grammars: OnceLock::new(), thread: Some(thread) })
    }

    fn grammar(&self, constraint: &Constraint) -> Result<Grammar> {
        if let Some(grammars) = self.grammars.get() {
            return grammars.compile(constraint);
        }
        // Of two requests at the same time, one makes them for nothing.
        let made = Grammars::new(&self.tokenizer)?;
        self.grammars.get_or_init(|| made).compile(constraint)
    }

    fn check_tokens(&self, tokens: &[u32], most: usize, which: &str) -> Result<()> {
        let refuse = |problem: String| Err(Error::Prompt { problem: which.to_owned() + &problem });
        if tokens.is_empty() {
            return refuse("is empty".into());
        }
        if tokens.len() > most {
            return refuse(format!("has {} tokens, and the context has room for {most}", tokens.len()));
        }
        let vocabulary = self.description.vocabulary;
        match tokens.iter().find(|&&token| token as usize >= vocabulary) {
            Some(token) => refuse(format!("has the token {token}, and the model has {vocabulary} tokens")),
            None => Ok(()),
        }
    }
}

impl Engine for Generator {
    fn description(&self) -> &ModelDescription {
        &self.description
    }

    fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    fn chat_template(&self) -> Option<&ChatTemplate> {
        self.template.as_ref()
    }

    fn load(&self) -> EngineLoad {
        self.queue.load()
    }

    fn submit(&self, request: Request) -> Result<Events> {
        // One position is left for a token of the result.
        self.check_tokens(&request.prompt, self.description.context - 1, "")?;
        request.sampling.check()?;
        if let Some(count) = request.logprobs.filter(|count| *count > MOST_LOGPROBS) {
            let problem = format!("is {count}, more than {MOST_LOGPROBS}");
            return Err(Error::Setting { name: "logprobs", problem });
        }
        let grammar = request
            .constraint
            .as_ref()
            .map(|constraint| self.grammar(constraint).map(Box::new))
            .transpose()?;
        let (sender, events) = Events::channel();
        if request.max_tokens == 0 {
            let usage = Usage { prompt_tokens: request.prompt.len(), ..Usage::default() };
            sender.send(Event::Finished { text: String::new(), reason: FinishReason::Length, usage });
            return Ok(events);
        }
        self.queue.add(Job::Generate(Box::new(request), grammar, sender))?;
        Ok(events)
    }

    fn embed(&self, inputs: &[Vec<u32>], pooling: Pooling) -> Result<Vec<Vec<f32>>> {
        for (at, tokens) in inputs.iter().enumerate() {
            self.check_tokens(tokens, self.description.context, &format!("{at} "))?;
        }
        let (reply, result) = mpsc::channel();
        self.queue.add(Job::Embed(EmbedJob { inputs: inputs.to_vec(), pooling, reply }))?;
        result.recv().unwrap_or_else(|_| Err(Error::Stopped { reason: "its thread ended".into() }))
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported when it happened.
            let _ = thread.join();
        }
    }
}
