//! Makes images small enough for model APIs. One measure for all vendors, because a conversation may change its model:
//! what fits here fits everywhere, and vendors scale anything larger down themselves.
//!
//! An image that fits is not touched. Decoding happens on a thread of its own, one image at a time, so that a pile of
//! photographs costs the memory of one.

use std::io::Cursor;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use tokio::sync::Semaphore;
use vocab::{Image, Later};

/// The longest edge. Anthropic takes no more where a conversation has many images, and no model looks closer.
pub const EDGE_PIXELS_MAX: u32 = 2000;
/// Base64 characters of one image. Anthropic refuses more than 5 MB.
pub const ENCODED_BYTES_MAX: usize = 4_700_000;
/// An image with more pixels is refused unread: its maker wants our memory.
pub const PIXELS_MAX: u64 = 50_000_000;
/// Memory that decoding one image may take.
pub const DECODED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Tried in this order until one is small enough.
const JPEG_QUALITIES: [u8; 4] = [85, 70, 50, 30];
/// Base64 characters in which the size nearly always stands; further back only behind a long preface of a camera.
const HEADER_BYTES: usize = 64 * 1024;

/// The image as it can be sent, or in words why it cannot.
pub fn fit(image: Image) -> Later<'static, Result<Image, String>> {
    static TURN: Semaphore = Semaphore::const_new(1);
    Box::pin(async move {
        if fits(&image) {
            return Ok(image);
        }
        let _turn = TURN.acquire().await;
        let done = tokio::task::spawn_blocking(move || shrink(&image));
        done.await.unwrap_or_else(|_| Err("the picture cannot be read".to_owned()))
    })
}

/// Judged by its first bytes alone.
fn fits(image: &Image) -> bool {
    let head = &image.base64.as_bytes()[..image.base64.len().min(HEADER_BYTES) / 4 * 4];
    let small = |(width, height): (u32, u32)| width.max(height) <= EDGE_PIXELS_MAX;
    image.base64.len() <= ENCODED_BYTES_MAX && STANDARD.decode(head).is_ok_and(|head| size(&head).is_some_and(small))
}

fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?.into_dimensions().ok()
}

/// Blocks; takes up to [`DECODED_BYTES_MAX`].
fn shrink(image: &Image) -> Result<Image, String> {
    let bytes = STANDARD.decode(image.base64.as_bytes()).map_err(|_| "the picture is not base64".to_owned())?;
    let unreadable = || "the picture cannot be read".to_owned();
    let (width, height) = size(&bytes).ok_or_else(unreadable)?;
    if u64::from(width) * u64::from(height) > PIXELS_MAX {
        return Err(format!(
            "the picture is too large: {width} x {height}, at most {} megapixels",
            PIXELS_MAX / 1_000_000
        ));
    }
    if width.max(height) <= EDGE_PIXELS_MAX && image.base64.len() <= ENCODED_BYTES_MAX {
        return Ok(image.clone());
    }
    let read = decode(&bytes).map_err(|_| unreadable())?;
    let edge = EDGE_PIXELS_MAX;
    let small = if width.max(height) > edge { read.resize(edge, edge, FilterType::CatmullRom) } else { read };
    encode(&small).ok_or_else(|| "the picture does not become small enough".to_owned())
}

/// Upright, whatever way the camera was held; of a film the first image.
fn decode(bytes: &[u8]) -> image::ImageResult<DynamicImage> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut read = DynamicImage::from_decoder(decoder)?;
    read.apply_orientation(orientation);
    Ok(read)
}

/// Sharp where that is small enough: screenshots are text. Otherwise as a photograph.
fn encode(image: &DynamicImage) -> Option<Image> {
    let mut png = Vec::new();
    if image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).is_ok()
        && let Some(image) = encoded("image/png", &png)
    {
        return Some(image);
    }
    let opaque = DynamicImage::ImageRgb8(image.to_rgb8());
    JPEG_QUALITIES.iter().find_map(|quality| {
        let mut jpeg = Vec::new();
        opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, *quality)).ok()?;
        encoded("image/jpeg", &jpeg)
    })
}

