//! `rollout test`: runs the cases that stand beside the scripts of gateways.

use camino::Utf8PathBuf;
use clap::ValueEnum;

use crate::discover::shipped_gateways;
use crate::report::count;
use crate::{cases, disk, report};

use super::{Answer, Failure, World};

/// Runs the cases of gateway scripts and shows what differs
///
/// A case is a YAML file in a folder `testdata` beside `trafficRouting.lua`, in OpenKruise's format: a `rollout` or a
/// `trafficRouting`, the `original` object, and the `expected` object of each step. A case elsewhere runs the script for the
/// kind of its original, a shipped one if need be.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout test                          all cases below the current folder
  rollout test lua_configuration        those of one folder
  rollout test --bless                  what the scripts give now is what is expected;
                                        read the diff before you commit it")]
pub(super) struct Args {
    /// The folder or the file to read
    #[arg(default_value = ".", value_name = "DIR")]
    path: Utf8PathBuf,

    /// Write what the scripts give into the cases, as what is expected
    #[arg(long)]
    bless: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Diffs for people
    Text,
    /// One report with `.cases[]`
    Json,
}

/// Runs the cases, after writing them where that is asked for.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let place = world.directory.join(&args.path);
    let place = Utf8PathBuf::from_path_buf(place).map_err(|place| format!("the name of the folder {} is not UTF-8", place.display()))?;
    let mut files = disk::read(&place)?.files;
    if args.bless {
        let blessed = cases::bless(&files, shipped_gateways());
        let folder = if place.is_dir() { place.as_path() } else { place.parent().unwrap_or(&place) };
        let written = disk::write_tree(folder, &blessed, &|_| false)?.written;
        for (path, bytes) in blessed.iter() {
            files.insert(path, bytes.clone());
        }
        writeln!(world.stderr, "{} written", count(written.len(), "case"))?;
    }
    let reports = cases::run(&files, shipped_gateways());
    if reports.is_empty() {
        return Err(format!("there are no cases in {}: a case is a YAML file with `original`, `expected` and `rollout`", args.path).into());
    }
    let text = match args.format {
        Format::Text => report::cases(&reports, world.stdout_colors),
        Format::Json => report::cases_json(&reports),
    };
    world.stdout.write_all(text.as_bytes())?;
    Ok(if reports.iter().all(cases::CaseReport::is_passed) { Answer::Yes } else { Answer::No })
}
