//! Breakpoints of the prompt cache, put between encoded bytes that stay where they are.
//!
//! The API caches what stands before a breakpoint and takes four of them. Two never move: the last tool and the system
//! prompt. Two move with the conversation: the end of what the user's side said last, which this call writes, and the end
//! of what it said before the model's last answer, which the call before has written and this one reads.

use bytes::Bytes;

/// A member of the block whose closing brace follows.
pub(super) const BREAKPOINT: Bytes = Bytes::from_static(br#","cache_control":{"type":"ephemeral"}"#);

/// The pieces with `mark` at each of the offsets, which ascend. Nothing is copied.
pub(super) fn splice(pieces: &[Bytes], seams: &[usize], mark: &Bytes) -> Vec<Bytes> {
    let mut seams = seams.iter().copied().peekable();
    let mut out = Vec::with_capacity(pieces.len() + 2 * seams.len());
    let mut start = 0;
    for piece in pieces {
        let end = start + piece.len();
        let mut from = start;
        while let Some(seam) = seams.next_if(|seam| *seam <= end) {
            out.push(piece.slice(from - start..seam - start));
            out.push(mark.clone());
            from = seam;
        }
        out.push(piece.slice(from - start..));
        start = end;
    }
    out.retain(|piece| !piece.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_at_every_seam_and_the_rest_is_shared() {
        let pieces = [Bytes::from("abc"), Bytes::from("de"), Bytes::from("f")];
        let mark = Bytes::from("|");
        for (seams, want) in [
            (&[][..], "abcdef"),
            (&[1], "a|bcdef"),
            (&[3], "abc|def"),
            (&[1, 2], "a|b|cdef"),
            (&[2, 4, 6], "ab|cd|ef|"),
            (&[0], "|abcdef"),
        ] {
            let spliced = splice(&pieces, seams, &mark);
            assert_eq!(spliced.concat(), want.as_bytes(), "{seams:?}");
            let shared = |part: &Bytes| {
                pieces.iter().any(|piece| piece.as_ptr_range().contains(&part.as_ptr())) || *part == mark
            };
            assert!(spliced.iter().all(shared), "{seams:?}");
        }
    }
}
