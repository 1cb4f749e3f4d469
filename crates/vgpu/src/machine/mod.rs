//! The machine behind the HSA API: memory, dispatches, workgroups and waves.
