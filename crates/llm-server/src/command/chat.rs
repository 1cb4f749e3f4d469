//! `ferrocm chat`: a conversation on the terminal.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::BoolishValueParser;
use reedline::{DefaultPrompt, DefaultPromptSegment, FileBackedHistory, Reedline, Signal};
use serde_json::{Value, json};

use super::session::{self, Role, Session, Turn};
use super::{LoadArguments, SamplingArguments, Source, arguments, talk};
use crate::engine::{Engine, FinishReason, Sampling};

/// The name under which every conversation is saved after each answer.
const LAST: &str = "last";
/// The file of entered lines, in the folder of sessions, and how many it keeps.
const HISTORY: &str = "history";
const LINES: usize = 1000;

const HELP: &str = "\
/clear            begin again
/retry            answer the last message again
/settings         show the settings; /settings NAME VALUE changes one, such as: /settings temperature 0.2
/system TEXT      what the model is told before; without TEXT, nothing
/save [NAME]      save the conversation; it is also saved as `last` after each answer
/load [NAME]      continue a saved one
/help             this text
/quit             leave; so does Ctrl-D
A line that ends with \\ continues on the next one. Ctrl-C ends an answer.
";

const EXAMPLES: &str = "\
Examples:
  ferrocm chat --model smollm2
  ferrocm chat --model a.gguf --system 'Answer in one sentence.' --temperature 0.2
  ferrocm chat --model a.gguf --session last      continue the last conversation

Exit status: 0 after /quit or the end of input, 1 if something failed, 2 for a malformed command line.";

/// Talks with a language model
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The model: a GGUF file, a folder with safetensors, or a name that `ferrocm models` lists
    #[arg(long, value_name = "FILE|NAME", env = variables::MODEL.name)]
    pub model: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArguments,
    /// What the model is told before
    #[arg(long, value_name = "TEXT", env = variables::SYSTEM.name)]
    pub(crate) system: Option<String>,
    /// The saved conversation to continue
    #[arg(long, value_name = "NAME", env = variables::SESSION.name)]
    pub(crate) session: Option<String>,
    /// The most tokens of an answer
    #[arg(long, value_name = "COUNT", env = variables::MAX_TOKENS.name)]
    pub(crate) max_tokens: Option<usize>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArguments,
    /// Print the speed after each answer
    #[arg(long, env = variables::VERBOSE.name, value_parser = BoolishValueParser::new())]
    pub(crate) verbose: bool,
    /// The configuration file
    #[arg(long, value_name = "FILE", env = variables::CONFIG.name)]
    pub(crate) config: Option<PathBuf>,
}

/// Loads the model and talks.
///
/// # Errors
/// The model cannot be loaded, or the terminal fails.
pub fn run(arguments: &Arguments, source: &dyn Source) -> anyhow::Result<()> {
    let model = arguments::model(arguments.model.as_ref())?;
    let sampling = arguments.sampling.sampling()?;
    let folder = session::folder()?;
    let mut session = match &arguments.session {
        Some(name) => Session::load(&folder, name)?,
        None => Session::default(),
    };
    if arguments.system.is_some() {
        session.system.clone_from(&arguments.system);
    }
    let engine = source.load(model, &arguments.load.options())?;
    model.clone_into(&mut session.model);
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut chat = Chat {
        engine: &*engine,
        session,
        sampling,
        max_tokens: arguments.max_tokens,
        folder: &folder,
        is_verbose: arguments.verbose,
        is_terminal,
    };
    let mut out = io::stdout();
    if !is_terminal {
        let mut input = io::stdin().lock();
        return chat.talk(&mut || read_line(&mut input), &mut out);
    }
    let description = engine.description();
    writeln!(
        out,
        "{} ({}, {} tokens of context) on {}. /help lists the commands.",
        description.name, description.weights, description.context, description.device
    )?;
    let history = FileBackedHistory::with_file(LINES, folder.join(HISTORY))?;
    let mut editor = Reedline::create().with_history(Box::new(history));
    chat.talk(&mut || edit(&mut editor), &mut out)
}

