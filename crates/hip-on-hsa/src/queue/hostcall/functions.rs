//! Functions of the program that device code may call.
//!
//! With AMD's protocol, device code can name any address. Here, calls reach only functions that the program
//! has registered, so a kernel that forges a call cannot make the host jump to an arbitrary address.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use hip_sys::DeviceFunction;

/// The addresses that may be called. Read-locked while a function runs.
static FUNCTIONS: RwLock<BTreeSet<usize>> = RwLock::new(BTreeSet::new());

/// The extension `device_function`.
pub(crate) unsafe extern "C" fn device_function(function: DeviceFunction, allowed: bool) {
    let mut functions = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
    if allowed {
        functions.insert(function as usize);
    } else {
        functions.remove(&(function as usize));
    }
}

/// Calls the function whose address is in the first word with the seven others.
pub(crate) fn call(words: &[u64; 8]) -> Result<[u64; 2], String> {
    let functions = FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner);
    let Some(&address) = usize::try_from(words[0]).ok().and_then(|address| functions.get(&address)) else {
        return Err(format!(
            "device code called a host function at {:#x}, which the program has not registered",
            words[0]
        ));
    };
    // SAFETY: the program has passed a function of this type with that address.
    let function = unsafe { std::mem::transmute::<usize, DeviceFunction>(address) };
    let mut output = [0u64; 2];
    // SAFETY: the program said that device code may call the function, with any words; it stays registered
    // until this returns.
    unsafe { function(output.as_mut_ptr(), words[1..].as_ptr()) };
    Ok(output)
}
