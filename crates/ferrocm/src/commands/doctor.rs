//! `ferrocm doctor`.

use clap::Args;
use hip::Device;
use setup::doctor::{Row, report};

use crate::{PROGRAM, output};

const EXAMPLES: &str = "\
Examples:
  ferrocm doctor                       the table
  ferrocm doctor || ferrocm setup      install the device compiler if something that is required is missing

Exit status: 0 if everything that is required is here, 1 if something is not.";

/// Shows every tool and library: where it is, its version, what to do about what is missing
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {}

/// Prints the table; an error when something is missing without which nothing can be built.
pub(crate) fn run(Arguments {}: Arguments) -> anyhow::Result<()> {
    let report = report(&PROGRAM, [default_device()]);
    output::print(&report.render())?;
    report.check()?;
    output::print("\nEverything that is required is here.\n")
}

/// The device that programs get which name none.
fn default_device() -> Row {
    const NAME: &str = "default device";
    match Device::open_default() {
        Ok(device) => Row::new(NAME, device.to_string(), None),
        Err(error @ hip::Error::Environment { .. }) => {
            Row::missing(NAME, true, error.to_string(), "correct or unset FERROCM_DEVICE")
        }
        Err(error) => {
            Row::missing(NAME, true, error.to_string(), "`ferrocm devices` lists those that there are")
        }
    }
}
