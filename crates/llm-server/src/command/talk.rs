//! Prompts and answers on a terminal.

use std::io::{self, IsTerminal, Write};

use anyhow::bail;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::conversation::{begun_reasoning, template_message};
use crate::engine::{Chat, Engine, Event, FinishReason, Request, SpecialText, Usage};
use crate::harmony::{self, Effort, Opening, Today};
use crate::parser::{Parser, Part};
use crate::reader::Reader;

/// A prompt's tokens, and how its answer is read.
pub(crate) struct Prompt {
    pub(crate) tokens: Vec<u32>,
    pub(crate) reader: Option<Reader>,
    /// Control tokens that the reader must see.
    pub(crate) visible: Vec<u32>,
}

/// The prompt of a conversation.
pub(crate) fn conversation(engine: &dyn Engine, messages: &[Value]) -> anyhow::Result<Prompt> {
    let tokenizer = engine.tokenizer();
    if harmony::is_spoken(tokenizer) {
        let opening = Opening::Free;
        let pieces = harmony::render(messages, &[], Effort::default(), &Today::now(), &opening)
            .map_err(|error| anyhow::anyhow!(error.message))?;
        let reader = Some(Reader::Harmony(harmony::Parser::new(opening.begun())));
        let tokens = harmony::tokens(&pieces, tokenizer)?;
        return Ok(Prompt { tokens, reader, visible: harmony::markers(tokenizer) });
    }
    let Some(template) = engine.chat_template() else {
        bail!(
            "the model {} has no chat template: give it a text with `generate --raw`",
            engine.description().name
        );
    };
    let messages = messages.iter().map(template_message).collect();
    let text = template.render(&Chat { messages, add_generation_prompt: true, ..Chat::default() })?;
    let tokens = tokenizer.encode(&text, SpecialText::Tokens)?;
    let parser = Parser::new(None, Vec::new(), begun_reasoning(&text));
    Ok(Prompt { tokens, reader: Some(Reader::Marked(parser)), visible: Vec::new() })
}

/// The prompt of a plain text.
pub(crate) fn text(engine: &dyn Engine, text: &str) -> anyhow::Result<Prompt> {
    let tokens = engine.tokenizer().encode(text, SpecialText::Tokens)?;
    Ok(Prompt { tokens, reader: None, visible: Vec::new() })
}

/// A request for a prompt that fits in the context, with room for at most `max_tokens` more.
pub(crate) fn request(
    engine: &dyn Engine,
    tokens: Vec<u32>,
    max_tokens: Option<usize>,
) -> anyhow::Result<Request> {
    let context = engine.description().context;
    if tokens.len() >= context {
        bail!(
            "the prompt has {} tokens, and the context has room for {context}: --context makes it larger",
            tokens.len()
        );
    }
    let room = context - tokens.len();
    let mut request = Request::new(tokens);
    request.max_tokens = max_tokens.unwrap_or(room).min(room);
    Ok(request)
}

/// A complete answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) reasoning: String,
    pub(crate) content: String,
    /// Nothing if it was interrupted.
    pub(crate) reason: Option<FinishReason>,
    pub(crate) usage: Usage,
}

/// Writes an answer while it comes, reasoning to `aside`. A function may interrupt it.
pub(crate) async fn answer(
    engine: &dyn Engine,
    request: Request,
    mut reader: Option<Reader>,
    out: &mut dyn Write,
    aside: &mut dyn Write,
    interrupted: impl Future<Output = ()>,
) -> anyhow::Result<Answer> {
    let mut events = engine.submit(request)?;
    let mut answer = Answer::default();
    let progress = Progress::new();
    tokio::pin!(interrupted);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = &mut interrupted => return Ok(answer),
        };
        let parts = match event {
            Some(Event::Prompt { tokens, of, .. }) => {
                progress.set(tokens, of);
                continue;
            }
            Some(Event::Token { text, .. }) => {
                progress.done();
                match &mut reader {
                    Some(reader) => reader.push(&text),
                    None => vec![Part::Content(text)],
                }
            }
            Some(Event::Finished { text, reason, usage }) => {
                progress.done();
                let mut parts = match &mut reader {
                    Some(reader) => reader.push(&text),
                    None => vec![Part::Content(text)],
                };
                parts.extend(reader.take().map(Reader::finish).unwrap_or_default());
                show(&parts, &mut answer, out, aside)?;
                answer.reason = Some(reason);
                answer.usage = usage;
                return Ok(answer);
            }
            Some(Event::Failed(error)) => return Err(error.into()),
            // The engine ended, or has an event that this program does not know.
            other => bail!("the engine ended without an answer: {other:?}"),
        };
        show(&parts, &mut answer, out, aside)?;
    }
}

fn show(parts: &[Part], answer: &mut Answer, out: &mut dyn Write, aside: &mut dyn Write) -> io::Result<()> {
    for part in parts {
        match part {
            Part::Content(text) => {
                if answer.content.is_empty() && !answer.reasoning.is_empty() {
                    writeln!(aside, "\n")?;
                }
                answer.content.push_str(text);
                write!(out, "{text}")?;
            }
            Part::Reasoning(text) => {
                answer.reasoning.push_str(text);
                write!(aside, "{text}")?;
            }
            // Without tools there are no calls.
            Part::Call(_) => {}
        }
    }
    out.flush()?;
    aside.flush()
}

/// A bar for the prompt, on a terminal.
struct Progress(ProgressBar);

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) =
            ProgressStyle::with_template("reading the prompt {bar:30} {pos}/{len} tokens, {eta}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    fn set(&self, tokens: usize, of: usize) {
        if tokens < of && io::stderr().is_terminal() {
            self.0.set_length(of as u64);
            self.0.set_position(tokens as u64);
        } else {
            self.done();
        }
    }

    fn done(&self) {
        if !self.0.is_finished() {
            self.0.finish_and_clear();
        }
    }
}

/// A line about an answer's speed.
pub(crate) fn speed(usage: &Usage) -> String {
    let read = usage.prompt_tokens - usage.reused_tokens.min(usage.prompt_tokens);
    let rate = |tokens: usize, seconds: f64| if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 };
    format!(
        "{read} tokens read ({:.1}/s), {} kept from before; {} generated ({:.1}/s)",
        rate(read, usage.prompt_time.as_secs_f64()),
        usage.reused_tokens,
        usage.generated_tokens,
        rate(usage.generated_tokens, usage.generate_time.as_secs_f64()),
    )
}

/// A runtime for one thread.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
