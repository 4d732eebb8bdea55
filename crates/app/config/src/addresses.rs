//! Addresses as people may see them: who is signed in there, and what is said behind the question mark, is nobody else's
//! business. Keys stand in both. Pure.

const MASK: &str = "***";

/// A text in which every address has its user, its values and its fragment hidden; the rest stays.
pub(super) fn without_secrets(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(word).collect()
}

fn word(word: &str) -> String {
    let address = word.trim_end();
    let Some(at) = address.find("://").map(|at| at + "://".len()) else { return word.to_owned() };
    let (scheme, rest) = address.split_at(at);
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let (path, said) = behind.split_at(behind.find(['?', '#']).unwrap_or(behind.len()));
    // Another address may stand in the path.
    format!("{scheme}{host}{}{}{}", self::word(path), values_hidden(said), &word[address.len()..])
}

/// `?name=value&word#place`, of which the names are seen.
fn values_hidden(said: &str) -> String {
    let (query, place) = said.split_at(said.find('#').unwrap_or(said.len()));
    let value = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() => format!("{name}={MASK}"),
        None if !pair.is_empty() => MASK.to_owned(),
        _ => pair.to_owned(),
    };
    let query = query.strip_prefix('?').map(|query| {
        let pairs: Vec<String> = query.split('&').map(value).collect();
        format!("?{}", pairs.join("&"))
    });
    let place = if place.len() > 1 { format!("#{MASK}") } else { place.to_owned() };
    query.unwrap_or_default() + &place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_opens_it() {
        for (text, shown) in [
            ("http://me:secret@h:1/v1", "http://***@h:1/v1"),
            ("http://token@h", "http://***@h"),
            ("http://a@b:c@h/v1?x=@", "http://***@h/v1?x=***"),
            ("https://h/v1?key=canary&v=2&canary&none=#canary", "https://h/v1?key=***&v=***&***&none=#***"),
            ("https://h?key=canary=canary", "https://h?key=***"),
            ("https://h#canary", "https://h#***"),
            ("https://h/via/https://u:canary@b/x?k=canary", "https://h/via/https://***@b/x?k=***"),
            ("see https://h/?k=canary and\nhttps://u:canary@h now?", "see https://h/?k=*** and\nhttps://***@h now?"),
            ("http://h/v1/@x", "http://h/v1/@x"),
            ("http://h/v1?", "http://h/v1?"),
            ("some/model@v1?x=y", "some/model@v1?x=y"),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }
}
