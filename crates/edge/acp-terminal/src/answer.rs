//! What is typed at a permission question. Pure.

use acp_types::PermissionOption;

/// What a line means.
#[derive(PartialEq, Debug)]
pub(super) enum QuestionReply<'a> {
    /// One of the options, and the words behind it.
    Option(&'a PermissionOption, &'a str),
    /// The rest of the question.
    More,
    Unclear,
}

/// A number or a name of the list, or `y` and `n`, which mean what an option does and never what it is called.
pub(super) fn read<'a>(line: &'a str, options: &'a [PermissionOption]) -> QuestionReply<'a> {
    let (first, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let first = first.trim_end_matches([',', '.', ':']);
    let number = || first.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    let meant = match first.to_lowercase().as_str() {
        "?" => return QuestionReply::More,
        "y" | "yes" => pick(options, true),
        "n" | "no" => pick(options, false),
        _ => number(),
    };
    let named = || options.iter().find(|it| it.option_id == line || it.name.eq_ignore_ascii_case(line));
    match (meant, named()) {
        (Some(option), _) => QuestionReply::Option(option, words.trim()),
        (None, Some(option)) => QuestionReply::Option(option, ""),
        (None, None) => QuestionReply::Unclear,
    }
}

/// The mildest option that says it: once before always. A no that is certain comes before one that only sounds like it.
pub(super) fn pick(options: &[PermissionOption], allow: bool) -> Option<&PermissionOption> {
    let fits = |option: &&PermissionOption| option.allows() == allow;
    options.iter().filter(fits).min_by_key(|option| (!allow && option.may_allow(), option.lasts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, name: &str, kind: &str) -> PermissionOption {
        serde_json::from_value(serde_json::json!({ "optionId": id, "name": name, "kind": kind })).unwrap()
    }

    #[test]
    fn the_mildest_option_is_picked_and_none_where_none_fits() {
        let options = [
            option("always", "always", "allow_always"),
            option("once", "once", "allow_once"),
            option("never", "never", "reject_always"),
        ];
        assert_eq!(pick(&options, true).map(|it| it.option_id.as_str()), Some("once"));
        assert_eq!(pick(&options, false).map(|it| it.option_id.as_str()), Some("never"));
        assert!(pick(&options[..2], false).is_none());
        let vague = [option("maybe", "maybe", "sometimes"), option("never", "never", "reject_always")];
        assert_eq!(pick(&vague, false).map(|it| it.option_id.as_str()), Some("never"));
    }

    #[test]
    fn a_letter_means_what_an_option_does_and_words_may_follow() {
        let options = [option("a", "no", "allow_once"), option("b", "Not now", "reject_once")];
        let read = |line| match read(line, &options) {
            QuestionReply::Option(option, words) => (option.option_id.clone(), words.to_owned()),
            QuestionReply::More => ("more".into(), String::new()),
            QuestionReply::Unclear => ("unclear".into(), String::new()),
        };
        let found = |id: &str, words: &str| (id.to_owned(), words.to_owned());
        assert_eq!(read("n"), found("b", ""));
        assert_eq!(read("no, use sed"), found("b", "use sed"));
        assert_eq!(read("no use sed"), found("b", "use sed"));
        assert_eq!(read("2 use\nsed "), found("b", "use\nsed"));
        assert_eq!((read("Yes"), read("not now")), (found("a", ""), found("b", "")));
        assert_eq!((read("?"), read("3"), read("")), (found("more", ""), found("unclear", ""), found("unclear", "")));
    }
}
