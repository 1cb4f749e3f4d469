//! The HSA function table of the virtual GPU.
