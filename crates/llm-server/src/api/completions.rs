//! `/v1/completions`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::future::try_join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::chat::{MOST_LOGPROBS, choices, finish_reason, max_tokens, timings, usage_of};
use crate::answer::{Answer, Piece, Seat, Token, total};
use crate::app::App;
use crate::conversation::{Limits, request};
use crate::engine::{SpecialText, Usage};
use crate::error::{ApiError, ApiResult};
use crate::fields::{ConstraintFields, Prompt, Prompts, SamplingFields, StreamOptions, Texts, stops};
use crate::http::Json;
use crate::ids;
use crate::parser::Part;
use crate::sse::{self, Gone, Sender};

/// A text to continue.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CompletionRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// The text, or several
    prompt: Prompts,
    /// The most tokens to generate; 16 if not given
    max_tokens: Option<usize>,
    /// The number of answers to each prompt
    #[schema(minimum = 1)]
    n: Option<usize>,
    /// Not supported, except the value of `n`
    best_of: Option<usize>,
    /// Whether the answer begins with the prompt
    echo: Option<bool>,
    /// Not supported
    suffix: Option<String>,
    /// Whether the answer comes in events
    stream: Option<bool>,
    /// What to add to these
    stream_options: Option<StreamOptions>,
    /// Texts that end the answer
    stop: Option<Texts>,
    /// Probabilities of tokens, with this number of alternatives
    #[schema(maximum = 20)]
    logprobs: Option<usize>,
}

/// What OpenAI documents as the default.
const DEFAULT_TOKENS: usize = 16;

/// Continues a text.
pub(crate) async fn completions(State(app): State<Arc<App>>, body: Json) -> ApiResult<Response> {
    let mut asked: CompletionRequest = body.read()?;
    let sampling = body.read::<SamplingFields>()?.over(&app.settings.sampling)?;
    let constraint = body.read::<ConstraintFields>()?.constraint()?;
    let n = choices(&app, asked.n)?;
    if asked.best_of.is_some_and(|best_of| best_of != n) {
        return Err(ApiError::field("best_of", "only the value of `n` is supported"));
    }
    if asked.suffix.as_ref().is_some_and(|suffix| !suffix.is_empty()) {
        return Err(ApiError::field("suffix", "it is not supported"));
    }
    if asked.logprobs.is_some_and(|logprobs| logprobs > MOST_LOGPROBS) {
        return Err(ApiError::field("logprobs", format!("it is more than {MOST_LOGPROBS}")));
    }
    if asked.logprobs.is_some() && asked.echo == Some(true) {
        return Err(ApiError::field("echo", "it cannot be had with `logprobs`"));
    }
    let limits = Limits {
        sampling,
        max_tokens: max_tokens("max_tokens", asked.max_tokens)?.or(Some(DEFAULT_TOKENS)),
        stop: stops("stop", asked.stop.take())?,
        logprobs: asked.logprobs,
    };
    let prompts = asked.prompt.into_vec();
    let most = app.settings.max_choices;
    if prompts.is_empty() || prompts.len().saturating_mul(n) > most {
        let message = format!("{} prompts with {n} answers each, not 1 to {most} in all", prompts.len());
        return Err(ApiError::field("prompt", message));
    }
    let seat = Seat::take(&app, asked.model.as_deref()).await?;
    let is_echo = asked.echo == Some(true);
    let prompts = seat
        .run(move |seat| {
            let tokenizer = seat.model.engine().tokenizer();
            let split = |prompt| match prompt {
                Prompt::Text(text) => Ok((tokenizer.encode(&text, SpecialText::Tokens)?, text)),
                Prompt::Tokens(tokens) if is_echo => {
                    super::tokens::known(seat, &tokens)?;
                    let text = tokenizer.decode(&tokens);
                    Ok((tokens, text))
                }
                Prompt::Tokens(tokens) => Ok((tokens, String::new())),
            };
            prompts.into_iter().map(split).collect::<ApiResult<Vec<_>>>()
        })
        .await?;
    let mut answers = Vec::new();
    for (tokens, text) in prompts {
        for index in 0..n {
            let mut limits = limits.clone();
            limits.sampling.seed = limits.sampling.seed.wrapping_add(index as u64);
            let request = request(&seat, tokens.clone(), &limits, constraint.clone())?;
            let begin = if is_echo { text.clone() } else { String::new() };
            answers.push((begin, seat.answer(request, None)?));
        }
    }
    let head = Head { id: ids::new("cmpl-"), created: ids::now(), model: seat.model.name().to_owned() };
    if asked.stream == Some(true) {
        let with_usage = asked.stream_options.and_then(|options| options.include_usage) == Some(true);
        return Ok(sse::stream(&app, sse::comment_ping(), |sender| {
            events(head, answers, n, with_usage, sender)
        }));
    }
    let whole =
        answers.into_iter().map(|(begin, answer)| async { ApiResult::Ok((begin, answer.whole().await?)) });
    let wholes = try_join_all(whole).await?;
    let usage = sum(wholes.iter().map(|(_, whole)| whole.usage).collect(), n);
    let choice = |(index, (begin, whole)): (usize, (String, crate::answer::Whole))| {
        json!({
            "index": index,
            "text": begin + &whole.content,
            "logprobs": limits.logprobs.map(|_| logprobs(&seat, &whole.tokens, &mut 0)),
            "finish_reason": finish_reason(whole.reason.as_ref(), false),
        })
    };
    let mut object = head.object(wholes.into_iter().enumerate().map(choice).collect());
    object["usage"] = usage_of(&usage);
    object["timings"] = timings(&usage);
    Ok(axum::Json(object).into_response())
}

