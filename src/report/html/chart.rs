//! Who gets the new version and how many pods run it, as columns over the steps: a drawing in SVG.
//!
//! All numbers are whole: the same plan gives the same bytes. Everything drawn is said in words beside it.

use maud::{Markup, html};

/// One column of the chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    /// Below the column: `baseline`, `step-1`, `finish`.
    pub(super) name: String,
    /// Below the name: what ends the step.
    pub(super) note: String,
    /// Who gets the new version.
    pub(super) requests: Requests,
    /// How many pods run which version; none where only the cluster knows.
    pub(super) pods: Option<Pods>,
}

/// Who gets the new version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    /// Routing stays as the user wrote it.
    Unchanged,
    /// This percentage of all requests.
    Share(u8),
    /// Requests that match, and this percentage of the others.
    Matching(u8),
}

/// Pods of both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pods {
    /// Pods of the new version.
    pub(super) new: u32,
    /// Pods of the old version.
    pub(super) old: u32,
}

/// Left of the first column: room for the scale.
pub(super) const MARGIN: u32 = 44;
const NARROWEST: u32 = 60;
const WIDEST: u32 = 124;
const WIDTH: u32 = 860;
/// Height of a band of columns, and where the two begin.
const BAND: u32 = 76;
const REQUESTS_TOP: u32 = 44;
const PODS_TOP: u32 = REQUESTS_TOP + BAND + 58;

/// How wide a column is when there are so many.
pub(super) fn column_width(columns: usize) -> u32 {
    let columns = u32::try_from(columns).unwrap_or(u32::MAX).max(1);
    (WIDTH / columns).clamp(NARROWEST, WIDEST)
}

/// The drawing. `name` is what a screen reader calls it, `words` what it tells instead.
pub(super) fn chart(columns: &[Column], name: &str, words: &str) -> Markup {
    let width = column_width(columns.len());
    let total = MARGIN + width * u32::try_from(columns.len()).unwrap_or_default();
    let most = columns.iter().filter_map(|column| column.pods).map(|pods| pods.new.saturating_add(pods.old)).max();
    let bottom = if most.is_some() { PODS_TOP + BAND } else { REQUESTS_TOP + BAND };
    let height = bottom + 42;
    html! {
        svg class="chart" role="img" aria-label={ (name) ". " (words) } width=(total) height=(height) viewBox={ "0 0 " (total) " " (height) } {
            (band("Requests", REQUESTS_TOP, total, "100%"))
            @if let Some(most) = most { (band("Pods", PODS_TOP, total, &most.to_string())) }
            @for (index, column) in (0_u32..).zip(columns) {
                @let left = MARGIN + index * width;
                @let middle = left + width / 2;
                g class="stop" data-stop=(index) {
                    rect class="hit" x=(left) y="0" width=(width) height=(height) rx="6" {}
                    (requests(column.requests, left, width))
                    @if let (Some(most), Some(counts)) = (most, column.pods) { (pods(counts, most, left, width)) }
                    text class="name" x=(middle) y=(bottom + 20) { (fitting(&column.name, width)) }
                    text class="note" x=(middle) y=(bottom + 36) { (fitting(&column.note, width)) }
                }
            }
        }
    }
}

/// A band's title, its scale, and the lines of nothing and all.
fn band(title: &str, top: u32, right: u32, most: &str) -> Markup {
    html! {
        text class="title" x="0" y=(top - 28) { (title) }
        text class="scale" x=(MARGIN - 8) y=(top + 4) { (most) }
        text class="scale" x=(MARGIN - 8) y=(top + BAND) { "0" }
        line class="rule" x1=(MARGIN) x2=(right) y1=(top) y2=(top) {}
        line class="base" x1=(MARGIN) x2=(right) y1=(top + BAND) y2=(top + BAND) {}
    }
}

