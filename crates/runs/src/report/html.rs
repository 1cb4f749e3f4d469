//! A report as one self-contained HTML page: no scripts, fonts or external images.

use std::fmt::Write as _;

use super::Page;
use super::charts::Chart;
use super::document::{Answer, Cell, Document, Table, range};
use super::style::{DARK, SERIES, hex};
use crate::compare::{Comparison, Estimate, Verdict};

/// The page.
pub(super) fn html(document: &Document, comparison: &Comparison, charts: &[Chart], page: &Page) -> String {
    let title = escape(&page.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n",
        dark()
    );
    let _ = write!(out, "<header>\n<h1>{title}</h1>\n");
    if let Some(note) = &page.note {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(note));
    }
    if let Some(command) = &page.command {
        let _ = writeln!(out, "<pre class=\"command\">{}</pre>", escape(command));
    }
    out.push_str(&runs(comparison));
    out.push_str("</header>\n<main>\n");
    if !document.answers.is_empty() {
        out.push_str("<section class=\"answers\">\n");
        for answer in &document.answers {
            out.push_str(&card(answer));
        }
        out.push_str("</section>\n");
    }
    if !document.warnings.is_empty() {
        out.push_str("<section class=\"warnings\">\n<h2>Before you compare</h2>\n<ul>\n");
        for warning in &document.warnings {
            let _ = writeln!(out, "<li>{}</li>", escape(warning));
        }
        out.push_str("</ul>\n</section>\n");
    }
    for (class, small) in [("charts small", true), ("charts", false)] {
        let charts: Vec<&Chart> = charts.iter().filter(|chart| chart.small == small).collect();
        if charts.is_empty() {
            continue;
        }
        let _ = writeln!(out, "<section class=\"{class}\">");
        for chart in charts {
            let _ = write!(
                out,
                "<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n",
                escape(&chart.title),
                inline(chart)
            );
        }
        out.push_str("</section>\n");
    }
    for table in &document.tables {
        out.push_str(&self::table(table));
    }
    out.push_str("<section class=\"notes\">\n<h2>Notes</h2>\n<ul>\n");
    for note in &document.notes {
        let _ = writeln!(out, "<li>{}</li>", escape(note));
    }
    let _ = write!(
        out,
        "</ul>\n</section>\n</main>\n<footer>ferrocm {} · <code>ferrocm bench compare</code></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out
}

/// The list of runs, each with its colour.
fn runs(comparison: &Comparison) -> String {
    let mut out = String::from("<ul class=\"runs\">\n");
    for (i, run) in comparison.runs.iter().enumerate() {
        let gpus = run.gpus.map_or(String::new(), |gpus| format!("{gpus} × "));
        let base = if i == comparison.baseline && comparison.runs.len() > 1 {
            " <span class=\"base\">baseline</span>"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<li><svg class=\"dot\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">\
             <rect width=\"12\" height=\"12\" rx=\"3\" fill=\"{}\"/></svg>\
             <strong>{}</strong>{base}<br><span>{}{}</span></li>",
            hex(SERIES[i % SERIES.len()]),
            escape(&run.label),
            escape(&gpus),
            escape(&run.gpu)
        );
    }
    out.push_str("</ul>\n");
    out
}

/// The speed-up of a run, in large type.
fn card(answer: &Answer) -> String {
    let Some(ratio) = answer.ratio else {
        return format!("<div class=\"answer\"><p>{}</p></div>\n", escape(&answer.text()));
    };
    let (class, verdict) = match answer.verdict {
        Verdict::Faster => ("good", "faster"),
        Verdict::Slower => ("bad", "slower"),
        Verdict::Same => ("same", "no difference beyond the noise of the steps"),
        Verdict::Unknown => ("same", "too few steps for an interval"),
    };
    let class = if answer.doubt().is_none() { class } else { "same" };
    let doubt =
        answer.doubt().map_or(String::new(), |doubt| format!("<p class=\"doubt\">{}</p>", escape(&doubt)));
    let range =
        range(ratio).map_or(String::new(), |range| format!("<span class=\"range\">95 %: {range}</span>"));
    format!(
        "<div class=\"answer {class}\">\n<div class=\"ratio\">{:.3}×</div>\n<div><p><strong>{}</strong> against {} {}: {verdict}</p>\
         {doubt}{range}{}</div>\n</div>\n",
        ratio.value,
        escape(&answer.label),
        escape(&answer.base),
        answer.of,
        interval(ratio)
    )
}

