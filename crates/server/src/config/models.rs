//! The embedding models that the settings name: tables `[models.NAME]`, or the flat settings.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use providers::EndpointOptions;
use providers::embed::{LOCAL, NONE};
use serde::Deserialize;

/// Name of the model that the flat settings `embedding_…` describe.
pub const ENDPOINT: &str = "endpoint";

/// A model at an embeddings endpoint, as the settings describe it.
///
/// A wrong description is a sentence and no refusal to start: search goes on without the model.
#[derive(Debug, Clone)]
pub struct ModelSetting {
    /// The name that operators call it by.
    pub name: String,
    /// How it is asked, or what is wrong with its description.
    pub options: Result<EndpointOptions, String>,
}

/// A table `[models.NAME]` of the settings file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Described {
    pub url: String,
    pub model: String,
    pub width: usize,
    pub revision: String,
    pub key: Option<String>,
    pub key_env: Option<String>,
    pub key_file: Option<PathBuf>,
    pub query_prefix: String,
    pub passage_prefix: String,
    pub languages: Vec<String>,
    pub batch: Option<NonZeroUsize>,
    pub at_once: Option<NonZeroUsize>,
    pub seconds: Option<u64>,
}

impl Described {
    /// The model under a name. `variable` reads the environment.
    pub(super) fn named(
        self,
        name: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> ModelSetting {
        ModelSetting {
            name: name.to_owned(),
            options: self.options(name, variable),
        }
    }

    fn options(
        self,
        name: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<EndpointOptions, String> {
        if matches!(name, LOCAL | NONE) {
            return Err(format!("`{name}` is no name for a model of the settings"));
        }
        let lacks = |what: &str| format!("its settings lack {what}");
        if self.url.is_empty() {
            return Err(lacks(
                "`url`, such as `https://models.example.org/v1/embeddings`",
            ));
        }
        if self.model.is_empty() {
            return Err(lacks("`model`, its name at that server"));
        }
        let width = NonZeroUsize::new(self.width);
        let width = width.ok_or_else(|| lacks("`width`, how many numbers its vectors have"))?;
        let key = key(self.key, self.key_env.as_deref(), self.key_file, variable)?;
        let mut options = EndpointOptions::new(self.url, self.model, width);
        options.key = key.map(Into::into);
        options.revision = self.revision;
        options.query_prefix = self.query_prefix;
        options.passage_prefix = self.passage_prefix;
        options.languages = self.languages;
        options.batch = self.batch.unwrap_or(options.batch);
        options.at_once = self.at_once.unwrap_or(options.at_once);
        options.time = self.seconds.map_or(options.time, Duration::from_secs);
        Ok(options)
    }
}

/// The key, from where the description says.
fn key(
    plain: Option<String>,
    named: Option<&str>,
    file: Option<PathBuf>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, String> {
    if let Some(name) = named {
        let found = variable(name);
        return found
            .map(Some)
            .ok_or_else(|| format!("its `key_env` names `{name}`, which is not set"));
    }
    if let Some(path) = file {
        let read = std::fs::read_to_string(&path);
        return read
            .map(|key| Some(key.trim().to_owned()))
            .map_err(|error| format!("its `key_file` {} cannot be read: {error}", path.display()));
    }
    Ok(plain)
}

/// The models of the table `[models]`.
pub(super) fn of_table(
    table: Option<&toml::Value>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<ModelSetting> {
    let Some(table) = table.and_then(toml::Value::as_table) else {
        return Vec::new();
    };
    let described = table.iter().map(|(name, value)| {
        match value.clone().try_into::<Described>() {
            Ok(described) => described.named(name, variable),
            Err(error) => ModelSetting {
                name: name.clone(),
                // The message may quote the line, which may hold a key.
                options: Err(format!("its settings are wrong: {}", error.message())),
            },
        }
    });
    described.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<ModelSetting> {
        let table: toml::Table = text.parse().unwrap();
        let variable = |name: &str| (name == "KEY").then(|| "hush".to_owned());
        of_table(table.get("models"), &variable)
    }

    fn wrong(text: &str) -> String {
        read(text).remove(0).options.unwrap_err()
    }

    #[test]
    fn a_model_of_the_settings_is_asked_as_they_say() {
        let text = "[models.small]\nurl = \"http://127.0.0.1:1/v1/embeddings\"\nmodel = \"s\"\nwidth = 8\n\
            key_env = \"KEY\"\nquery_prefix = \"query: \"\nlanguages = [\"en\", \"de\"]\nseconds = 5\n";

        let model = read(text).remove(0);
        let options = model.options.unwrap();

        assert_eq!(model.name, "small");
        assert_eq!((options.width.get(), options.time.as_secs()), (8, 5));
        assert_eq!(options.query_prefix, "query: ");
        assert_eq!(options.languages, ["en", "de"]);
        assert!(options.key.is_some() && !format!("{:?}", options.key).contains("hush"));
    }

    #[test]
    fn what_is_wrong_with_a_model_is_said_and_stops_nothing() {
        assert!(wrong("[models.a]\n").contains("lack `url`"));
        assert!(wrong("[models.a]\nurl = \"http://h/\"\n").contains("lack `model`"));
        assert!(wrong("[models.a]\nurl = \"http://h/\"\nmodel = \"m\"\n").contains("lack `width`"));
        assert!(wrong("[models.a]\nulr = \"http://h/\"\n").contains("unknown field `ulr`"));
        let unset = "[models.a]\nurl = \"http://h/\"\nmodel = \"m\"\nwidth = 1\nkey_env = \"NO\"\n";
        assert!(wrong(unset).contains("`NO`, which is not set"));
        let taken = "[models.none]\nurl = \"http://h/\"\nmodel = \"m\"\nwidth = 1\n";
        assert!(wrong(taken).contains("is no name"));
    }
}