fn requests(requests: Requests, left: u32, width: u32) -> Markup {
    let (share, is_matching, label) = match requests {
        Requests::Unchanged => (0, false, "as before".to_owned()),
        Requests::Share(share) => (share, false, format!("{share}%")),
        Requests::Matching(0) => (0, true, "matching".to_owned()),
        Requests::Matching(share) => (share, true, format!("{share}% + match")),
    };
    let new = part(u32::from(share.min(100)), 100);
    let (x, bar) = (left + width * 3 / 20, width * 7 / 10);
    html! {
        rect class="old" x=(x) y=(REQUESTS_TOP) width=(bar) height=(BAND - new) {}
        @if is_matching { rect class="matching" x=(x) y=(REQUESTS_TOP) width=(bar) height=(BAND - new) {} }
        rect class="new" x=(x) y=(REQUESTS_TOP + BAND - new) width=(bar) height=(new) {}
        text class="value" x=(left + width / 2) y=(REQUESTS_TOP - 7) { (label) }
    }
}

fn pods(pods: Pods, most: u32, left: u32, width: u32) -> Markup {
    let (new, old) = (part(pods.new, most), part(pods.old, most));
    let (x, bar) = (left + width * 3 / 20, width * 7 / 10);
    let bottom = PODS_TOP + BAND;
    let top = bottom - (new + old).min(BAND);
    let label = match (pods.new, pods.old) {
        (new, 0) if new > 0 => format!("{new} new"),
        (0, old) => format!("{old} old"),
        (new, old) => format!("{new} + {old}"),
    };
    html! {
        rect class="new" x=(x) y=(top) width=(bar) height=(new) {}
        rect class="old" x=(x) y=(top + new) width=(bar) height=(old) {}
        text class="value" x=(left + width / 2) y=(PODS_TOP - 7) { (label) }
    }
}

/// The height of `number` of `most`: something where there is something, and all of it only for all.
fn part(number: u32, most: u32) -> u32 {
    if number == 0 || most == 0 {
        return 0;
    }
    let height = u64::from(BAND) * u64::from(number) / u64::from(most);
    u32::try_from(height).unwrap_or(BAND).clamp(2, BAND)
}

/// The text, cut to what a column holds.
fn fitting(text: &str, width: u32) -> String {
    let most = usize::try_from(width / 7).unwrap_or(usize::MAX);
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(requests: Requests, pods: Option<Pods>) -> Column {
        Column { name: "step-1".into(), note: "approval".into(), requests, pods }
    }

    fn heights(drawing: &str, class: &str) -> Vec<u32> {
        let marker = format!("<rect class=\"{class}\"");
        let rest = drawing.split(&marker).skip(1);
        rest.filter_map(|rest| rest.split("height=\"").nth(1)?.split('"').next()?.parse().ok()).collect()
    }

    #[test]
    fn a_share_is_as_high_as_its_percentage() {
        let drawing = chart(&[column(Requests::Share(50), None)], "n", "w").into_string();
        assert_eq!((heights(&drawing, "new"), heights(&drawing, "old")), (vec![38], vec![38]));
    }

    #[test]
    fn one_percent_is_seen_and_nothing_is_not() {
        assert_eq!((part(1, 1000), part(0, 10), part(10, 10), part(5, 0)), (2, 0, BAND, 0));
    }

    #[test]
    fn without_numbers_of_pods_only_requests_are_drawn() {
        let drawing = chart(&[column(Requests::Matching(0), None)], "n", "w").into_string();
        assert!(drawing.contains("class=\"matching\"") && !drawing.contains(">Pods<"), "{drawing}");
    }

    #[test]
    fn pods_stand_on_each_other_and_never_above_the_band() {
        let pods = [Pods { new: 1, old: 1000 }, Pods { new: 1000, old: 1 }, Pods { new: 3, old: 0 }];
        let columns: Vec<_> = pods.into_iter().map(|pods| column(Requests::Unchanged, Some(pods))).collect();
        let drawing = chart(&columns, "n", "w").into_string();
        assert!(heights(&drawing, "new").into_iter().all(|height| height <= BAND), "{drawing}");
        assert!(drawing.contains(">1 + 1000<") && drawing.contains(">3 new<"), "{drawing}");
    }

    #[test]
    fn a_hundred_steps_stay_readable_and_long_names_are_cut() {
        assert_eq!((column_width(3), column_width(100), column_width(0)), (WIDEST, NARROWEST, WIDEST));
        assert_eq!(fitting("a-name-too-long", 60), "a-name-…");
    }
}
