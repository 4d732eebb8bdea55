//! The mask of what a client sends (RFC 6455, 5.3).

/// Masks or unmasks: the same. `at`: how many bytes of the frame came before these.
pub(crate) fn apply(mask: [u8; 4], at: usize, bytes: &mut [u8]) {
    let turned: [u8; 4] = std::array::from_fn(|byte| mask[(at + byte) % 4]);
    let wide = u64::from_ne_bytes(std::array::from_fn(|byte| turned[byte % 4]));
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let eight: &mut [u8; 8] = word.try_into().expect("eight bytes");
        *eight = (u64::from_ne_bytes(*eight) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in words.into_remainder().iter_mut().zip(turned.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_piece_of_a_frame_is_unmasked_like_the_whole() {
        let mask = [0x37, 0xfa, 0x21, 0x3d];
        let plain: Vec<u8> = (0..200u8).collect();
        let byte_by_byte: Vec<u8> = plain.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect();
        for cut in 0..plain.len() {
            let mut bytes = plain.clone();
            let (first, second) = bytes.split_at_mut(cut);
            apply(mask, 0, first);
            apply(mask, cut, second);
            assert_eq!(bytes, byte_by_byte, "cut at {cut}");
        }
    }
}
