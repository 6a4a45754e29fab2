//! A method's settings as text: chosen from its presets, changed by `--set`, explained by the docs of its `Config`.

use anyhow::{Context, Result, anyhow, bail};
use methods::learner::{Config, Preset};
use serde_json::Value;

/// Settings that have been checked, with the preset that they started from.
#[derive(Clone, Debug)]
pub(crate) struct Settings<C> {
    /// The preset's name.
    pub(crate) preset: String,
    /// The fields that were set by hand, as `--set` names them.
    pub(crate) changed: Vec<String>,
    /// The values.
    pub(crate) config: C,
}

/// One `--set`: a path of keys, and a value as in TOML.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    path: String,
    value: toml::Value,
}

impl Change {
    /// `--games N` is short for `--set games=N`.
    pub(crate) fn games(games: u64) -> Change {
        Change { path: "games".to_owned(), value: toml::Value::Integer(games as i64) }
    }
}

impl std::str::FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Change, String> {
        let (path, value) = text.split_once('=').ok_or("write KEY=VALUE, such as rate=0.05")?;
        let path = path.trim();
        if path.is_empty() || path.split('.').any(str::is_empty) {
            return Err("write KEY=VALUE with a key such as rate, or a.b for the key b inside a".to_owned());
        }
        let deserializer = toml::de::ValueDeserializer::parse(value.trim());
        let parsed = deserializer.ok().and_then(|d| <toml::Value as serde::Deserialize>::deserialize(d).ok());
        // What is not a value of TOML is a word, which a shell has stripped of its quotes.
        let value = parsed.unwrap_or_else(|| toml::Value::String(value.trim().to_owned()));
        Ok(Change { path: path.to_owned(), value })
    }
}

/// The preset of this name, or the first, with the changes made to it.
pub(crate) fn choose<C: Config>(
    presets: Vec<Preset<C>>,
    name: Option<&str>,
    changes: &[Change],
) -> Result<Settings<C>> {
    let names = presets.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    let mut presets = presets.into_iter();
    let preset = match name {
        None => presets.next().context("the method cannot play this game")?,
        Some(name) => presets
            .find(|preset| preset.name == name)
            .ok_or_else(|| anyhow!("there is no preset {}; there are: {names}", rules::notation::quote(name)))?,
    };
    let mut table: toml::Table = toml::from_str(&toml::to_string(&preset.config)?)?;
    for Change { path, value } in changes {
        set(&mut table, path, value.clone())?;
    }
    let config = read(toml::Value::Table(table))?;
    let changed = changes.iter().map(|change| change.path.clone()).collect();
    Ok(Settings { preset: preset.name.to_owned(), changed, config })
}

fn set(table: &mut toml::Table, path: &str, value: toml::Value) -> Result<()> {
    let mut at = table;
    let mut keys = path.split('.').peekable();
    while let Some(key) = keys.next() {
        if keys.peek().is_none() {
            at.insert(key.to_owned(), value);
            break;
        }
        at = match at.get_mut(key) {
            Some(toml::Value::Table(inner)) => inner,
            Some(_) => bail!("{path}: {key} is a value, it holds no keys"),
            None => bail!("{path}: there is no table {key}"),
        };
    }
    Ok(())
}

/// Settings from a file or the command line: unknown keys and impossible values are refused.
pub(crate) fn read<C: Config>(value: toml::Value) -> Result<C> {
    let config: C = value.try_into().map_err(|e: toml::de::Error| anyhow!(one_line(&e.to_string())))?;
    config.check()?;
    Ok(config)
}

/// A message of several lines on one.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A setting with its documentation.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Field {
    /// The key, with those of the tables around it: `a.b`.
    pub(crate) key: String,
    /// The value as in TOML; none for a table, whose fields follow.
    pub(crate) value: Option<String>,
    /// What its doc comment says.
    pub(crate) about: String,
}

/// Every field of the settings, in the order of their declaration, tables before their fields.
pub(crate) fn fields<C: Config>(config: &C) -> Result<Vec<Field>> {
    let schema = schemars::schema_for!(C).to_value();
    let mut table = String::new();
    let mut fields = Vec::new();
    for line in toml::to_string(config)?.lines() {
        let (key, value) = if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            table = format!("{name}.");
            (name.to_owned(), None)
        } else if let Some((key, value)) = line.split_once(" = ") {
            (format!("{table}{key}"), Some(value.to_owned()))
        } else {
            continue;
        };
        let about = describe(&schema, &key).unwrap_or_default();
        fields.push(Field { key, value, about });
    }
    Ok(fields)
}

/// The doc comment of the field at this path of keys.
fn describe(schema: &Value, path: &str) -> Option<String> {
    let mut at = schema;
    for key in path.split('.') {
        at = resolve(schema, at).get("properties")?.get(key)?;
    }
    let about = at.get("description").or_else(|| resolve(schema, at).get("description"))?;
    Some(one_line(about.as_str()?))
}

