//! Comments of hostile repositories, read by a Markdown parser: nothing of the repository is markup, and all fits.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use rollout::diff::{Change, Hunk, Line, Side};
use rollout::model::{Finding, Gate, ObjectKey, ObjectRef, Position, Replicas, ScriptUse, Style};
use rollout::report::summary::{Changed, ImageChange, Part, Pods, Release, Row, Share};
use rollout::report::{Body, Comment, LIMIT, Links, ObjectChange, Repeats, Varying, Way, markdown};

/// Stands in every hostile text: wherever it is seen, text of the repository is seen.
const MARK: char = '\u{e000}';

/// What forges, parsers and browsers read as more than text.
const FRAGMENTS: &[&str] = &[
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "|",
    "\\",
    "\\|",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "-->",
    "</details>",
    "</summary>",
    "</code>",
    "<b>",
    "@acme/team",
    "@user",
    "#1",
    "GH-1",
    "acme/shop#2",
    "https://evil.example",
    "www.evil.example",
    "a@evil.example",
    "[x](https://evil.example)",
    "![i](https://evil.example/i.png)",
    "[x]: https://evil.example",
    "\n",
    "\n\n",
    "\r\n",
    "\u{2028}",
    "# h",
    "- [ ] task",
    "1. one",
    "> quote",
    "***",
    "__",
    "~~",
    "&lt;img&gt;",
    "&#64;user",
    "\u{202e}",
    "\u{1b}[31m",
    "word",
    " ",
    "    ",
    "\t",
    "$x$",
    ":smile:",
    "[^1]",
    "0123456789abcdef0123456789abcdef01234567",
    "| a | b |",
    "---",
    "javascript:alert(1)",
    "\u{0}",
];

fn hostile() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(FRAGMENTS), 0..8).prop_map(|parts| {
        let mut text = String::from(MARK);
        for part in parts {
            text.push_str(part);
            text.push(MARK);
        }
        text
    })
}

fn links() -> Links {
    Links::new(Some("https://github.example/acme/shop"), Some("0123abc"), "", Some("https://github.example/acme/shop/actions/runs/7"))
}

fn comment(links: &Links) -> Comment<'_> {
    Comment { key: "rollout", links, limit: LIMIT }
}

fn lines(texts: &[&str]) -> Vec<Hunk> {
    // A line of a diff has no line end of its own.
    let line = |text: &&str| Line { side: Side::After, text: text.replace('\n', " ") };
    vec![Hunk { before_start: 0, before_count: 0, after_start: 1, after_count: texts.len(), lines: texts.iter().map(line).collect() }]
}

/// A release in which every text is the repository's.
fn release(name: &str, text: &str, diff: &str) -> Release {
    let object = ObjectRef::new("v1", text, text, text);
    let row = |part, gate| Row {
        name: name.to_owned(),
        part,
        share: Share::Split { weight: Some(20), matches: vec![text.to_owned(), name.to_owned()] },
        effective: None,
        overall: None,
        not_proved: None,
        pods: Pods { written: Some(Replicas::Count(1)), new: Some(1), old: Some(4), total: Some(4) },
        gate,
        changes: vec![Changed { change: Change::Added, object: ObjectKey::new(text, name) }],
    };
    let repeats = Repeats {
        varying: vec![Varying { field: text.to_owned(), line: 1, values: vec![(Some(text.to_owned()), Some(name.to_owned())); 2] }],
        ways: vec![0, 1],
    };
    let way = |body| Way {
        from: name.to_owned(),
        to: text.to_owned(),
        objects: vec![ObjectChange { object: object.clone(), change: Change::Added, body }],
    };
    Release {
        environment: text.to_owned(),
        namespace: name.to_owned(),
        name: text.to_owned(),
        path: text.to_owned(),
        digest: text.to_owned(),
        style: Style::Canary,
        workload: text.to_owned(),
        is_preview: false,
        replicas: Some(4),
        images: vec![ImageChange { container: text.to_owned(), from: Some(text.to_owned()), to: Some(name.to_owned()) }],
        rows: vec![row(Part::Step(1), Some(Gate::Approval {})), row(Part::Finish, None)],
        scripts: vec![ScriptUse { object: ObjectKey::new(text, name), script: text.to_owned(), sha256: text.to_owned() }],
        engines: String::new(),
        ways: vec![way(Body::Shown { hunks: lines(&[diff, text]), repeats: Some(repeats) }), way(Body::Repeats(0))],
    }
}

fn finding(text: &str) -> Finding {
    Finding::error("weight-range", text).at(text, Position { line: 3, column: 1 }).about(text).help(text)
}

