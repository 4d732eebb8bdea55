//! A growing row of encoded messages. What is behind a call stays where it is and is shared with that call's body; small
//! pieces are joined as they come, so that a turn in a long conversation hands over as few of them as one in a short one.

use bytes::{Bytes, BytesMut};

/// A piece of this size is left as it is: what it costs to hand over does not matter beside its bytes.
const JOINED_BYTES_MAX: usize = 64 * 1024;

/// Every element starts with a comma, so that pieces only need to be put behind one another.
#[derive(Default)]
pub(crate) struct EncodedMessages {
    pieces: Vec<Bytes>,
    /// Elements since the last call.
    pub(crate) open: BytesMut,
    bytes: usize,
}

impl EncodedMessages {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.open.len()
    }

    /// Everything so far, as shared pieces. The first byte of all is a comma.
    pub(crate) fn pieces(&mut self) -> &[Bytes] {
        if !self.open.is_empty() {
            self.bytes += self.open.len();
            let new = self.open.split().freeze();
            self.join(new);
        }
        &self.pieces
    }

    /// Joins a piece with those before it that are no longer than it is, as digits of a counter are carried. So each byte is
    /// copied once per doubling of its piece, and below the bound each piece is longer than all behind it.
    fn join(&mut self, new: Bytes) {
        let mut joined = new.len();
        let mut from = self.pieces.len();
        while let Some(before) = from.checked_sub(1).map(|at| self.pieces[at].len())
            && before <= joined
            && before + joined <= JOINED_BYTES_MAX
        {
            joined += before;
            from -= 1;
        }
        if from == self.pieces.len() {
            return self.pieces.push(new);
        }
        let mut piece = BytesMut::with_capacity(joined);
        self.pieces.drain(from..).for_each(|small| piece.extend_from_slice(&small));
        piece.extend_from_slice(&new);
        self.pieces.push(piece.freeze());
    }

    /// The same for a list in which nothing stands before the first element.
    pub(crate) fn list(&mut self) -> Vec<Bytes> {
        let mut pieces = self.pieces().to_vec();
        if let Some(first) = pieces.first_mut() {
            *first = first.slice(1..);
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below [`JOINED_BYTES_MAX`] each piece is longer than the next; above it there is one for every half of it.
    fn pieces_max(bytes: usize) -> usize {
        2 * bytes / JOINED_BYTES_MAX + JOINED_BYTES_MAX.ilog2() as usize + 2
    }

    fn grow(sizes: impl Iterator<Item = usize>) -> (EncodedMessages, Vec<u8>, usize) {
        let (mut encoded, mut plain, mut copied) = (EncodedMessages::default(), Vec::new(), 0);
        for (n, size) in sizes.enumerate() {
            let element = format!(",{}", char::from(b'a' + (n % 26) as u8).to_string().repeat(size));
            encoded.open.extend_from_slice(element.as_bytes());
            plain.extend_from_slice(element.as_bytes());
            let before = encoded.pieces.len();
            let count = encoded.pieces().len();
            if count <= before {
                copied += encoded.pieces.last().map_or(0, Bytes::len);
            }
            assert!(count <= pieces_max(plain.len()), "{count} pieces of {} bytes", plain.len());
        }
        (encoded, plain, copied)
    }

    #[test]
    fn many_small_pieces_become_few_and_say_the_same() {
        let (mut encoded, plain, copied) = grow(std::iter::repeat_n(100, 5000));
        assert_eq!(encoded.pieces().concat(), plain);
        assert_eq!(encoded.bytes(), plain.len());
        assert_eq!(encoded.list().concat(), plain[1..]);
        assert!(encoded.pieces().len() < 30, "{}", encoded.pieces().len());
        assert!(copied < plain.len() * 12, "{copied} bytes copied of {}", plain.len());
    }

    #[test]
    fn pieces_of_all_sizes_stay_in_order() {
        let sizes = (0..3000usize).map(|n| n.wrapping_mul(2_654_435_761) % [7, 300, 9000, 200_000][n % 4]);
        let (mut encoded, plain, _) = grow(sizes);
        assert_eq!(encoded.pieces().concat(), plain);
    }

    #[test]
    fn what_a_call_was_given_is_not_changed_by_the_next() {
        let mut encoded = EncodedMessages::default();
        encoded.open.extend_from_slice(b",one");
        let first = encoded.list();
        encoded.open.extend_from_slice(b",two");
        assert_eq!((first.concat(), encoded.list().concat()), (b"one".to_vec(), b"one,two".to_vec()));
    }
}
