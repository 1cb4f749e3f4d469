//! Safe HSA: agents, memory pools, signals, queues and executables over any HSA function table.
#![warn(missing_docs)]