/// Follows a reference to a type that is defined once for the whole schema.
fn resolve<'a>(schema: &'a Value, at: &'a Value) -> &'a Value {
    let name = at.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/"));
    name.and_then(|name| schema.get("$defs")?.get(name)).unwrap_or(at)
}

/// The settings as the table `[config]` of a file, each key below its documentation.
pub(crate) fn documented<C: Config>(config: &C) -> Result<String> {
    let mut text = "\n[config]\n".to_owned();
    for Field { key, value, about } in fields(config)? {
        let about = wrap(&about, 110).into_iter().map(|line| format!("# {line}\n")).collect::<String>();
        let name = key.rsplit('.').next().unwrap_or(&key);
        text.push_str(&match value {
            Some(value) => format!("{about}{name} = {value}\n"),
            None => format!("\n{about}[config.{key}]\n"),
        });
    }
    Ok(text)
}

/// Breaks text into lines of at most `width` characters, at blanks.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::learner::{ConfigError, require};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Trial {
        /// Games to learn from.
        games: u64,
        /// Step size of gradient descent, above 0.
        rate: f32,
        /// How fast the rate falls.
        schedule: Schedule,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Schedule {
        /// Its value at the end, as a share of the first.
        end: f32,
    }

    impl Config for Trial {
        fn check(&self) -> Result<(), ConfigError> {
            require(self.games > 0, "games", &self.games, "at least 1")?;
            require(self.rate > 0.0, "rate", &self.rate, "above 0")
        }
    }

    fn presets() -> Vec<Preset<Trial>> {
        let config = |rate| Trial { games: 100, rate, schedule: Schedule { end: 0.1 } };
        vec![
            Preset { name: "strong", about: "", config: config(0.1) },
            Preset { name: "article", about: "", config: config(0.5) },
        ]
    }

    fn chosen(name: Option<&str>, changes: &[&str]) -> Result<Settings<Trial>, String> {
        let changes: Vec<Change> = changes.iter().map(|c| c.parse()).collect::<Result<_, _>>()?;
        choose(presets(), name, &changes).map_err(|e| e.to_string())
    }

    #[test]
    fn the_first_preset_is_the_default_and_changes_reach_inner_keys() {
        assert_eq!(chosen(None, &[]).unwrap().config.rate, 0.1);
        let settings = chosen(Some("article"), &["games=7", "schedule.end = 0.25"]).unwrap();
        assert_eq!((settings.config.games, settings.config.rate, settings.config.schedule.end), (7, 0.5, 0.25));
        assert_eq!(settings.changed, ["games", "schedule.end"]);
    }

    #[test]
    fn impossible_settings_are_refused_with_what_would_be_possible() {
        let error = |name, changes| chosen(name, changes).unwrap_err();
        assert!(error(Some("best"), &[]).contains("there are: strong, article"));
        assert!(error(None, &["rat=1"]).contains("unknown field `rat`, expected one of `games`, `rate`"));
        assert!(error(None, &["schedule.x=1"]).contains("unknown field `x`"));
        assert!(error(None, &["inner.x=1"]).contains("no table inner"));
        assert!(error(None, &["rate.x=1"]).contains("rate is a value"));
        assert!(error(None, &["games=0"]).contains("games = 0 is impossible: it must be at least 1"));
        assert!(error(None, &["rate=nan"]).contains("rate = NaN is impossible"));
        assert!(error(None, &["games=many"]).contains("invalid type: string \"many\", expected u64"));
        assert!(error(None, &["games=-1"]).contains("games"));
        assert!(error(None, &["games"]).contains("write KEY=VALUE"));
        assert!(error(None, &["=1"]).contains("write KEY=VALUE"));
    }

    #[test]
    fn a_value_cannot_smuggle_in_another_key() {
        assert!(chosen(None, &["games=1\nrate=9"]).unwrap_err().contains("invalid type: string"));
    }

    #[test]
    fn the_docs_of_the_fields_stand_above_them_and_the_text_is_read_back() {
        let config = presets()[0].config.clone();
        let text = documented(&config).unwrap();
        assert!(text.contains("# Step size of gradient descent, above 0.\nrate = 0.1\n"), "{text}");
        assert!(text.contains("\n# How fast the rate falls.\n[config.schedule]\n# Its value at the end, as a share of the first.\nend = 0.1\n"));
        let table: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(read::<Trial>(table["config"].clone()).unwrap(), config);
    }

    #[test]
    fn text_is_broken_at_blanks() {
        assert_eq!(wrap("aa bb  cc", 5), ["aa bb", "cc"]);
    }
}
