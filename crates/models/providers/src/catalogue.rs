//! The file that remembers a server's list of models between runs.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{ModelInfo, Prices};

/// The largest list taken from a server or a file; a larger one is an error.
pub(crate) const LIST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Models kept of a list; the rest is not offered.
pub(crate) const MODELS_MAX: usize = 10_000;

#[derive(Serialize, Deserialize)]
struct File {
    /// Another server's list is not ours.
    base_url: String,
    models: Vec<Remembered>,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    slug: String,
    context_window: u64,
    max_output: Option<u64>,
    /// input, cache read, cache write, output
    prices: Option<[f64; 4]>,
    images: bool,
    thinking: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<String>>,
}

/// The remembered list; none when there is no file, or it is another server's, or it cannot be read: it is a cache.
pub(crate) fn load(path: &Path, base_url: &str) -> Option<Vec<ModelInfo>> {
    let file: File = serde_json::from_slice(&safefile::read_regular(path, LIST_BYTES_MAX as u64).ok()?).ok()?;
    let models = file.models.into_iter().map(|one| ModelInfo {
        max_output: one.max_output,
        prices: one.prices.map(|[input, cache_read, cache_write, output]| Prices {
            input,
            cache_read,
            cache_write,
            output,
        }),
        images: one.images,
        thinking: one.thinking,
        levels: one.levels.map(|levels| levels.into_iter().map(Arc::from).collect()),
        ..ModelInfo::named(one.slug, one.context_window)
    });
    (file.base_url == base_url).then(|| models.collect())
}

/// Replaces the file as a whole: a crash leaves the old one or the new one.
pub(crate) fn save(path: &Path, base_url: &str, models: &[ModelInfo]) -> io::Result<()> {
    let models = models.iter().map(|model| Remembered {
        slug: model.slug.to_string(),
        context_window: model.context_window,
        max_output: model.max_output,
        prices: model.prices.map(|prices| [prices.input, prices.cache_read, prices.cache_write, prices.output]),
        images: model.images,
        thinking: model.thinking,
        levels: model.levels.as_deref().map(|levels| levels.iter().map(|level| level.to_string()).collect()),
    });
    let text = serde_json::to_vec(&File { base_url: base_url.to_owned(), models: models.collect() })?;
    safefile::private_dir(path.parent().unwrap_or(Path::new("")))?;
    safefile::replace(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completions::list::parse;

    #[test]
    fn the_file_gives_back_what_was_saved_and_only_to_its_server() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new/models.json");
        let models = parse(
            br#"[{"id":"a","context_length":5,"pricing":{"prompt":"0.1","completion":"0.2"}},{"id":"b"},
                {"id":"c","supported_parameters":["reasoning"]},{"id":"d","supported_parameters":[]}]"#,
            7,
        )
        .unwrap();
        save(&path, "http://one/v1", &models).unwrap();
        save(&path, "http://one/v1", &models).unwrap();
        assert_eq!(load(&path, "http://one/v1"), Some(models));
        assert_eq!(load(&path, "http://two/v1"), None);
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
        fs::write(&path, b"{\"base").unwrap();
        assert_eq!(load(&path, "http://one/v1"), None);
    }
}