/// Reads a comment as a forge does, and finds nothing in it that the repository put there.
#[track_caller]
#[expect(clippy::wildcard_enum_match_arm, reason = "the parser's events: all others are harmless")]
fn check(text: &str) {
    assert!(text.len() <= LIMIT, "{} bytes", text.len());
    assert!(text.starts_with("<!-- rollout:v1 {\"key\":\"rollout\",\"head\":\"0123abc\","), "{text}");
    let (mut opened, mut closed, mut is_in_block) = (0, 0, false);
    for event in Parser::new_ext(text, Options::all()) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                assert_eq!(kind, CodeBlockKind::Fenced("diff".into()), "{text}");
                is_in_block = true;
            }
            Event::End(TagEnd::CodeBlock) => is_in_block = false,
            Event::Text(shown) if !is_in_block => {
                let is_link = ["@", "#", "://", "www.", "GH-", "`", "<", "]("].iter().any(|sign| shown.contains(sign));
                assert!(!is_link && !shown.contains(MARK), "{shown:?} in\n{text}");
            }
            Event::Start(Tag::Link { dest_url, title, id, .. }) => {
                let ours = "https://github.example/acme/shop/";
                assert!(dest_url.starts_with(ours) && !dest_url.contains([MARK, '<', '"']), "{dest_url} in\n{text}");
                assert!(title.is_empty() && id.is_empty(), "{title} {id}");
            }
            Event::Start(tag @ (Tag::Image { .. } | Tag::BlockQuote(_) | Tag::Strikethrough | Tag::FootnoteDefinition(_))) => {
                panic!("{tag:?} in\n{text}")
            }
            Event::Html(html) => match html.trim_end() {
                "<details>" => opened += 1,
                "</details>" => closed += 1,
                line if line.starts_with("<!-- rollout:v1 {") && line.ends_with("} -->") => assert!(!line.contains(MARK)),
                line => check_summary(line),
            },
            Event::InlineHtml(html) => assert!(["<br>", "<!-- -->", "<sub>", "</sub>"].contains(&&*html), "{html} in\n{text}"),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                panic!("{event:?} in\n{text}")
            }
            _ => {}
        }
    }
    assert_eq!(opened, closed, "{text}");
}

