//! Counters in Prometheus's text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::engine::{FinishReason, Usage};
use crate::models::ModelStatus;

/// Upper bounds of the histograms' buckets, in seconds.
const BUCKETS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// The counters of a server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By path and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    durations: Histogram,
    first_token: Histogram,
    prompt_tokens: AtomicU64,
    reused_tokens: AtomicU64,
    generated_tokens: AtomicU64,
    prompt_nanos: AtomicU64,
    generate_nanos: AtomicU64,
    /// By reason.
    finished: Mutex<BTreeMap<&'static str, u64>>,
    running: AtomicI64,
    connections: AtomicI64,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [AtomicU64; BUCKETS.len()],
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Histogram {
    fn add(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        for (bucket, bound) in self.buckets.iter().zip(BUCKETS) {
            if seconds <= bound {
                bucket.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos(time), Ordering::Relaxed);
    }

    fn write(&self, text: &mut String, name: &str, help: &str) {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} histogram");
        for (bucket, bound) in self.buckets.iter().zip(BUCKETS) {
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {}", bucket.load(Ordering::Relaxed));
        }
        let count = self.count.load(Ordering::Relaxed);
        let sum = self.nanos.load(Ordering::Relaxed) as f64 / 1e9;
        let _ =
            writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}");
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Metrics {
    /// An answer's headers were sent.
    pub(crate) fn responded(&self, path: &str, status: u16, time: Duration) {
        // Only paths of the table: others would fill the memory.
        let known = crate::api::ENDPOINTS.iter().map(|endpoint| endpoint.path).find(|known| *known == path);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((known.unwrap_or("other"), status)).or_default() += 1;
        drop(requests);
        self.durations.add(time);
    }

    pub(crate) fn first_token(&self, time: Duration) {
        self.first_token.add(time);
    }

    pub(crate) fn finished(&self, reason: &FinishReason, usage: &Usage) {
        let add = |counter: &AtomicU64, number: usize| counter.fetch_add(number as u64, Ordering::Relaxed);
        add(&self.prompt_tokens, usage.prompt_tokens);
        add(&self.reused_tokens, usage.reused_tokens);
        add(&self.generated_tokens, usage.generated_tokens);
        self.prompt_nanos.fetch_add(nanos(usage.prompt_time), Ordering::Relaxed);
        self.generate_nanos.fetch_add(nanos(usage.generate_time), Ordering::Relaxed);
        self.ended(match reason {
            FinishReason::Stop => "stop",
            FinishReason::StopSequence(_) => "stop_sequence",
            FinishReason::Length => "length",
            _ => "cancelled",
        });
    }

    /// An answer ended in this way.
    pub(crate) fn ended(&self, how: &'static str) {
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner).entry(how).or_default() += 1;
    }

    pub(crate) fn embedded(&self, tokens: usize) {
        self.prompt_tokens.fetch_add(tokens as u64, Ordering::Relaxed);
    }

    pub(crate) fn answer_begins(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answer_ends(&self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// The page.
    pub(crate) fn page(&self, models: &[ModelStatus]) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "# HELP ferrocm_requests_total Answers by path and status.\n# TYPE ferrocm_requests_total counter"
        );
        for ((path, status), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(text, "ferrocm_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}");
        }
        let _ = writeln!(
            text,
            "# HELP ferrocm_answers_total Generated answers by how they ended.\n# TYPE ferrocm_answers_total counter"
        );
        for (how, count) in &*self.finished.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(text, "ferrocm_answers_total{{end=\"{how}\"}} {count}");
        }
        let tokens = [
            ("prompt", &self.prompt_tokens, "Tokens of prompts."),
            ("reused", &self.reused_tokens, "Tokens of prompts that were in the cache."),
            ("generated", &self.generated_tokens, "Generated tokens."),
        ];
        for (name, counter, help) in tokens {
            let name = format!("ferrocm_{name}_tokens_total");
            let count = counter.load(Ordering::Relaxed);
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}");
        }
        let times = [
            ("prompt", &self.prompt_nanos, "Time in which prompts were processed."),
            ("generate", &self.generate_nanos, "Time in which tokens were generated, added over requests."),
        ];
        for (name, counter, help) in times {
            let name = format!("ferrocm_{name}_seconds_total");
            let seconds = counter.load(Ordering::Relaxed) as f64 / 1e9;
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {seconds}");
        }
        let gauges = [
            ("ferrocm_answers_running", &self.running, "Answers that run or wait in engines."),
            ("ferrocm_connections", &self.connections, "Open connections."),
        ];
        for (name, gauge, help) in gauges {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {}",
                gauge.load(Ordering::Relaxed)
            );
        }
        self.durations.write(&mut text, "ferrocm_response_seconds", "Time until an answer's headers.");
        self.first_token.write(
            &mut text,
            "ferrocm_first_token_seconds",
            "Time until an answer's first token.",
        );
        write_models(&mut text, models);
        text
    }
}

type Number = fn(&ModelStatus) -> u64;

/// The numbers of each model: name, kind, help, value.
const OF_MODELS: &[(&str, &str, &str, Number)] = &[
    ("ferrocm_model_loaded", "gauge", "Whether the model is loaded.", |m| u64::from(m.description.is_some())),
    ("ferrocm_model_bytes", "gauge", "Memory of the loaded model.", |m| {
        m.description.as_ref().map_or(0, |d| d.bytes)
    }),
    ("ferrocm_model_loads_total", "counter", "How often the model was loaded.", |m| m.loads),
    ("ferrocm_model_waiting", "gauge", "Requests that wait in the engine.", |m| {
        m.load.map_or(0, |l| l.waiting as u64)
    }),
    ("ferrocm_model_running", "gauge", "Requests that the engine runs.", |m| {
        m.load.map_or(0, |l| l.running as u64)
    }),
    ("ferrocm_model_cached_tokens", "gauge", "Tokens in the cache.", |m| {
        m.load.map_or(0, |l| l.cached_tokens as u64)
    }),
    ("ferrocm_model_cache_tokens", "gauge", "Tokens that fit in the cache.", |m| {
        m.load.map_or(0, |l| l.cache_tokens as u64)
    }),
];

fn write_models(text: &mut String, models: &[ModelStatus]) {
    for (name, kind, help, number) in OF_MODELS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for model in models {
            let label = model.name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = writeln!(text, "{name}{{model=\"{label}\"}} {}", number(model));
        }
    }
}
