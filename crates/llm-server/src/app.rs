//! What all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{ApiError, ApiResult};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::settings::Settings;

/// What all requests share.
pub(crate) struct App {
    pub(crate) models: Arc<Models>,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    places: Arc<Semaphore>,
    is_stopping: AtomicBool,
}

impl App {
    pub(crate) fn new(models: Arc<Models>, settings: Settings) -> Self {
        let places = Arc::new(Semaphore::new(settings.max_requests));
        let metrics = Metrics::default();
        Self { models, settings, metrics, places, is_stopping: AtomicBool::new(false) }
    }

    /// A place for a request, until it is dropped.
    pub(crate) fn place(self: &Arc<Self>) -> ApiResult<OwnedSemaphorePermit> {
        if self.is_stopping() {
            return Err(ApiError::busy("the server is shutting down", 10));
        }
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            let message =
                format!("{} requests are running, and no more are taken", self.settings.max_requests);
            ApiError::busy(message, 1)
        })
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }
}