/// `<summary>… → …: 1 object</summary>`: elements of ours, and text of the repository in `<code>` only.
#[track_caller]
fn check_summary(line: &str) {
    let inner = line.strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
    let inner = inner.unwrap_or_else(|| panic!("not a summary: {line}"));
    for (index, part) in inner.split("<code>").enumerate() {
        let (code, outside) = if index == 0 { ("", part) } else { part.split_once("</code>").expect("code is closed") };
        assert!(!code.contains('<') && !code.contains('>'), "{line}");
        assert!(!outside.contains([MARK, '<', '>', '@', '#']), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_a_repository_is_markup(name in hostile(), text in hostile(), diff in hostile(), many in 1..3_usize) {
        let links = links();
        let releases = vec![release(&name, &text, &diff); many];
        check(&markdown(&releases, &[finding(&text), finding(&name)], comment(&links)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_comment_never_grows_over_its_limit(name in hostile(), diffs in 0..20_usize, size in 1..100_000_usize, findings in 0..200_usize) {
        let links = links();
        let releases: Vec<Release> = (0..diffs).map(|_| release(&name, &name, &"x".repeat(size))).collect();
        check(&markdown(&releases, &vec![finding(&name); findings], comment(&links)));
    }
}

#[test]
fn of_a_two_megabyte_diff_the_rest_is_shown_and_the_large_one_is_named() {
    let links = links();
    let mut one = release("step-1", "shop", "+a");
    one.ways.push(Way {
        from: "step-1".into(),
        to: "step-2".into(),
        objects: vec![ObjectChange {
            object: ObjectRef::new("v1", "ConfigMap", "prod", "big"),
            change: Change::Added,
            body: Body::Shown { hunks: lines(&vec!["``` @team #1"; 160_000]), repeats: None },
        }],
    });
    let text = markdown(&[one], &[], comment(&links));
    check(&text);
    assert!(text.contains("+++ b/shop/shop/shop\n"), "{text}");
    assert!(!text.contains("@team"), "{text}");
    let notice = "**Left out, too large for a comment:** 1 diff (`prod/ConfigMap/big in step-1 → step-2`). [All of it](https://github.example/acme/shop/actions/runs/7)";
    assert!(text.contains(notice), "{text}");
}

#[test]
fn a_thousand_releases_fit_with_a_count_of_the_others() {
    let links = links();
    let releases: Vec<Release> = (0..1_000).map(|number| release("step-1", &format!("shop-{number}"), "+a")).collect();
    let text = markdown(&releases, &[finding("wrong")], comment(&links));
    check(&text);
    assert!(text.contains("**1000 releases in 1000 steps, 1000 of them on approval, change 1000 objects.** 1 error."), "{text}");
    assert!(text.contains("[`wrong:3:1`](https://github.example/acme/shop/blob/0123abc/wrong#L3)"), "{text}");
    assert!(text.contains(" rows, ") && text.contains(" tables ("), "{text}");
}

#[test]
fn nothing_to_roll_out_is_said() {
    let links = links();
    let text = markdown(&[], &[], comment(&links));
    check(&text);
    assert!(text.contains("**No rollout changes.**"), "{text}");
    assert!(text.contains("\"releases\":0,\"previews\":0"), "{text}");
}

/// Renders a repository whose every free text is hostile, with the built program.
fn rendered(format: &[&str], is_released: bool) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "x`@acme/team` #1 </details><img src=x onerror=alert(1)> [a](https://evil.example) | b";
    let write = |path: &str, text: String| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let rollout = format!(
        "apiVersion: rollouts.kruise.io/v1beta1\nkind: Rollout\nmetadata: {{name: shop, namespace: prod}}\nspec:\n  \
         workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}\n  strategy:\n    canary:\n      \
         enableExtraWorkloadForCanary: true\n      steps:\n      - {{replicas: 1, traffic: 20%}}\n      - replicas: 50%\n        \
         matches: [{{headers: [{{type: Exact, name: who, value: '{hostile}'}}]}}]\n      trafficRoutings:\n      - service: shop\n        \
         gateway: {{httpRouteName: shop}}\n"
    );
    let objects = "apiVersion: v1\nkind: Service\nmetadata: {name: shop, namespace: prod}\nspec: {selector: {app: shop}, ports: [{port: 80}]}\n\
         ---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: shop, namespace: prod}\n\
         spec: {rules: [{backendRefs: [{name: shop, port: 80}]}]}\n";
    let workload = |image: &str, environment: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: shop, namespace: prod}}\nspec:\n  replicas: 4\n  selector: \
             {{matchLabels: {{app: shop}}}}\n  template:\n    metadata: {{labels: {{app: shop}}}}\n    spec:\n      containers:\n      \
             - name: shop\n        image: '{image}'\n        env:\n        - {{name: A, value: '{hostile}'}}\n{environment}"
        )
    };
    // Two megabytes of a diff.
    let large: Vec<String> =
        (0..30_000).map(|number| format!("        - {{name: V{number}, value: '``` @acme/team #{number}, and some more'}}\n")).collect();
    let large = large.concat();
    for side in ["before", "after"] {
        write(&format!("{side}/@acme [x](y) #1.yaml"), format!("{rollout}---\n{objects}"));
        let is_new = side == "after" && is_released;
        write(&format!("{side}/workload.yaml"), if is_new { workload(hostile, &large) } else { workload("shop:1", "") });
    }
    let command = std::process::Command::new(env!("CARGO_BIN_EXE_rollout"))
        .args(["render", "after", "--base-dir", "before", "--changed", "--fail-on", "never", "--head", "0123abc"])
        .args(["--repository-url", "https://github.example/acme/shop", "--report-url", "https://github.example/acme/shop/actions/runs/7"])
        .args(format)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8(command.stderr).unwrap();
    assert!(command.status.success(), "{error}");
    (String::from_utf8(command.stdout).unwrap(), error)
}

#[test]
fn a_hostile_repository_with_a_diff_of_two_megabytes_becomes_a_harmless_comment() {
    let (text, error) = rendered(&["--format", "markdown"], true);
    check(&text);
    assert!(text.contains("**1 release in 2 steps, 2 of them on approval, changes 5 objects.** 1 error."), "{text}\n{error}");
    assert!(text.contains("| step-1 | ██░░░░░░░░ 20% | 1 of 4 | approval |"), "{text}");
    assert!(text.contains("`prod/HTTPRoute.gateway.networking.k8s.io/shop`"), "{text}");
    assert!(
        text.contains("**Left out, too large for a comment:**") && text.contains("`prod/Deployment.apps/shop in step-2 → target`"),
        "{text}"
    );
    assert!(!text.contains("V29999"), "the large diff is left out whole");
}

#[test]
fn a_change_that_rolls_out_nothing_says_so() {
    let (text, _) = rendered(&["--format", "markdown", "--comment-key", "rollout"], false);
    check(&text);
    assert!(text.contains("**No rollout changes.**"), "{text}");
    assert_eq!(rendered(&["--format", "github"], false).0, "");
}
