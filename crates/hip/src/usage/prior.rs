//! Pending uses of memory by a former owner.

use std::sync::Arc;

use crate::error::Result;
use crate::stream::{Point, WeakStream};

/// Streams on which a former owner used memory, and whose work may not be done yet; each once.
///
/// The next owner of the memory is ordered after them, but does not get their errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorUses(Vec<Prior>);

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Prior {
    pub(crate) stream: WeakStream,
    /// Where its work ends; `None` for the end of the stream.
    pub(crate) point: Option<Arc<Point>>,
}

impl Prior {
    /// Blocks until the work is over and, unless it waited for a point, returns how it ended. The outer error
    /// means that some of it may still run.
    pub(crate) fn finish(&self) -> Result<Result<()>> {
        match &self.point {
            Some(point) => point.finish().map(Ok),
            None => self.stream.finish(),
        }
    }

    /// Whether the work is over, without waiting. `false` if that is unknown.
    pub(crate) fn is_over(&self) -> bool {
        self.point.as_ref().map_or_else(|| self.stream.is_idle(), |point| point.is_reached())
    }

    /// Adds uses of other memory by the same stream.
    fn join(&mut self, other: &Self) {
        let later = match (&self.point, &other.point) {
            (Some(one), Some(two)) => Some(if one.number() < two.number() { two } else { one }),
            _ => None,
        };
        self.point = later.cloned();
    }
}

impl FromIterator<Prior> for PriorUses {
    fn from_iter<I: IntoIterator<Item = Prior>>(uses: I) -> Self {
        Self(uses.into_iter().collect())
    }
}

impl IntoIterator for PriorUses {
    type Item = Prior;
    type IntoIter = std::vec::IntoIter<Prior>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl PriorUses {
    /// Blocks until the work is over. How it ended does not matter here; callers that wait for the stream get
    /// that. An error means that some of it may still run.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut waited = Ok(());
        for user in &self.0 {
            match user.finish() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a stream had failed before memory that it used was released")
                }
                Err(error) => waited = waited.and(Err(error)),
            }
        }
        waited
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Prior> {
        self.0.iter()
    }

    /// The only stream whose uses reach to its end, if all others are past.
    pub(crate) fn only(&self) -> Option<&WeakStream> {
        let mut present = self.0.iter().filter(|user| user.point.is_none());
        match (present.next(), present.next()) {
            (Some(user), None) => Some(&user.stream),
            _ => None,
        }
    }

    /// Adds the uses of memory that is joined with this.
    pub(crate) fn merge(&mut self, other: Self) {
        for user in other.0 {
            match self.0.iter_mut().find(|known| known.stream.id() == user.stream.id()) {
                Some(known) => known.join(&user),
                None => self.0.push(user),
            }
        }
    }

    /// Forgets the uses of the streams with the ids `done`, and those whose points are known to be reached.
    pub(crate) fn forget(&mut self, done: &[u64]) {
        self.0.retain(|user| !user.is_forgotten(done));
    }

    /// Whether [`forget`](Self::forget) would change anything.
    pub(crate) fn is_changed_by(&self, done: &[u64]) -> bool {
        self.0.iter().any(|user| user.is_forgotten(done))
    }
}

impl Prior {
    fn is_forgotten(&self, done: &[u64]) -> bool {
        done.contains(&self.stream.id()) || self.point.as_ref().is_some_and(|point| point.is_known())
    }
}
