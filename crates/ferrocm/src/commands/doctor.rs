//! `ferrocm doctor`.

use clap::Args;
use hip::Device;
use setup::doctor::{Row, report};
use setup::hipcc;

use crate::commands::hipcc::Machine;
use crate::{PROGRAM, output};

const EXAMPLES: &str = "\
Examples:
  ferrocm doctor                       the table
  ferrocm doctor || ferrocm setup      install the device compiler if a required part is missing

Exit status: 0 if everything required is here, 1 if something is missing.";

/// Shows every tool and library: its place, its version, and what to do if it is missing
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {}

/// Prints the table. Fails if something is missing that every build needs.
pub(crate) fn run(Arguments {}: Arguments) -> anyhow::Result<()> {
    let report = report(&PROGRAM, [default_device(), host_programs()]);
    output::print(&report.render())?;
    report.check()?;
    output::print("\nEverything that is required is here.\n")
}

/// Whether HIP programs can be compiled, linked and run.
fn host_programs() -> Row {
    const NAME: &str = "host programs (hipcc)";
    let tried = Machine::new(true).map_err(|error| error.to_string()).and_then(|machine| {
        let hipcc = machine.hipcc().map_err(|error| error.to_string())?;
        let done = hipcc::try_out(&hipcc)?;
        Ok((done, hipcc.folder().to_owned()))
    });
    match tried {
        Ok((done, folder)) => Row::new(NAME, done, Some(folder)),
        Err(problem) => Row::missing(NAME, false, problem, "`HIPCC_VERBOSE=1 ferrocm hipcc` shows commands"),
    }
}

/// The device of programs that do not name one.
fn default_device() -> Row {
    const NAME: &str = "default device";
    match Device::open_default() {
        Ok(device) => Row::new(NAME, device.to_string(), None),
        Err(error @ hip::Error::Environment { .. }) => {
            Row::missing(NAME, true, error.to_string(), "correct or unset FERROCM_DEVICE")
        }
        Err(error) => {
            Row::missing(NAME, true, error.to_string(), "`ferrocm devices` lists the available ones")
        }
    }
}
