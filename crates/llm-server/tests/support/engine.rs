//! An engine without a model: the last message of a conversation says what it does.
//!
//! | message | answer |
//! |---|---|
//! | `say TEXT` | the text, three characters a token |
//! | `slow MS TEXT` | the same, with a pause before each token |
//! | `read MS TEXT` | the prompt is processed in four parts with pauses, then the text comes |
//! | `fail TEXT` | a token, then an error |
//! | `forever` | tokens every 2 ms until the limit |
//! | `flood` | the same without pauses |
//! | `silence` | nothing until it is cancelled |
//! | `die` | an error, and no other request is taken |
//! | `panic` | the engine's thread panics |
//! | another text | `You said: ` and the text |
//!
//! A constraint is met with `{"answer":42}`, or a call of the first tool in its grammar.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use llm_server::engine::{
    ChatTemplate, Constraint, Engine, EngineLoad, Error, Event, EventSender, Events, FinishReason,
    ModelDescription, Pooling, Request, Result, TokenLogprob, Tokenizer, Usage,
};
use serde_json::{Map, json};

/// The chat template.
const TEMPLATE: &str = r#"
{%- if tools %}<|system|>answer with <tool_call>: {{ tools | tojson }}<|end|>{% endif %}
{%- for message in messages %}
    {%- if "refuse this" in message.content %}{{ raise_exception("as asked") }}{% endif %}
    {{- "<|" + message.role + "|>" + message.content }}
    {%- if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}
    {{- "<|end|>" }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% if enable_thinking %}<think>{% endif %}{% endif %}
"#;

/// Names of tokens after the 256 bytes.
const NAMES: &[&str] = &["<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"];
/// The same for a model that writes Harmony.
const HARMONY: &[&str] =
    &["<|start|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|end|>", "<|return|>", "<|call|>"];

/// An engine without a model.
pub(crate) struct Scripted {
    description: ModelDescription,
    tokenizer: Tokenizer,
    names: &'static [&'static str],
    template: Option<ChatTemplate>,
    places: usize,
    pub(crate) state: Arc<State>,
}

/// What the engine has seen.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) running: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) is_dead: AtomicBool,
    pub(crate) requests: Mutex<Vec<Request>>,
    /// What every request is answered with, whatever it asks for.
    pub(crate) reply: Mutex<Option<String>>,
}

impl Scripted {
    /// An engine that runs this many requests at a time and refuses others.
    pub(crate) fn new(name: &str, places: usize) -> Self {
        let mut description = ModelDescription::default();
        name.clone_into(&mut description.name);
        "scripted".clone_into(&mut description.architecture);
        "none".clone_into(&mut description.device);
        description.context = 4096;
        description.trained_context = 4096;
        description.bytes = 1000;
        description.width = 26;
        description.vocabulary = 256 + NAMES.len();
        description.generates = true;
        let template = ChatTemplate::new(TEMPLATE.trim(), "", "").expect("a template");
        let (tokenizer, template) = (tokenizer(NAMES), Some(template));
        Self { description, tokenizer, names: NAMES, template, places, state: Arc::default() }
    }

    /// With the vocabulary of Harmony, and without a chat template.
    #[allow(dead_code, reason = "the example has no use for it")]
    pub(crate) fn of_harmony(name: &str) -> Self {
        let mut scripted = Self::new(name, 8).without_template();
        scripted.description.vocabulary = 256 + HARMONY.len();
        Self { tokenizer: tokenizer(HARMONY), names: HARMONY, ..scripted }
    }

    /// Without a chat template.
    #[allow(dead_code, reason = "the example has no use for it")]
    pub(crate) fn without_template(mut self) -> Self {
        self.template = None;
        self
    }
}

impl Scripted {
    /// A prompt's text, with the names of tokens.
    pub(crate) fn text(&self, tokens: &[u32]) -> String {
        let name = |token: u32| self.names.get((token as usize).checked_sub(256)?);
        let parts = tokens.chunk_by(|one, other| name(*one).is_none() && name(*other).is_none());
        parts
            .map(|part| name(part[0]).map_or_else(|| self.tokenizer.decode(part), |name| (*name).to_owned()))
            .collect()
    }
}

impl Engine for Scripted {
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
        let mut load = EngineLoad::default();
        load.running = self.state.running.load(Ordering::SeqCst);
        load.places = self.places;
        load
    }

    fn submit(&self, request: Request) -> Result<Events> {
        request.sampling.check()?;
        if self.state.is_dead.load(Ordering::SeqCst) {
            return Err(Error::Stopped { reason: "as asked".to_owned() });
        }
        if self.state.running.fetch_add(1, Ordering::SeqCst) >= self.places {
            self.state.running.fetch_sub(1, Ordering::SeqCst);
            return Err(Error::Busy { waiting: self.places });
        }
        let prompt = self.text(&request.prompt);
        let (sender, events) = Events::channel();
        let state = Arc::clone(&self.state);
        state.requests.lock().unwrap().push(request.clone());
        std::thread::spawn(move || {
            let running = Running(&state);
            let answer = Answer {
                sender,
                state: Arc::clone(&state),
                request,
                given: 0,
                text: String::new(),
                started: Instant::now(),
            };
            if answer.run(&prompt).is_none() {
                state.cancelled.fetch_add(1, Ordering::SeqCst);
            }
            drop(running);
        });
        Ok(events)
    }

    fn embed(&self, inputs: &[Vec<u32>], _pooling: Pooling) -> Result<Vec<Vec<f32>>> {
        let vector = |tokens: &Vec<u32>| {
            let mut vector = [0.0_f32; 26];
            for byte in
                self.tokenizer.decode(tokens).to_ascii_lowercase().bytes().filter(u8::is_ascii_lowercase)
            {
                vector[usize::from(byte - b'a')] += 1.0;
            }
            let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt().max(1.0);
            vector.iter().map(|number| number / length).collect()
        };
        Ok(inputs.iter().map(vector).collect())
    }
}

