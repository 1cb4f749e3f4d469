//! Serves the engine of the tests, for clients in other languages: prints the address, and stops on SIGTERM.

#[path = "../tests/support/engine.rs"]
mod engine;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use engine::Scripted;
use llm_server::engine::Engine;
use llm_server::{ModelEntry, Models, Server, Settings, stop_signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let entries = vec![ModelEntry { name: "test".to_owned(), bytes: 0 }];
    let load = |name: &str| Ok(Arc::new(Scripted::new(name, 64)) as Arc<dyn Engine>);
    let models = Models::new(entries, Box::new(load), None, None);
    let settings = Settings {
        api_key: Some("secret".to_owned()),
        ping_interval: Duration::from_millis(50),
        shutdown_time: Duration::from_secs(5),
        ..Settings::default()
    };
    // Before the address is printed: whoever reads it may stop the server at once.
    let stop = stop_signal()?;
    let server = Server::bind(([127, 0, 0, 1], 0).into(), Arc::new(models), settings).await?;
    println!("http://{}", server.address());
    let cut = server.run(stop).await;
    println!("stopped, {cut} connections cut off");
    Ok(())
}
