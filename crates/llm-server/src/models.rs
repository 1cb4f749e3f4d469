//! The models of a server: loaded when asked for, unloaded for others or when idle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::{Engine, ModelDescription};
use crate::error::{ApiError, ApiResult, Kind};

/// Loads a model by its name. Blocks.
pub type Loader = dyn Fn(&str) -> Result<Arc<dyn Engine>, String> + Send + Sync;

/// A model that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// The name that requests use, and the loader gets.
    pub name: String,
    /// The memory that it will take, in bytes, as far as known before.
    pub bytes: u64,
}

/// The models of a server.
pub struct Models {
    loader: Box<Loader>,
    models: Vec<Arc<Model>>,
    budget: Option<u64>,
    idle: Option<Duration>,
    /// Models are loaded one after the other, so that the budget holds.
    loading: tokio::sync::Mutex<()>,
}

struct Model {
    entry: ModelEntry,
    slot: Mutex<Slot>,
}

struct Slot {
    engine: Option<Arc<dyn Engine>>,
    users: usize,
    last_used: Instant,
    loads: u64,
    /// The seconds since 1970 of the last load.
    loaded_at: u64,
}

impl Model {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A use of the model, if it is loaded.
    fn lease(self: &Arc<Self>) -> Option<Lease> {
        let mut slot = self.slot();
        let engine = slot.engine.clone()?;
        slot.users += 1;
        Some(Lease { engine, user: User(Arc::clone(self)) })
    }

    /// The memory of the loaded model.
    fn bytes(&self) -> u64 {
        self.slot().engine.as_ref().map_or(0, |engine| self.entry.bytes.max(engine.description().bytes))
    }
}

/// A model in use: it stays loaded.
#[derive(Clone)]
pub struct Lease {
    // Dropped before the user is gone, so that whoever unloads a model holds its last reference.
    engine: Arc<dyn Engine>,
    user: User,
}

/// Counts as a user of the model.
struct User(Arc<Model>);

impl Lease {
    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// The engine has stopped: the next request loads the model again.
    pub(crate) fn retire(&self) {
        let mut slot = self.user.0.slot();
        if slot.engine.as_ref().is_some_and(|engine| Arc::ptr_eq(engine, &self.engine)) {
            slot.engine = None;
            tracing::error!(model = self.user.0.entry.name, "the engine has stopped");
        }
    }

    /// The model's name on this server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.user.0.entry.name
    }
}

impl Clone for User {
    fn clone(&self) -> Self {
        self.0.slot().users += 1;
        Self(Arc::clone(&self.0))
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let mut slot = self.0.slot();
        slot.users -= 1;
        slot.last_used = Instant::now();
    }
}

/// What a model is doing.
#[derive(Clone, Debug)]
pub struct ModelStatus {
    /// Its name on this server.
    pub name: String,
    /// What it is, if it is loaded.
    pub description: Option<ModelDescription>,
    /// How busy its engine is, if it is loaded.
    pub load: Option<crate::engine::EngineLoad>,
    /// Running requests.
    pub users: usize,
    /// How often it was loaded.
    pub loads: u64,
    /// The seconds since 1970 of the last load; 0 if there was none.
    pub loaded_at: u64,
}

impl Models {
    /// These models, of which the first is the default. Loaded models take at most `budget` bytes together,
    /// and one that is not used for `idle` is unloaded.
    #[must_use]
    pub fn new(
        entries: Vec<ModelEntry>,
        loader: Box<Loader>,
        budget: Option<u64>,
        idle: Option<Duration>,
    ) -> Self {
        let model = |entry| {
            let slot = Slot { engine: None, users: 0, last_used: Instant::now(), loads: 0, loaded_at: 0 };
            Arc::new(Model { entry, slot: Mutex::new(slot) })
        };
        let models = entries.into_iter().map(model).collect();
        Self { loader, models, budget, idle, loading: tokio::sync::Mutex::new(()) }
    }

    /// What each model is doing.
    #[must_use]
    pub fn status(&self) -> Vec<ModelStatus> {
        let status = |model: &Arc<Model>| {
            let slot = model.slot();
            ModelStatus {
                name: model.entry.name.clone(),
                description: slot.engine.as_ref().map(|engine| engine.description().clone()),
                load: slot.engine.as_ref().map(|engine| engine.load()),
                users: slot.users,
                loads: slot.loads,
                loaded_at: slot.loaded_at,
            }
        };
        self.models.iter().map(status).collect()
    }

