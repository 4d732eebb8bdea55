//! A sum that every version and every machine makes alike.

use std::fmt;

/// FNV-1a, 64 bits. It guards against mistakes and tells things apart that nobody has an interest in making alike.
#[derive(Clone, Copy, Debug)]
pub struct FnvSum(u64);

impl Default for FnvSum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl FnvSum {
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    pub fn value(self) -> u64 {
        self.0
    }
    pub fn of(bytes: &[u8]) -> u64 {
        let mut sum = Self::default();
        sum.take(bytes);
        sum.value()
    }
}

impl fmt::Write for FnvSum {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.take(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_sum() {
        assert_eq!((FnvSum::of(b""), FnvSum::of(b"a")), (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c));
        assert_eq!(FnvSum::of(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
