//! A server with an engine without a model, over sockets.

#[path = "../support/client.rs"]
mod client;
#[path = "../support/engine.rs"]
mod engine;

mod anthropic;
mod chat;
mod harmony;
mod limits;
mod malformed;
mod models;
mod others;
mod responses;
mod shutdown;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use llm_server::engine::Engine;
use llm_server::{ModelEntry, Models, Server, Settings};
use serde_json::Value;
use tokio::sync::oneshot;

use client::Response;
use engine::{Scripted, State};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A server that stops when it is dropped.
struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<usize>>,
    state: Arc<State>,
}

/// A server of the model `test`.
fn serve(change: impl FnOnce(&mut Settings)) -> Running {
    serve_engine(Arc::new(Scripted::new("test", 8)), change)
}

fn serve_engine(engine: Arc<Scripted>, change: impl FnOnce(&mut Settings)) -> Running {
    let state = Arc::clone(&engine.state);
    let entries = vec![ModelEntry { name: "test".to_owned(), bytes: 0 }];
    let loader = move |_: &str| Ok(Arc::clone(&engine) as Arc<dyn Engine>);
    serve_models(Models::new(entries, Box::new(loader), None, None), state, change)
}

fn serve_models(models: Models, state: Arc<State>, change: impl FnOnce(&mut Settings)) -> Running {
    let mut settings = Settings::default();
    change(&mut settings);
    let (stop, stopped) = oneshot::channel();
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::bind(([127, 0, 0, 1], 0).into(), Arc::new(models), settings).await.unwrap();
            tell.send(server.address()).unwrap();
            server.run(async { stopped.await.unwrap_or_default() }).await
        })
    });
    Running { address: told.recv().unwrap(), stop: Some(stop), thread: Some(thread), state }
}

impl Running {
    fn get(&self, path: &str) -> Response {
        client::send(self.address, "GET", path, &[], b"")
    }

    fn post(&self, path: &str, body: &Value) -> Response {
        client::send(self.address, "POST", path, &[JSON], body.to_string().as_bytes())
    }

    /// The value of a line of `/metrics`.
    fn metric(&self, name: &str) -> f64 {
        let page = self.get("/metrics").text();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {page}")).parse().unwrap()
    }

    /// Asks the server to stop.
    fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until it has; how many connections were cut off.
    fn join(mut self) -> usize {
        self.stop();
        self.thread.take().unwrap().join().expect("the server does not panic")
    }

    fn cancelled(&self) -> usize {
        self.state.cancelled.load(Ordering::SeqCst)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for a condition.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
