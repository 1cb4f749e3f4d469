//! Collectives between devices, over RCCL: AMD's if it is installed, otherwise this project's own, between
//! devices of one host.
//!
//! A [`Comm`] is one rank. Operations of several ranks on one thread, and several sends and receives, must be
//! in a [`Group`], or between [`group_start`] and [`group_end`].

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