/// The interval as a bar around 1.
fn interval(ratio: Estimate) -> String {
    let (Some(low), Some(high)) = (ratio.low, ratio.high) else { return String::new() };
    if !(low > 0.0 && high.is_finite()) {
        return String::new();
    }
    // The scale is logarithmic, from the reciprocal of the farther end to that end: twice as fast is as far
    // from 1 as half as fast.
    let far = high.ln().abs().max(low.ln().abs()).max(0.02) * 1.15;
    let at = |value: f64| 50.0 + 50.0 * value.ln() / far;
    format!(
        "<div class=\"interval\"><i style=\"left:50%\"></i><b style=\"left:{:.2}%;width:{:.2}%\"></b></div>",
        at(low),
        (at(high) - at(low)).max(0.8)
    )
}

fn table(table: &Table) -> String {
    let mut out = format!("<section>\n<h2>{}</h2>\n", escape(&table.title));
    if !table.about.is_empty() {
        let _ = writeln!(out, "<p class=\"about\">{}</p>", escape(&table.about));
    }
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for column in &table.columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            out.push_str(&self::cell(cell, i == 0));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
    out
}

fn cell(cell: &Cell, first: bool) -> String {
    if first {
        return format!("<th scope=\"row\">{}</th>", escape(&cell.text));
    }
    let change = cell.change.as_ref().map_or(String::new(), |change| {
        let class = match cell.good {
            Some(true) => " good",
            Some(false) => " bad",
            None => "",
        };
        format!(" <span class=\"change{class}\">{}</span>", escape(change))
    });
    let range = cell
        .range
        .as_ref()
        .map_or(String::new(), |range| format!("<span class=\"range\">{}</span>", escape(range)));
    format!("<td>{}{change}{range}</td>", escape(&cell.text))
}

/// A chart within the page: as wide as its container, with a description.
fn inline(chart: &Chart) -> String {
    let start = chart.svg.find("<svg").unwrap_or(0);
    let svg = &chart.svg[start..];
    let (head, body) = svg.split_at(svg.find('>').unwrap_or(0));
    let view = head.find("viewBox=\"").map_or("", |at| head[at + 9..].split('"').next().unwrap_or(""));
    format!(
        "<svg viewBox=\"{}\" role=\"img\" aria-label=\"{}\"{}",
        escape(view),
        escape(&chart.description),
        body.trim_end()
    )
}

/// Text within a page.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Charts have their colours as attributes, which the page's rules override.
fn dark() -> String {
    let mut out = String::from("@media (prefers-color-scheme: dark) {\n");
    for (light, dark) in DARK {
        let light = hex(light);
        let _ = writeln!(
            out,
            "  svg [fill=\"{light}\"] {{ fill: {dark}; }} svg [stroke=\"{light}\"] {{ stroke: {dark}; }}"
        );
    }
    out.push_str("}\n");
    out
}

const STYLE: &str = "\
:root { --text: #1f2328; --weak: #57606a; --page: #f6f8fa; --card: #ffffff; --line: #d8dee4; --good: #116329; --bad: #b42318;
  --warn: #fff8e1; --warn-line: #d4a72c; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --weak: #9ba6b2; --page: #0d1117; --card: #161b22; --line: #30363d; --good: #56d364; --bad: #ff7b72;
    --warn: #2b2411; --warn-line: #9e7a1b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 24px 20px 40px; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; }
