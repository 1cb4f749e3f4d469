//! Colours of charts and pages.

use plotters::style::RGBColor;

/// Text of a chart.
pub(super) const TEXT: RGBColor = RGBColor(0x24, 0x29, 0x2f);
/// Less important text.
pub(super) const WEAK: RGBColor = RGBColor(0x57, 0x60, 0x6a);
/// Axes.
pub(super) const AXIS: RGBColor = RGBColor(0xaf, 0xb8, 0xc1);
/// Lines behind a plot.
pub(super) const GRID: RGBColor = RGBColor(0xe6, 0xe9, 0xec);
/// Runs, by index: Okabe and Ito's colours, which people with colour blindness can distinguish.
pub(super) const SERIES: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x66, 0x66, 0x66),
];

/// The colours of charts in a dark scheme.
pub(super) const DARK: [(RGBColor, &str); 8] = [
    (TEXT, "#e6edf3"),
    (WEAK, "#9ba6b2"),
    (AXIS, "#4b5563"),
    (GRID, "#262d36"),
    (SERIES[0], "#5a94f2"),
    (SERIES[1], "#f08a3c"),
    (SERIES[2], "#2cc295"),
    (SERIES[6], "#a3adb8"),
];

/// `#0072B2`, in the plotting crate's format.
pub(super) fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}
