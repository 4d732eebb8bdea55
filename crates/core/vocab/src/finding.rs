//! Which session a person means: ids are long, and made at the same time they begin alike. Their ends are random, so that a few
//! characters of the end name one.

use crate::{Fault, FaultKind, Query, Store, Summary};

/// Characters of an id that a list shows at least: enough for some thousand sessions.
const SHORT_CHARS_MIN: usize = 6;
/// Sessions that are named where a word could mean several.
const CANDIDATES_MAX: usize = 5;
/// Characters of a title in such a list.
const TITLE_CHARS_MAX: usize = 40;

/// The session whose id starts or ends with `text`.
pub async fn find_session(store: &dyn Store, text: &str) -> Result<Summary, Fault> {
    let query = Query { id_part: Some(text.to_owned()), limit: Some(CANDIDATES_MAX + 1), ..Query::default() };
    let mut found = store.list(query.clone()).await?;
    if found.is_empty() {
        found = store.list(Query { children: true, ..query }).await?;
    }
    if found.len() > 1 {
        return Err(several(text, &found));
    }
    found.pop().ok_or_else(|| {
        Fault::new(FaultKind::NotFound, format!("no session matches `{text}`"))
            .hint("`tillerman sessions list` shows what there is")
    })
}

fn several(text: &str, found: &[Summary]) -> Fault {
    let ids: Vec<&str> = found.iter().map(|it| it.id.as_str()).collect();
    let named = found.iter().take(CANDIDATES_MAX).map(|it| {
        let title: String = it.title.as_deref().or(it.preview.as_deref()).unwrap_or_default().chars().collect();
        let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = title.chars().take(TITLE_CHARS_MAX).collect();
        match cut.is_empty() {
            true => short_id(it.id.as_str(), &ids),
            false => format!("{} ({cut})", short_id(it.id.as_str(), &ids)),
        }
    });
    let more = if found.len() > CANDIDATES_MAX { ", and more" } else { "" };
    let named = named.collect::<Vec<_>>().join(", ");
    Fault::new(FaultKind::NotFound, format!("`{text}` could be more than one session: {named}{more}"))
        .hint("give more characters of the id, of its start or of its end")
}

/// The shortest end of an id that names no other of `all`. Ids that are no UUIDs are somebody's own words and stay whole.
pub fn short_id(id: &str, all: &[&str]) -> String {
    let is_uuid = id.len() == 36 && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    if !is_uuid {
        return id.to_owned();
    }
    let end = id.rsplit('-').next().unwrap_or(id);
    let is_taken = |short: &str| all.iter().any(|it| *it != id && (it.ends_with(short) || it.starts_with(short)));
    let shorts = (SHORT_CHARS_MIN..=end.len()).map(|chars| &end[end.len() - chars..]);
    shorts.into_iter().find(|short| !is_taken(short)).unwrap_or(id).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_id_is_the_shortest_end_that_names_no_other() {
        let all = [
            "0199a2b4-0000-7000-8000-aaaaaa123456",
            "0199a2b4-0000-7000-8000-aaaaab123456",
            "0199a2b4-0000-7000-8000-bbbbbb0199a2",
            "mine",
        ];
        assert_eq!(short_id(all[0], &all), "a123456");
        assert_eq!(short_id(all[1], &all), "b123456");
        // Others begin with its last six.
        assert_eq!(short_id(all[2], &all), "b0199a2");
        assert_eq!(short_id(all[2], &all[2..]), "0199a2");
        assert_eq!(short_id("mine", &all), "mine");
    }
}
