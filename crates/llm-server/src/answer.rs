//! Answers in progress: events of an engine become parts of an answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;

use crate::app::App;
use crate::engine::{self, Event, Events, FinishReason, Request, TokenLogprob, Usage};
use crate::error::{ApiError, ApiResult, Kind};
use crate::models::Lease;
use crate::parser::{Call, Part};
use crate::reader::Reader;

/// A model and a place for a request.
pub(crate) struct Seat {
    pub(crate) app: Arc<App>,
    pub(crate) model: Lease,
    _place: OwnedSemaphorePermit,
    started: Instant,
}

impl Seat {
    /// Takes a place, and loads the model if need be.
    pub(crate) async fn take(app: &Arc<App>, model: Option<&str>) -> ApiResult<Arc<Self>> {
        let started = Instant::now();
        let place = app.place()?;
        let load = app.models.get(model);
        let model =
            tokio::time::timeout(app.settings.request_time, load).await.map_err(|_| timeout(app))??;
        Ok(Arc::new(Self { app: Arc::clone(app), model, _place: place, started }))
    }

    /// Executes a function that may take a while, such as rendering and splitting a long prompt.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        function: impl FnOnce(&Self) -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        let seat = Arc::clone(self);
        let run = tokio::task::spawn_blocking(move || function(&seat));
        match tokio::time::timeout(self.app.settings.request_time, run).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(ApiError::new(Kind::Failed, format!("the request failed: {error}"))),
            Err(_) => Err(timeout(&self.app)),
        }
    }

    /// An engine's error for the client.
    pub(crate) fn failed(&self, error: engine::Error) -> ApiError {
        if matches!(error, engine::Error::Stopped { .. }) {
            self.model.retire();
        }
        error.into()
    }

    /// Begins an answer; with a parser, its text is split.
    pub(crate) fn answer(self: &Arc<Self>, request: Request, parser: Option<Reader>) -> ApiResult<Answer> {
        let events = self.model.engine().submit(request).map_err(|error| self.failed(error))?;
        let deadline = tokio::time::Instant::from_std(self.started) + self.app.settings.request_time;
        let running = Running::new(&self.app);
        Ok(Answer {
            seat: Arc::clone(self),
            events,
            parser,
            pieces: VecDeque::new(),
            tokens: Vec::new(),
            deadline,
            is_first: true,
            running,
        })
    }
}

fn timeout(app: &App) -> ApiError {
    let message = format!("the answer took longer than {:?}", app.settings.request_time);
    ApiError::new(Kind::Timeout, message).code("timeout")
}

/// Counts an answer, however it ends.
struct Running {
    app: Arc<App>,
    is_done: bool,
}

impl Running {
    fn new(app: &Arc<App>) -> Self {
        app.metrics.answer_begins();
        Self { app: Arc::clone(app), is_done: false }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.app.metrics.answer_ends();
        if !self.is_done {
            self.app.metrics.ended("abandoned");
        }
    }
}

/// A generated token with its probability.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) id: u32,
    pub(crate) logprob: TokenLogprob,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The prompt is being processed.
    Progress { tokens: usize, of: usize },
    /// A part, with the tokens since the last piece if their probabilities were asked for.
    Part(Part, Vec<Token>),
    /// The end.
    End { reason: FinishReason, usage: Usage, tokens: Vec<Token> },
}

/// An answer in progress. Dropping it cancels the request.
pub(crate) struct Answer {
    pub(crate) seat: Arc<Seat>,
    events: Events,
    parser: Option<Reader>,
    pieces: VecDeque<Piece>,
    tokens: Vec<Token>,
    deadline: tokio::time::Instant,
    is_first: bool,
    running: Running,
}

impl Answer {
    /// The next piece; `None` after the end.
    pub(crate) async fn next(&mut self) -> ApiResult<Option<Piece>> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Ok(Some(piece));
            }
            if self.running.is_done {
                return Ok(None);
            }
            let event = match tokio::time::timeout_at(self.deadline, self.events.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => {
                    return Err(self.fail(ApiError::new(Kind::Failed, "the engine ended without an answer")));
                }
                Err(_) => {
                    let error = timeout(&self.seat.app);
                    return Err(self.fail(error));
                }
            };
            self.take(event)?;
        }
    }

    fn fail(&mut self, error: ApiError) -> ApiError {
        self.running.is_done = true;
        self.seat.app.metrics.ended("failed");
        error
    }

    fn take(&mut self, event: Event) -> ApiResult<()> {
        match event {
            Event::Prompt { tokens, of, .. } => self.pieces.push_back(Piece::Progress { tokens, of }),
            Event::Token { id, text, logprob } => {
                if std::mem::take(&mut self.is_first) {
                    self.seat.app.metrics.first_token(self.seat.started.elapsed());
                }
                self.tokens.extend(logprob.map(|logprob| Token { id, logprob }));
                self.text(&text);
            }
            Event::Finished { text, reason, usage } => {
                if reason == FinishReason::Cancelled {
                    return Err(self.fail(ApiError::busy("the model is being unloaded", 1)));
                }
                self.text(&text);
                let rest = self.parser.take().map(Reader::finish).unwrap_or_default();
                self.parts(rest);
                self.seat.app.metrics.finished(&reason, &usage);
                let tokens = std::mem::take(&mut self.tokens);
                self.pieces.push_back(Piece::End { reason, usage, tokens });
                self.running.is_done = true;
            }
            Event::Failed(error) => {
                let error = self.seat.failed(error);
                return Err(self.fail(error));
            }
            // What later versions of engines may tell besides.
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let parts = match &mut self.parser {
            Some(parser) => parser.push(text),
            None => vec![Part::Content(text.to_owned())],
        };
        self.parts(parts);
    }

    fn parts(&mut self, parts: Vec<Part>) {
        for part in parts {
            let tokens = std::mem::take(&mut self.tokens);
            self.pieces.push_back(Piece::Part(part, tokens));
        }
    }

    /// The whole answer.
    pub(crate) async fn whole(mut self) -> ApiResult<Whole> {
        let mut whole = Whole::default();
        while let Some(piece) = self.next().await? {
            match piece {
                Piece::Progress { .. } => {}
                Piece::Part(part, tokens) => {
                    whole.tokens.extend(tokens);
                    match part {
                        Part::Content(text) => whole.content.push_str(&text),
                        Part::Reasoning(text) => whole.reasoning.push_str(&text),
                        Part::Call(call) => whole.calls.push(call),
                    }
                }
                Piece::End { reason, usage, tokens } => {
                    whole.tokens.extend(tokens);
                    whole.reason = Some(reason);
                    whole.usage = usage;
                }
            }
        }
        Ok(whole)
    }
}

/// A complete answer.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    pub(crate) reasoning: String,
    pub(crate) content: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) reason: Option<FinishReason>,
    pub(crate) usage: Usage,
}

/// Adds what several answers to one prompt took.
pub(crate) fn total(usages: impl IntoIterator<Item = Usage>) -> Usage {
    usages.into_iter().fold(Usage::default(), |sum, usage| Usage {
        prompt_tokens: sum.prompt_tokens.max(usage.prompt_tokens),
        reused_tokens: sum.reused_tokens.max(usage.reused_tokens),
        generated_tokens: sum.generated_tokens + usage.generated_tokens,
        drafted_tokens: sum.drafted_tokens + usage.drafted_tokens,
        accepted_tokens: sum.accepted_tokens + usage.accepted_tokens,
        prompt_time: sum.prompt_time.max(usage.prompt_time),
        generate_time: sum.generate_time.max(usage.generate_time),
    })
}