fn read_line(input: &mut dyn BufRead) -> anyhow::Result<Option<String>> {
    let mut line = String::new();
    let length = input.read_line(&mut line)?;
    Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

fn edit(editor: &mut Reedline) -> anyhow::Result<Option<String>> {
    let prompt = DefaultPrompt::new(DefaultPromptSegment::Empty, DefaultPromptSegment::Empty);
    loop {
        match editor.read_line(&prompt)? {
            Signal::Success(line) => return Ok(Some(line)),
            Signal::CtrlD => return Ok(None),
            // Ctrl-C drops the line.
            _ => {}
        }
    }
}

struct Chat<'a> {
    engine: &'a dyn Engine,
    session: Session,
    sampling: Sampling,
    max_tokens: Option<usize>,
    folder: &'a Path,
    is_verbose: bool,
    is_terminal: bool,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
enum Then {
    Continue,
    Leave,
}

type Lines<'a> = &'a mut dyn FnMut() -> anyhow::Result<Option<String>>;

impl Chat<'_> {
    fn talk(&mut self, lines: Lines<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
        while let Some(mut text) = lines()? {
            while text.ends_with('\\') {
                text.pop();
                text.push('\n');
                text.push_str(&lines()?.unwrap_or_default());
            }
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            let done = match text.strip_prefix('/') {
                Some(command) => self.command(command, out),
                None => {
                    self.session.turns.push(Turn { role: Role::User, content: text.to_owned() });
                    self.answer(out).map(|()| Then::Continue)
                }
            };
            match done {
                Ok(Then::Continue) => {}
                Ok(Then::Leave) => return Ok(()),
                // The conversation goes on: the next message may fit.
                Err(error) => writeln!(out, "error: {error:#}")?,
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &str, out: &mut dyn Write) -> anyhow::Result<Then> {
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        match name {
            "clear" => {
                self.session.turns.clear();
                writeln!(out, "The conversation begins again.")?;
            }
            "retry" => {
                while self.session.turns.last().is_some_and(|turn| turn.role == Role::Assistant) {
                    self.session.turns.pop();
                }
                if self.session.turns.is_empty() {
                    writeln!(out, "There is no message yet.")?;
                } else {
                    self.sampling.seed = self.sampling.seed.wrapping_add(1);
                    self.answer(out)?;
                }
            }
            "settings" => self.settings(rest, out)?,
            "system" => self.session.system = (!rest.is_empty()).then(|| rest.to_owned()),
            "save" => {
                let file = self.session.save(self.folder, if rest.is_empty() { LAST } else { rest })?;
                writeln!(out, "Saved as {}.", file.display())?;
            }
            "load" => {
                let model = std::mem::take(&mut self.session.model);
                let loaded = Session::load(self.folder, if rest.is_empty() { LAST } else { rest });
                match loaded {
                    Ok(session) => self.session = session,
                    Err(error) => {
                        self.session.model = model;
                        return Err(error);
                    }
                }
                self.session.model = model;
                writeln!(out, "{} messages.", self.session.turns.len())?;
            }
            "help" | "?" => write!(out, "{HELP}")?,
            "quit" | "exit" => return Ok(Then::Leave),
            other => writeln!(out, "There is no command /{other}; /help lists them.")?,
        }
        Ok(Then::Continue)
    }

    /// Shows the settings, or changes one.
    fn settings(&mut self, text: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some((name, value)) = text.split_once(char::is_whitespace) {
            let mut changed = self.sampling.clone();
            let value = value.trim();
            match name {
                "temperature" => changed.temperature = value.parse()?,
                "top-k" => changed.top_k = value.parse()?,
                "top-p" => changed.top_p = value.parse()?,
                "min-p" => changed.min_p = value.parse()?,
                "typical-p" => changed.typical_p = value.parse()?,
                "repeat-penalty" => changed.repeat_penalty = value.parse()?,
                "repeat-last" => changed.repeat_last = value.parse()?,
                "presence-penalty" => changed.presence_penalty = value.parse()?,
                "frequency-penalty" => changed.frequency_penalty = value.parse()?,
                "seed" => changed.seed = value.parse()?,
                "max-tokens" => self.max_tokens = Some(value.parse()?),
                other => anyhow::bail!("there is no setting `{other}`"),
            }
            changed.check()?;
            self.sampling = changed;
        } else if !text.is_empty() {
            anyhow::bail!("`/settings NAME VALUE` changes a setting");
        }
        let s = &self.sampling;
        let rows: [(&str, String); 11] = [
            ("temperature", s.temperature.to_string()),
            ("top-k", s.top_k.to_string()),
            ("top-p", s.top_p.to_string()),
            ("min-p", s.min_p.to_string()),
            ("typical-p", s.typical_p.to_string()),
            ("repeat-penalty", s.repeat_penalty.to_string()),
            ("repeat-last", s.repeat_last.to_string()),
            ("presence-penalty", s.presence_penalty.to_string()),
            ("frequency-penalty", s.frequency_penalty.to_string()),
            ("seed", s.seed.to_string()),
            ("max-tokens", self.max_tokens.map_or_else(|| "what fits".to_owned(), |most| most.to_string())),
        ];
        for (name, value) in rows {
            writeln!(out, "{name:18} {value}")?;
        }
        Ok(())
    }

    fn messages(&self) -> Vec<Value> {
        let system = self.session.system.iter().map(|text| json!({ "role": "system", "content": text }));
        let turns =
            self.session.turns.iter().map(|turn| json!({ "role": turn.role, "content": turn.content }));
        system.chain(turns).collect()
    }

    /// Answers the last message. If that fails, the message is not part of the conversation.
    fn answer(&mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        let result = self.try_answer(out);
        match result {
            Ok(content) => self.session.turns.push(Turn { role: Role::Assistant, content }),
            Err(error) => {
                self.session.turns.pop();
                return Err(error);
            }
        }
        self.session.save(self.folder, LAST)?;
        Ok(())
    }

    fn try_answer(&self, out: &mut dyn Write) -> anyhow::Result<String> {
        let prompt = talk::conversation(self.engine, &self.messages())?;
        let mut request = talk::request(self.engine, prompt.tokens, self.max_tokens)?;
        request.visible = prompt.visible;
        request.sampling = self.sampling.clone();
        let is_terminal = self.is_terminal;
        let mut aside = io::stderr();
        let runtime = talk::runtime()?;
        let answer = runtime.block_on(async {
            let interrupted = async move {
                match is_terminal {
                    true => drop(tokio::signal::ctrl_c().await),
                    false => std::future::pending().await,
                }
            };
            talk::answer(self.engine, request, prompt.reader, out, &mut aside, interrupted).await
        })?;
        writeln!(out)?;
        match &answer.reason {
            None => writeln!(out, "(interrupted)")?,
            Some(FinishReason::Length) => writeln!(out, "(the limit of tokens is reached)")?,
            Some(_) => {}
        }
        if self.is_verbose {
            writeln!(out, "({})", talk::speed(&answer.usage))?;
        }
        Ok(answer.content)
    }
}

#[cfg(test)]
#[path = "../../tests/support/engine.rs"]
pub(crate) mod scripted;

#[cfg(test)]
mod tests {
    use super::scripted::Scripted;
    use super::*;

    /// What a conversation of these lines prints.
    fn talk(folder: &Path, input: &str) -> String {
        let engine = Scripted::new("test", 8);
        let mut chat = Chat {
            engine: &engine,
            session: Session::default(),
            sampling: Sampling::default(),
            max_tokens: None,
            folder,
            is_verbose: false,
            is_terminal: false,
        };
        let mut lines = input.lines().map(str::to_owned);
        let mut out = Vec::new();
        chat.talk(&mut || Ok(lines.next()), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn messages_are_answered_and_the_conversation_is_saved() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(talk(folder.path(), "say one\n\nsay two\n/quit\nsay three\n"), "one\ntwo\n");
        let saved = Session::load(folder.path(), LAST).unwrap();
        let contents: Vec<&str> = saved.turns.iter().map(|turn| turn.content.as_str()).collect();
        assert_eq!(contents, ["say one", "one", "say two", "two"]);
        let out = talk(folder.path(), "/load last\n/retry\n/save other\n/clear\n/retry\n");
        assert!(
            out.starts_with("4 messages.\ntwo\nSaved as ") && out.ends_with("There is no message yet.\n"),
            "{out}"
        );
        assert_eq!(Session::load(folder.path(), "other").unwrap().turns.len(), 4);
    }

    #[test]
    fn settings_are_shown_and_changed_within_their_range() {
        let folder = tempfile::tempdir().unwrap();
        let out = talk(
            folder.path(),
            "/settings temperature 0.25\n/settings top-p 7\n/settings colour 7\n/settings seed x\n",
        );
        assert!(out.contains("temperature        0.25\n"), "{out}");
        assert!(out.contains("error: top_p is 7") && out.contains("no setting `colour`"), "{out}");
        assert_eq!(out.matches("error: ").count(), 3);
    }

    #[test]
    fn a_failure_does_not_end_the_conversation() {
        let folder = tempfile::tempdir().unwrap();
        let out = talk(folder.path(), "fail it is lost\nsay on\n/load nothing\n/cook\n/help\n");
        assert!(out.contains("error: the device failed: it is lost\non\nerror: cannot load "), "{out}");
        assert!(out.contains("There is no command /cook") && out.contains("/settings"), "{out}");
        assert_eq!(Session::load(folder.path(), LAST).unwrap().turns.len(), 2);
    }

    #[test]
    fn lines_are_joined_by_a_backslash() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(talk(folder.path(), "say a\\\nb\n"), "a\nb\n");
    }
}
