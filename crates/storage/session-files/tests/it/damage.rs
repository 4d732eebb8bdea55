//! Forty ways to tear the end of a file: cut back to the last whole line, kept beside it, and never appended to.

use session_files::{FileTail, side_file};
use vocab::Archive;

use crate::kit::*;

/// What stands behind the last whole line.
fn torn() -> Vec<Vec<u8>> {
    let line = br#"{"type":"message","id":"deadbeef","parentId":null,"timestamp":"2026-11-15T22:31:52.000Z","message":{"role":"user","content":[{"type":"text","text":"\u00e4 \"q\" \\ and more"}],"timestamp":5}}"#;
    let mut tails: Vec<Vec<u8>> = (1..line.len()).step_by(line.len() / 16).map(|cut| line[..cut].to_vec()).collect();
    for zeros in [1, 7, 512, 4096] {
        tails.push(vec![0; zeros]);
        tails.push([&line[..40], &vec![0; zeros][..]].concat());
        tails.push([&vec![0; zeros][..], b"\n"].concat());
    }
    for text in
        ["garbage", "garbage\n", "{\n", "{}}\n", "]\n", "\"text\"\n", "7\n", "null\n", "{\"a\":1,\n", "\u{1}\u{2}\n"]
    {
        tails.push(text.as_bytes().to_vec());
    }
    // Half a character; several broken lines; a whole line behind nothing but its line's beginning.
    tails.push("{\"text\":\"ä".as_bytes()[..10].to_vec());
    tails.push(b"{\"text\":\"\xff\"}\n".to_vec());
    tails.push(b"broken\n{\"also\n\0\0\0\n{".to_vec());
    tails.push([&line[..60], b"\n", &line[..70]].concat());
    tails
}

#[tokio::test]
async fn forty_torn_tails_are_cut_kept_and_gone_on_from() {
    let tails = torn();
    assert!(tails.len() >= 40, "{}", tails.len());
    for (number, tail) in tails.iter().enumerate() {
        let world = MirrorWorld::new();
        let process = world.process();
        let mut talk = RunningSession::begin(&process, ID);
        talk.log(vec![opened(), user("a"), says("1")]).await;
        let path = talk.file();
        talk.end().await;
        let good = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&good[..], tail].concat()).unwrap();

        let later = world.process();
        assert_eq!(later.import(&path).await.unwrap().as_str(), ID, "tail {number} opens");
        let mut talk = RunningSession::resume(&later, ID).await;
        talk.log(vec![user("b")]).await;
        talk.log(vec![says("2")]).await;
        talk.end().await;
        let now = std::fs::read(&path).unwrap();
        assert!(now.starts_with(&good), "tail {number}");
        assert_eq!(lines(&path).len(), 6, "tail {number}");
        assert_eq!(std::fs::read(side_file(&path)).unwrap(), *tail, "tail {number} is kept");
        assert_eq!(world.notes().len(), 1, "tail {number}: {:?}", world.notes());

        let last = world.process();
        assert_eq!(last.import(&path).await.unwrap().as_str(), ID);
        let mut talk = RunningSession::resume(&last, ID).await;
        talk.log(vec![user("c"), says("3")]).await;
        assert_eq!(lines(&path).len(), 8, "tail {number}, once more");
        assert_eq!(texts(&world.context(ID).await), ["a", "1", "b", "2", "c", "3"], "tail {number}");
        assert_eq!(world.notes().len(), 1, "mended once");
    }
}

#[tokio::test]
async fn a_line_damaged_in_the_middle_is_told_left_alone_and_not_missed() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1"), user("b"), says("2")]).await;
    let path = talk.file();
    talk.end().await;
    let damaged = std::fs::read_to_string(&path).unwrap().replacen(r#""text":"1""#, r#""text":"1"#, 1);
    std::fs::write(&path, &damaged).unwrap();
    let later = world.process();
    later.import(&path).await.unwrap();
    assert!(world.notes()[0].starts_with("1 line(s) of "), "{:?}", world.notes());
    let mut talk = RunningSession::resume(&later, ID).await;
    talk.log(vec![user("c")]).await;
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(now.starts_with(&damaged), "nothing is rewritten");
    assert_eq!(now.matches(r#""text":"1""#).count(), 1, "the lost line is there again");
    assert_eq!(texts(&world.context(ID).await), ["a", "1", "b", "2", "c"]);
    // Somebody without our store reads everything from the file alone.
    let stranger = MirrorWorld::new();
    stranger.process().import(&path).await.unwrap();
    assert_eq!(texts(&stranger.context(ID).await), ["a", "1", "b", "2", "c"]);
}

#[tokio::test]
async fn a_whole_line_without_its_end_is_a_line() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let path = talk.file();
    talk.end().await;
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, &good[..good.len() - 1]).unwrap();
    let later = world.process();
    let mut talk = RunningSession::resume(&later, ID).await;
    talk.log(vec![user("b")]).await;
    assert_eq!(lines(&path).len(), 5);
    assert!(!side_file(&path).exists());
}

#[tokio::test]
async fn a_file_without_a_readable_head_is_written_anew_and_its_bytes_are_kept() {
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(vec![opened(), user("a"), says("1")]).await;
    let path = talk.file();
    talk.end().await;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..20].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let later = world.process();
    let mut talk = RunningSession::resume(&later, ID).await;
    talk.log(vec![user("b")]).await;
    assert_eq!(lines(&path).len(), 5);
    assert_eq!(std::fs::read(side_file(&path)).unwrap(), bytes);
}

#[test]
fn the_end_of_the_last_whole_line_is_found() {
    let at = |text: &str| {
        let tail = FileTail::of(text.as_bytes());
        (tail.whole, tail.open)
    };
    assert_eq!(at(""), (0, false));
    assert_eq!(at("{}\n"), (3, false));
    assert_eq!(at("{}"), (2, true));
    assert_eq!(at("{}\r\n"), (4, false));
    assert_eq!(at("{}\n\n \n"), (6, false));
    assert_eq!(at("{}\n{\"a\":"), (3, false));
    assert_eq!(at("{}\nx\ny"), (3, false));
    assert_eq!(at("x"), (0, false));
}

/// Both came with a stranger's directory: a file whose end is no line, and a link in the place where that end is kept.
#[tokio::test]
async fn what_is_cut_off_is_kept_in_no_file_that_a_link_leads_to() {
    for hard in [false, true] {
        let world = MirrorWorld::new();
        let process = world.process();
        let mut talk = RunningSession::begin(&process, ID);
        talk.log(vec![opened(), user("a"), says("1")]).await;
        let path = talk.file();
        talk.end().await;
        let mine = path.with_extension("rc");
        std::fs::write(&mine, "# mine\n").unwrap();
        match hard {
            true => std::fs::hard_link(&mine, side_file(&path)).unwrap(),
            false => std::os::unix::fs::symlink(&mine, side_file(&path)).unwrap(),
        }
        let torn = [&std::fs::read(&path).unwrap()[..], b"touch PWNED #"].concat();
        std::fs::write(&path, &torn).unwrap();

        let later = world.process();
        assert_eq!(later.import(&path).await.unwrap().as_str(), ID);
        let mut talk = RunningSession::resume(&later, ID).await;
        talk.log(vec![user("b"), says("2")]).await;
        talk.end().await;
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "# mine\n");
        assert_eq!(std::fs::read(&path).unwrap(), torn, "nothing is cut that cannot be kept");
        assert!(world.notes().iter().any(|note| note.contains("is no plain file")), "{:?}", world.notes());
    }
}
