//! A learner behind one type for all methods, with its settings as text: what the commands need of it.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use methods::learner::{Agent, Control, Learner, Row, Watch};
use net::file::Tensor;
use rules::{Action, Game, Seat};

use crate::agent_file::{AgentFile, Origin};
use crate::curve::Observer;
use crate::registry::Known;
use crate::run::{Plan, Run};
use crate::settings::{self, Change, Field, Settings};
use crate::training::{self, Course};

/// A [`Learner`] behind one type for all methods: what the commands need of it, with settings as text.
pub(crate) trait Method<G: Known> {
    /// [`Learner::METHOD`].
    fn name(&self) -> &'static str;

    /// [`Learner::ABOUT`].
    fn about(&self) -> &'static str;

    /// Names of the presets and what they are, the default first.
    fn presets(&self, game: &G) -> Vec<(&'static str, &'static str)>;

    /// The fields of a preset with their documentation.
    fn fields(&self, game: &G, preset: Option<&str>) -> Result<Vec<Field>>;

    /// Begins a run and trains to its end.
    fn train(&self, game: &G, new: &NewRun<'_>, course: Course) -> Result<()>;

    /// Continues a run.
    fn resume(&self, game: &G, run: &Run, plan: &Plan, config: toml::Value, course: Course) -> Result<()>;

    /// The seats that are trained with these settings.
    fn seats(&self, game: &G, preset: Option<&str>, changes: &[Change]) -> Result<Vec<Seat>>;

    /// Trains without files; the observer looks on and may stop it.
    fn observe(
        &self,
        game: &G,
        preset: Option<&str>,
        changes: &[Change],
        seed: u64,
        observer: &mut dyn Observer<G>,
    ) -> Result<()>;

    /// Everything that a training says and learns, as bytes.
    fn trace(&self, game: &G, preset: &str, changes: &[Change], seed: u64) -> Result<Vec<u8>>;

    /// An agent from its file, which is of this game and method.
    fn load(&self, game: &G, source: &str, file: &AgentFile) -> Result<Box<dyn Agent<G>>>;

    /// [`Learner::learn_from`], on the weights of a file.
    fn learn_from(&self, game: &G, file: &AgentFile, actions: &[Action], seat: Seat) -> Result<Vec<Tensor>>;
}

/// What a new run is made of.
pub(crate) struct NewRun<'a> {
    /// The preset's name; the default if there is none.
    pub(crate) preset: Option<&'a str>,
    /// Changes to it.
    pub(crate) changes: &'a [Change],
    /// The seed of all randomness.
    pub(crate) seed: u64,
    /// Where the run is to be kept.
    pub(crate) folder: &'a Path,
}

/// Carries the type of a method.
struct Of<L>(std::marker::PhantomData<L>);

/// The method of this learner.
pub(crate) fn of<G: Known, L: Learner<G> + 'static>() -> Box<dyn Method<G>> {
    Box::new(Of::<L>(std::marker::PhantomData))
}

impl<G: Known, L: Learner<G>> Method<G> for Of<L> {
    fn name(&self) -> &'static str {
        L::METHOD
    }

    fn about(&self) -> &'static str {
        L::ABOUT
    }

    fn presets(&self, game: &G) -> Vec<(&'static str, &'static str)> {
        L::presets(game).into_iter().map(|preset| (preset.name, preset.about)).collect()
    }

    fn fields(&self, game: &G, preset: Option<&str>) -> Result<Vec<Field>> {
        settings::fields(&settings::choose(L::presets(game), preset, &[])?.config)
    }

    fn train(&self, game: &G, new: &NewRun<'_>, course: Course) -> Result<()> {
        let settings: Settings<L::Config> = settings::choose(L::presets(game), new.preset, new.changes)?;
        // What the learner itself refuses is refused before there is a folder.
        L::new(game, &settings.config, new.seed)?;
        let plan = Plan::new(game.name(), L::METHOD, &settings, new.seed);
        let run = Run::create(new.folder, &plan, &settings.config)?;
        training::train::<G, L>(game, &run, &plan, &settings.config, course)
    }

    fn resume(&self, game: &G, run: &Run, plan: &Plan, config: toml::Value, course: Course) -> Result<()> {
        let config = settings::read::<L::Config>(config).map_err(|e| anyhow!("{}: {e}", run.config().display()))?;
        training::train::<G, L>(game, run, plan, &config, course)
    }

    fn trace(&self, game: &G, preset: &str, changes: &[Change], seed: u64) -> Result<Vec<u8>> {
        let settings: Settings<L::Config> = settings::choose(L::presets(game), Some(preset), changes)?;
        training::trace::<G, L>(game, &settings.config, seed)
    }

    fn seats(&self, game: &G, preset: Option<&str>, changes: &[Change]) -> Result<Vec<Seat>> {
        let settings: Settings<L::Config> = settings::choose(L::presets(game), preset, changes)?;
        L::new(game, &settings.config, 0)?;
        Ok(L::seats(&settings.config))
    }

    fn observe(
        &self,
        game: &G,
        preset: Option<&str>,
        changes: &[Change],
        seed: u64,
        observer: &mut dyn Observer<G>,
    ) -> Result<()> {
        struct Seen<'a, G: Game>(&'a mut dyn Observer<G>);

        impl<G: Game, L: Learner<G>> Watch<L> for Seen<'_, G> {
            fn row(&mut self, _row: &Row) {}

            fn pause(&mut self, learner: &L) -> Control {
                self.0.pause(learner.games(), learner.planned(), &|| Box::new(learner.agent()))
            }
        }

        let settings: Settings<L::Config> = settings::choose(L::presets(game), preset, changes)?;
        L::new(game, &settings.config, seed)?.train(&mut Seen(observer))?;
        Ok(())
    }

    fn load(&self, game: &G, source: &str, file: &AgentFile) -> Result<Box<dyn Agent<G>>> {
        let origin = &file.origin;
        if origin.encoding != L::ENCODING {
            let (theirs, ours) = (origin.encoding, L::ENCODING);
            bail!("{source}: its numbers are in encoding {theirs} of {}, and this program reads {ours}", L::METHOD);
        }
        let agent = L::load(game, &config_of::<G, L>(source, origin)?, &file.weights);
        Ok(Box::new(agent.map_err(|e| anyhow!("{source}: {e}"))?))
    }

    fn learn_from(&self, game: &G, file: &AgentFile, actions: &[Action], seat: Seat) -> Result<Vec<Tensor>> {
        let config = config_of::<G, L>("the agent", &file.origin)?;
        let learned = L::learn_from(game, &config, &file.weights, actions, seat);
        Ok(learned.ok_or_else(|| anyhow!("the method {} cannot learn from a single game", L::METHOD))??)
    }
}

fn config_of<G: Known, L: Learner<G>>(source: &str, origin: &Origin<serde_json::Value>) -> Result<L::Config> {
    let config = serde_json::from_value::<L::Config>(origin.config.clone());
    let config = config.map_err(|e| anyhow!("{source}: damaged settings: {e}"))?;
    methods::learner::Config::check(&config).map_err(|e| anyhow!("{source}: {e}"))?;
    Ok(config)
}