    /// The model of this name, loaded now if it is not yet. Without a name, the default.
    ///
    /// # Errors
    /// There is no such model, it cannot be loaded, or the budget is taken by models in use.
    pub async fn get(self: &Arc<Self>, name: Option<&str>) -> ApiResult<Lease> {
        let model = match name {
            None | Some("" | "default") => self.models.first(),
            Some(name) => self.models.iter().find(|model| model.entry.name == name),
        };
        let Some(model) = model.map(Arc::clone) else {
            let names: Vec<&str> = self.models.iter().map(|model| model.entry.name.as_str()).collect();
            let message = format!(
                "there is no model `{}` here, but {}",
                name.unwrap_or("default"),
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            );
            let error = ApiError::new(Kind::NotFound, message).code("model_not_found");
            return Err(ApiError { param: Some("model".to_owned()), ..error });
        };
        if let Some(lease) = model.lease() {
            return Ok(lease);
        }
        // A task of its own: a client that leaves does not stop a load that others wait for.
        let all = Arc::clone(self);
        let loaded = tokio::spawn(async move { all.load(&model).await }).await;
        loaded.unwrap_or_else(|error| Err(ApiError::new(Kind::Failed, format!("loading failed: {error}"))))
    }

    async fn load(self: &Arc<Self>, model: &Arc<Model>) -> ApiResult<Lease> {
        let _loading = self.loading.lock().await;
        if let Some(lease) = model.lease() {
            return Ok(lease);
        }
        self.make_room(model).await?;
        let (all, name) = (Arc::clone(self), model.entry.name.clone());
        let loaded = tokio::task::spawn_blocking(move || (all.loader)(&name)).await;
        let engine = match loaded {
            Ok(Ok(engine)) => engine,
            Ok(Err(message)) => return Err(ApiError::new(Kind::Failed, message).code("model_not_loaded")),
            Err(error) => {
                let message = format!("loading {} failed: {error}", model.entry.name);
                return Err(ApiError::new(Kind::Failed, message).code("model_not_loaded"));
            }
        };
        tracing::info!(model = model.entry.name, bytes = engine.description().bytes, "model loaded");
        let mut slot = model.slot();
        slot.engine = Some(Arc::clone(&engine));
        slot.users += 1;
        slot.loads += 1;
        slot.loaded_at = crate::ids::now();
        drop(slot);
        Ok(Lease { engine, user: User(Arc::clone(model)) })
    }

    /// Unloads the models that were not used for the longest time, until this one fits.
    async fn make_room(&self, model: &Arc<Model>) -> ApiResult<()> {
        let Some(budget) = self.budget else { return Ok(()) };
        let need = model.entry.bytes;
        if need > budget {
            let message =
                format!("{} takes {need} bytes, and the memory budget is {budget}", model.entry.name);
            return Err(ApiError::new(Kind::Failed, message).code("model_not_loaded"));
        }
        loop {
            let used: u64 = self.models.iter().map(|model| model.bytes()).sum();
            if used.saturating_add(need) <= budget {
                return Ok(());
            }
            let idle = self.models.iter().filter(|model| {
                let slot = model.slot();
                slot.engine.is_some() && slot.users == 0
            });
            let oldest = idle.min_by_key(|model| model.slot().last_used);
            let Some(oldest) = oldest else {
                return Err(ApiError::busy("all of the memory budget is taken by models in use", 5));
            };
            unload(oldest, |_| true).await;
        }
    }

    /// Unloads idle models. To be called now and then.
    pub async fn unload_idle(&self) {
        let Some(limit) = self.idle else { return };
        for model in &self.models {
            unload(model, |slot| slot.last_used.elapsed() >= limit).await;
        }
    }
}

impl std::fmt::Debug for Models {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Models").field("models", &self.status()).finish_non_exhaustive()
    }
}

/// Unloads a model that nobody uses, under a condition.
async fn unload(model: &Model, when: impl Fn(&Slot) -> bool) {
    let engine = {
        let mut slot = model.slot();
        let is_free = slot.users == 0 && when(&slot);
        if is_free { slot.engine.take() } else { None }
    };
    if let Some(engine) = engine {
        // Memory of devices is freed here, which may take a while.
        if let Err(error) = tokio::task::spawn_blocking(move || drop(engine)).await {
            tracing::error!(model = model.entry.name, %error, "unloading failed");
        }
        tracing::info!(model = model.entry.name, "model unloaded");
    }
}
