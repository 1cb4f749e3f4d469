//! Progress bars and spinners on a terminal; elsewhere, lines of text with the elapsed time. Both go to
//! standard error: standard output is for results.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Prints a line to standard output. A closed pipe must not interrupt the work.
pub(crate) fn say_line(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a line, as `println!` does, but never panics.
macro_rules! say {
    ($($text:tt)*) => { $crate::progress::say_line(format_args!($($text)*)) };
}

/// Shorter work is not reported in lines.
const SHORT: Duration = Duration::from_secs(2);
/// The time between two lines.
const BETWEEN: Duration = Duration::from_secs(20);

/// A progress bar on a terminal; elsewhere, a line now and then.
pub fn bar(length: u64, heading: &'static str, numbers: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
        return in_lines(bar.with_message(heading));
    }
    let style = ProgressStyle::with_template(&format!("{{msg:12}} {{wide_bar}} {numbers}"));
    let bar = ProgressBar::new(length).with_message(heading);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A spinner on a terminal; elsewhere, a line now and then. Its message may be changed.
pub fn spinner(heading: impl Into<Cow<'static, str>>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return in_lines(ProgressBar::hidden().with_message(heading));
    }
    let spinner = ProgressBar::new_spinner().with_message(heading);
    let spinner = match ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        Ok(style) => spinner.with_style(style),
        Err(_) => spinner,
    };
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Starts a thread that writes lines about an invisible bar, until it is finished or dropped.
fn in_lines(bar: ProgressBar) -> ProgressBar {
    let watched = bar.downgrade();
    std::thread::spawn(move || {
        let mut wait = SHORT;
        loop {
            std::thread::sleep(wait);
            let Some(bar) = watched.upgrade().filter(|bar| !bar.is_finished()) else { return };
            let _ = writeln!(io::stderr(), "{}", line(&bar));
            wait = BETWEEN;
        }
    });
    bar
}

/// A bar as a line: its message, position and elapsed time.
fn line(bar: &ProgressBar) -> String {
    let part = match bar.length() {
        Some(length) if length > 0 => format!(" {} %", bar.position().saturating_mul(100) / length),
        _ => String::new(),
    };
    format!("{} …{part} ({} s)", bar.message(), bar.elapsed().as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_is_done_and_how_far_it_is() {
        let bar = ProgressBar::with_draw_target(Some(200), ProgressDrawTarget::hidden())
            .with_message("Downloading");
        bar.set_position(50);
        let bar = bar.with_elapsed(Duration::from_secs(40));
        assert_eq!(line(&bar), "Downloading … 25 % (40 s)");
        let spinner = ProgressBar::hidden().with_message("Building").with_elapsed(Duration::from_secs(60));
        assert_eq!(line(&spinner), "Building … (60 s)");
        spinner.set_message("Building: 7 crates");
        assert!(line(&spinner).starts_with("Building: 7 crates …"));
    }
}
