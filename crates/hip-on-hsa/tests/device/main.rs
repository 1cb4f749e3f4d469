//! Tests of the table on the device that `FERROCM_DEVICE` names, one file for each subject.

mod any_handle;
mod endings;
mod external;
mod faults;
mod graphs;
mod hostile;
mod ipc;
mod launch;
mod memory;
mod peers;
mod services;
mod support;
mod virtual_memory;
