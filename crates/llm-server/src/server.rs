//! Accepts connections, limits them, and shuts down.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use axum::middleware;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Sleep;

use crate::app::App;
use crate::http::{self, LocalAddress};
use crate::models::Models;
use crate::settings::Settings;

/// The largest headers, in bytes.
const MAX_HEADERS: usize = 64 << 10;

/// How often idle models are looked for.
const SWEEP: Duration = Duration::from_millis(500);

/// A server that listens, but does not accept yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Listens at an address; port 0 is any free one.
    ///
    /// # Errors
    /// The system refuses the address.
    pub async fn bind(address: SocketAddr, models: Arc<Models>, settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, app: Arc::new(App::new(models, settings)) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the future is ready. Running requests then have [`Settings::shutdown_time`]. Returns how
    /// many connections were cut off after that.
    pub async fn run(self, stop: impl Future<Output = ()>) -> usize {
        let Self { listener, app, .. } = self;
        let router = router(&app);
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(app.settings.max_connections));
        let mut connections = JoinSet::new();
        let sweeping = Arc::clone(&app);
        let sweep = tokio::spawn(async move {
            let mut interval = tokio::time::interval(SWEEP);
            loop {
                interval.tick().await;
                sweeping.models.unload_idle().await;
            }
        });
        tokio::pin!(stop);
        loop {
            let accept = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, stream) = tokio::select! {
                () = &mut stop => break,
                // Frees what ended connections leave.
                Some(_) = connections.join_next() => continue,
                (place, accepted) = accept => match accepted {
                    Ok((stream, _)) => (place, stream),
                    Err(error) => {
                        // Such as too many open files: others may close meanwhile.
                        tracing::warn!(%error, "cannot accept");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
            };
            let connection = connection(stream, &router, &app, &graceful);
            connections.spawn(async move {
                let _place = place;
                connection.await;
            });
        }
        app.stop();
        sweep.abort();
        drop(listener);
        if tokio::time::timeout(app.settings.shutdown_time, graceful.shutdown()).await.is_ok() {
            return 0;
        }
        while connections.try_join_next().is_some() {}
        let left = connections.len();
        connections.shutdown().await;
        left
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

fn router(app: &Arc<App>) -> Router {
    crate::api::router()
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(middleware::from_fn_with_state(Arc::clone(app), http::guard))
        .with_state(Arc::clone(app))
}

/// Serves one connection.
fn connection(
    stream: TcpStream,
    router: &Router,
    app: &Arc<App>,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + use<> {
    // Tokens are small.
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr();
    let router = match local {
        Ok(address) => router.clone().layer(Extension(LocalAddress(address))),
        Err(_) => router.clone(),
    };
    let io = TokioIo::new(Watched::new(stream, app.settings.stall_time));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.settings.header_time)
        .max_buf_size(MAX_HEADERS)
        .serve_connection(io, TowerToHyperService::new(router));
    let connection = graceful.watch(connection);
    let app = Arc::clone(app);
    async move {
        app.metrics.connected();
        let connected = Connected(Arc::clone(&app));
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection ended");
        }
        drop(connected);
    }
}

/// Counts a connection until it is dropped.
struct Connected(Arc<App>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.metrics.disconnected();
    }
}

/// A stream whose writes fail if the client takes nothing for too long.
struct Watched {
    stream: TcpStream,
    limit: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Watched {
    fn new(stream: TcpStream, limit: Duration) -> Self {
        Self { stream, limit, waiting: None }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Ready when the process is told to stop, by SIGTERM or SIGINT.
///
/// # Errors
/// The system refuses the handlers.
pub fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