/// What all events of an answer have.
struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    fn object(&self, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

/// What all answers took: `n` of them share each prompt.
fn sum(usages: Vec<Usage>, n: usize) -> Usage {
    let prompts = usages.chunks(n).map(|chunk| total(chunk.iter().copied()));
    prompts.fold(Usage::default(), |sum, usage| Usage {
        prompt_tokens: sum.prompt_tokens + usage.prompt_tokens,
        reused_tokens: sum.reused_tokens + usage.reused_tokens,
        generated_tokens: sum.generated_tokens + usage.generated_tokens,
        drafted_tokens: sum.drafted_tokens + usage.drafted_tokens,
        accepted_tokens: sum.accepted_tokens + usage.accepted_tokens,
        prompt_time: sum.prompt_time.max(usage.prompt_time),
        generate_time: sum.generate_time.max(usage.generate_time),
    })
}

/// Probabilities in the form of this path. `offset` is the number of characters before.
fn logprobs(seat: &Seat, tokens: &[Token], offset: &mut usize) -> Value {
    let tokenizer = seat.model.engine().tokenizer();
    let text = |id: u32| String::from_utf8_lossy(tokenizer.bytes(id)).into_owned();
    let mut offsets = Vec::new();
    for token in tokens {
        offsets.push(*offset);
        *offset += text(token.id).chars().count();
    }
    let top = tokens.iter().map(|token| {
        let top = token.logprob.top.iter().map(|(id, logprob)| (text(*id), Value::from(*logprob)));
        Value::Object(top.collect())
    });
    json!({
        "tokens": tokens.iter().map(|token| text(token.id)).collect::<Vec<_>>(),
        "token_logprobs": tokens.iter().map(|token| token.logprob.logprob).collect::<Vec<_>>(),
        "top_logprobs": top.collect::<Vec<_>>(),
        "text_offset": offsets,
    })
}

async fn events(
    head: Head,
    answers: Vec<(String, Answer)>,
    n: usize,
    with_usage: bool,
    sender: Sender,
) -> Result<(), Gone> {
    let all = answers.into_iter().enumerate();
    let all = all.map(|(index, (begin, answer))| choice(&head, index, begin, answer, &sender));
    let usages: Option<Vec<Usage>> = try_join_all(all).await?.into_iter().collect();
    let Some(usages) = usages else { return sender.done().await };
    if with_usage {
        let usage = sum(usages, n);
        let mut last = head.object(json!([]));
        last["usage"] = usage_of(&usage);
        last["timings"] = timings(&usage);
        sender.data(&last).await?;
    }
    sender.done().await
}

async fn choice(
    head: &Head,
    index: usize,
    begin: String,
    mut answer: Answer,
    sender: &Sender,
) -> Result<Option<Usage>, Gone> {
    let chunk = |text: &str, logprobs: Option<Value>, reason: Option<&str>| {
        let choice = json!({ "index": index, "text": text, "logprobs": logprobs, "finish_reason": reason });
        head.object(json!([choice]))
    };
    if !begin.is_empty() {
        sender.data(&chunk(&begin, None, None)).await?;
    }
    let mut offset = 0;
    loop {
        let piece = match answer.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(None),
            Err(error) => {
                sender.data(&error.openai()).await?;
                return Ok(None);
            }
        };
        let mut of =
            |tokens: &[Token]| (!tokens.is_empty()).then(|| logprobs(&answer.seat, tokens, &mut offset));
        match piece {
            Piece::Progress { tokens, of } => sender.comment(&format!("prompt {tokens}/{of}")).await?,
            Piece::Part(Part::Content(text) | Part::Reasoning(text), tokens) => {
                sender.data(&chunk(&text, of(&tokens), None)).await?;
            }
            // Without a parser there are no calls.
            Piece::Part(Part::Call(_), _) => {}
            Piece::End { reason, usage, tokens } => {
                sender.data(&chunk("", of(&tokens), Some(finish_reason(Some(&reason), false)))).await?;
                return Ok(Some(usage));
            }
        }
    }
}
