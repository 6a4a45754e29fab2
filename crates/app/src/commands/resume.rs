//! `tengen resume`: an interrupted run goes on from its last checkpoint.

use std::path::PathBuf;

use anyhow::Result;

use super::train::{self, CourseArgs};
use crate::registry::{self, Known, WithGame};
use crate::run::{Plan, Run};
use crate::talk::{self, Look};
use crate::training::Course;

/// Continue an interrupted run
///
/// Goes on from the last checkpoint. The finished agent and its metrics are the same, byte by byte, as if the run had
/// never been interrupted.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder of the run
    run: PathBuf,
    #[command(flatten)]
    course: CourseArgs,
}

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    let (run, plan, config) = Run::open(&args.run)?;
    if run.agent().is_file() {
        talk::say(format!("The run in {} is finished", args.run.display()));
    } else {
        let game = plan.game.clone();
        registry::with_game(&game, Resume { run: &run, plan: &plan, config, course: args.course.course(look) })?;
    }
    train::finished(&args.run, args.course.json())
}

struct Resume<'a> {
    run: &'a Run,
    plan: &'a Plan,
    config: toml::Value,
    course: Course,
}

impl WithGame for Resume<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        let method = registry::method(&game, &self.plan.method)?;
        method.resume(&game, self.run, self.plan, self.config, self.course)
    }
}
