//! Tests on the devices that `FERROCM_DEVICE` names, all in one process; one file per subject.

#[path = "../common/mod.rs"]
mod common;

mod endings;
mod graphs;
mod moves;
mod order;
mod reductions;
mod transfers;
