//! Bars and spinners on a terminal; a line of text elsewhere.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on a terminal; elsewhere the heading alone.
pub(crate) fn bar(length: u64, heading: &'static str, numbers: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        println!("{heading} …");
        return ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template(&format!("{{msg:12}} {{wide_bar}} {numbers}"));
    let bar = ProgressBar::new(length).with_message(heading);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A spinner on a terminal; elsewhere the heading alone.
pub(crate) fn spinner(heading: impl Into<std::borrow::Cow<'static, str>>) -> ProgressBar {
    let heading = heading.into();
    if !io::stderr().is_terminal() {
        println!("{heading} …");
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(heading);
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner
}