fn encoded(mime: &str, bytes: &[u8]) -> Option<Image> {
    let base64 = STANDARD.encode(bytes);
    (base64.len() <= ENCODED_BYTES_MAX).then(|| Image { mime: mime.into(), base64: Arc::from(base64) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage};

    fn image(mime: &str, format: ImageFormat, made: &DynamicImage) -> Image {
        let mut bytes = Vec::new();
        made.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        Image { mime: mime.into(), base64: STANDARD.encode(bytes).into() }
    }
    fn plain(width: u32, height: u32) -> DynamicImage {
        DynamicImage::ImageRgb8(RgbImage::from_pixel(width, height, Rgb([200, 30, 30])))
    }
    /// No two pixels are alike, so that nothing packs it.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut seed = 7_u32;
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24) as u8
            };
            Rgb([next(), next(), next()])
        }))
    }
    fn measured(image: &Image) -> (u32, u32) {
        size(&STANDARD.decode(image.base64.as_bytes()).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn what_fits_stays_as_it_is() {
        for (mime, format) in [
            ("image/png", ImageFormat::Png),
            ("image/jpeg", ImageFormat::Jpeg),
            ("image/gif", ImageFormat::Gif),
            ("image/webp", ImageFormat::WebP),
        ] {
            let small = image(mime, format, &plain(40, 30));
            assert_eq!(fit(small.clone()).await, Ok(small), "{mime}");
        }
    }

    #[tokio::test]
    async fn what_is_too_wide_becomes_smaller_in_proportion() {
        for (mime, format) in [("image/png", ImageFormat::Png), ("image/webp", ImageFormat::WebP)] {
            let fitted = fit(image(mime, format, &plain(4000, 1000))).await.unwrap();
            assert_eq!((&*fitted.mime, measured(&fitted)), ("image/png", (2000, 500)), "{mime}");
        }
    }

    #[tokio::test]
    async fn what_has_too_many_bytes_becomes_a_photograph() {
        let large = image("image/png", ImageFormat::Png, &noise(1300, 1200));
        assert!(large.base64.len() > ENCODED_BYTES_MAX);
        let fitted = fit(large).await.unwrap();
        assert_eq!((&*fitted.mime, measured(&fitted)), ("image/jpeg", (1300, 1200)));
        assert!(fitted.base64.len() <= ENCODED_BYTES_MAX);
    }

    #[tokio::test]
    async fn what_cannot_be_read_or_would_eat_our_memory_is_refused_in_words() {
        let cut = |image: Image, at: usize| Image { base64: image.base64[..at].into(), ..image };
        let huge = {
            // The size stands in the header; nothing behind it is read.
            let mut bytes =
                STANDARD.decode(image("image/png", ImageFormat::Png, &plain(8, 8)).base64.as_bytes()).unwrap();
            bytes[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
            let crc = png_crc(&bytes[12..29]);
            bytes[29..33].copy_from_slice(&crc.to_be_bytes());
            Image { mime: "image/png".into(), base64: STANDARD.encode(bytes).into() }
        };
        for (bad, why) in [
            (Image { mime: "image/png".into(), base64: "!!!!".into() }, "the picture is not base64"),
            (Image { mime: "image/png".into(), base64: "aGVsbG8=".into() }, "the picture cannot be read"),
            (cut(image("image/png", ImageFormat::Png, &noise(2100, 30)), 4000), "the picture cannot be read"),
            (huge, "the picture is too large: 65536 x 65536, at most 50 megapixels"),
        ] {
            assert_eq!(fit(bad).await, Err(why.to_owned()));
        }
    }

    fn png_crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0_u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (0_u32.wrapping_sub(crc & 1))))
        })
    }
}
