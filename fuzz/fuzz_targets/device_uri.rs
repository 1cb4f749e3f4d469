//! Any text: a device URI is an error or prints as a URI of the same device.
#![no_main]

use hip::uri::DeviceUri;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(uri) = text.parse::<DeviceUri>() {
        assert_eq!(uri.to_string().parse::<DeviceUri>().as_ref(), Ok(&uri));
    }
    // the part after `vgpu:` has its own parser
    let _ = text.parse::<vgpu::DeviceConfig>();
});