h1 { margin: 0 0 6px; font-size: 26px; line-height: 1.25; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { margin: 0 0 10px; font-size: 17px; }
.note { margin: 0 0 10px; color: var(--weak); }
.command { margin: 0 0 12px; padding: 10px 12px; overflow-x: auto; border: 1px solid var(--line); border-radius: 8px;
  background: var(--card); font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.runs { display: flex; flex-wrap: wrap; gap: 6px 28px; margin: 12px 0 20px; padding: 0; list-style: none; }
.runs li { position: relative; padding-left: 20px; min-width: 0; overflow-wrap: anywhere; }
.runs li > span:last-child { color: var(--weak); font-size: 13.5px; }
.dot { position: absolute; left: 0; top: 6px; width: 12px; height: 12px; }
.base { margin-left: 4px; padding: 1px 7px; border: 1px solid var(--line); border-radius: 99px; color: var(--weak); font-size: 12px; }
section { margin: 0 0 18px; padding: 18px 20px; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
.answers { display: grid; gap: 12px; padding: 0; border: 0; background: none;
  grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); }
.answer { display: flex; gap: 20px; align-items: center; padding: 16px 20px; border: 1px solid var(--line);
  border-left: 4px solid var(--weak); border-radius: 10px; background: var(--card); }
.answer.good { border-left-color: var(--good); } .answer.bad { border-left-color: var(--bad); }
.answer > div:last-child { flex: 1; min-width: 0; } .answer p { margin: 0 0 2px; overflow-wrap: anywhere; } .answer .doubt { color: var(--bad); }
.ratio { font-size: 34px; font-weight: 650; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.good .ratio, .change.good { color: var(--good); } .bad .ratio, .change.bad { color: var(--bad); }
.range { display: block; color: var(--weak); font-size: 12px; font-variant-numeric: tabular-nums; }
.interval { position: relative; height: 8px; margin-top: 8px; border-radius: 4px; background: var(--line); }
.interval b { position: absolute; top: 0; height: 8px; border-radius: 4px; background: currentColor; }
.interval i { position: absolute; top: -3px; width: 1px; height: 14px; background: var(--weak); }
.warnings { border-color: var(--warn-line); background: var(--warn); }
.warnings ul, .notes ul { margin: 0; padding-left: 20px; } .warnings li, .notes li { margin: 3px 0; overflow-wrap: anywhere; }
.notes { color: var(--weak); font-size: 13.5px; } .notes h2 { color: var(--text); }
.charts { display: grid; gap: 12px; padding: 0; border: 0; background: none;
  grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr)); }
.charts.small { grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)); }
.charts:not(.small) > figure:last-child:nth-child(odd) { grid-column: 1 / -1; } .charts > figure svg { max-height: 340px; }
figure { margin: 0; padding: 14px 16px 12px; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
figcaption { margin-bottom: 6px; font-weight: 600; } figure svg { display: block; width: 100%; height: auto; }
svg text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
.about { margin: -6px 0 10px; color: var(--weak); font-size: 13.5px; }
.scroll { overflow-x: auto; } table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 7px 12px; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child { padding-left: 0; text-align: left; font-weight: 400; } td:last-child, th:last-child { padding-right: 0; }
thead th { color: var(--weak); font-size: 13px; font-weight: 600; } tbody tr:last-child > * { border-bottom: 0; }
tbody th { min-width: 132px; }
tbody th, thead th:first-child { position: sticky; left: 0; background: var(--card); }
.change { color: var(--weak); font-size: 13px; white-space: nowrap; }
footer { color: var(--weak); font-size: 12.5px; }
@media (max-width: 560px) {
  body { padding: 16px 12px 32px; font-size: 14px; } section, figure, .answer { padding: 14px; }
  .answers, .charts { padding: 0; } .answer { flex-direction: column; align-items: stretch; gap: 4px; }
  th, td { padding: 6px; } th, td { min-width: 136px; overflow-wrap: anywhere; } tbody th { min-width: 104px; max-width: 36vw; }
}
@media print { body { background: none; } section, figure, .answer { break-inside: avoid; } }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(
            escape("<script>alert(\"1\" & '2')</script>\u{7}"),
            "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;\u{fffd}"
        );
    }
}