struct Running<'a>(&'a State);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Answer {
    sender: EventSender,
    state: Arc<State>,
    request: Request,
    given: usize,
    text: String,
    started: Instant,
}

/// How an answer ended; nothing if it was cancelled.
type Ended = Option<()>;

impl Answer {
    fn run(mut self, prompt: &str) -> Ended {
        let reply = self.state.reply.lock().unwrap().clone();
        if let Some(reply) = reply {
            return self.say(&reply, 0);
        }
        let asked = prompt.rsplit("<|user|>").next().unwrap_or_default();
        let asked = asked.split("<|end|>").next().unwrap_or_default().to_owned();
        match self.request.constraint.clone() {
            Some(Constraint::Lark(grammar)) => {
                let name = grammar.split("\"const\":\"").nth(1).and_then(|rest| rest.split('"').next());
                let call = format!(
                    "<tool_call>\n{{\"name\": {:?}, \"arguments\": {{}}}}\n</tool_call>",
                    name.unwrap_or("")
                );
                return self.say(&call, 0);
            }
            Some(_) => return self.say("{\"answer\":42}", 0),
            None => {}
        }
        let (word, rest) = asked.split_once(' ').unwrap_or((asked.as_str(), ""));
        let timed = rest.split_once(' ').and_then(|(time, text)| Some((time.parse::<u64>().ok()?, text)));
        match (word, timed) {
            ("say", _) => self.say(rest, 0),
            ("slow", Some((pause, text))) => self.say(text, pause),
            ("read", Some((pause, text))) => {
                let of = self.request.prompt.len();
                for part in 1..=4 {
                    self.pause(pause)?;
                    self.send(Event::Prompt { tokens: of * part / 4, reused: 0, of })?;
                }
                self.say(text, 0)
            }
            ("fail", _) => {
                self.token("so")?;
                self.send(Event::Failed(Error::Device { reason: rest.to_owned() }))
            }
            ("forever", _) => loop {
                self.pause(2)?;
                if self.token("on ")? {
                    return self.finish(FinishReason::Length);
                }
            },
            ("flood", _) => loop {
                if self.token("on ")? {
                    return self.finish(FinishReason::Length);
                }
            },
            ("silence", _) => loop {
                self.pause(2)?;
            },
            ("die", _) => {
                self.state.is_dead.store(true, Ordering::SeqCst);
                self.send(Event::Failed(Error::Stopped { reason: "as asked".to_owned() }))
            }
            ("panic", _) => panic!("as asked"),
            _ => self.say(&format!("You said: {asked}"), 0),
        }
    }

    fn say(mut self, text: &str, pause: u64) -> Ended {
        let stops =
            self.request.stop.iter().filter_map(|stop| Some((text.find(stop.as_str())?, stop.clone())));
        let stop = stops.min();
        let text = stop.as_ref().map_or(text, |(at, _)| &text[..*at]);
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(3) {
            self.pause(pause)?;
            if self.token(&piece.iter().collect::<String>())? {
                return self.finish(FinishReason::Length);
            }
        }
        self.finish(stop.map_or(FinishReason::Stop, |(_, stop)| FinishReason::StopSequence(stop)))
    }

    /// Sends a token; whether it is the last.
    fn token(&mut self, text: &str) -> Option<bool> {
        let id = u32::from(text.bytes().next().unwrap_or(0));
        let logprob = self.request.logprobs.map(|top| {
            let top = (0..top as u32).map(|other| (id + other, -0.5 - other as f32)).collect();
            TokenLogprob { logprob: -0.5, top }
        });
        self.text.push_str(text);
        self.given += 1;
        self.send(Event::Token { id, text: text.to_owned(), logprob })?;
        Some(self.given >= self.request.max_tokens)
    }

    fn finish(self, reason: FinishReason) -> Ended {
        let usage = Usage {
            prompt_tokens: self.request.prompt.len(),
            reused_tokens: 1,
            generated_tokens: self.given,
            prompt_time: Duration::from_millis(1),
            generate_time: self.started.elapsed(),
            ..Usage::default()
        };
        self.send(Event::Finished { text: String::new(), reason, usage })
    }

    fn send(&self, event: Event) -> Ended {
        self.sender.send(event).then_some(())
    }

    fn pause(&self, millis: u64) -> Ended {
        let until = Instant::now() + Duration::from_millis(millis);
        loop {
            if self.sender.is_closed() {
                return None;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(());
            }
            std::thread::sleep(left.min(Duration::from_millis(2)));
        }
    }
}

/// A tokenizer with a token for each byte, by its value, and those of these names.
fn tokenizer(names: &[&str]) -> Tokenizer {
    // The characters by which byte-level vocabularies write bytes: printable ones are themselves.
    let is_printable = |byte: &u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut others = 0x100..;
    let mut vocabulary = Map::new();
    for byte in 0..=255_u32 {
        let code = if is_printable(&byte) { Some(byte) } else { others.next() };
        let character = code.and_then(char::from_u32).expect("a character");
        vocabulary.insert(character.to_string(), json!(byte));
    }
    let special = |(index, name): (usize, &&str)| {
        json!({
            "id": 256 + index, "content": name, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        })
    };
    let byte_level =
        json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false });
    let file = json!({
        "version": "1.0",
        "added_tokens": names.iter().enumerate().map(special).collect::<Vec<_>>(),
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": { "type": "BPE", "vocab": vocabulary, "merges": [] },
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tokenizer.json");
    std::fs::write(&path, file.to_string()).expect("a file");
    Tokenizer::from_json(path).expect("a tokenizer")
}
