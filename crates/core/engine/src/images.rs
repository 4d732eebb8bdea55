//! Images are judged, and made small enough, before anything is logged: a provider that refuses one would refuse the
//! whole conversation from then on.

use vocab::{Fault, FaultKind, FitImage, Later, Outcome, Part};

/// What a prompt brings, checked before. A model that takes no images is the provider's business: it is told that there
/// was one.
pub(crate) async fn fitted(mut parts: Vec<Part>, fit: FitImage) -> Result<Vec<Part>, Fault> {
    for part in &mut parts {
        if let Part::Image(image) = part {
            *image = fit(image.clone()).await.map_err(|why| Fault::new(FaultKind::Invalid, why))?;
        }
    }
    Ok(parts)
}

/// What a tool brings. The call has happened, so that an image which cannot be shown becomes a word about it.
pub(crate) fn shown(call: Later<'static, Outcome>, fit: FitImage) -> Later<'static, Outcome> {
    Box::pin(async move {
        let mut outcome = call.await;
        outcome.parts = worded(outcome.parts);
        for part in &mut outcome.parts {
            if let Part::Image(image) = part {
                *part = fit(image.clone()).await.map_or_else(|why| left_out(&why), Part::Image);
            }
        }
        outcome
    })
}

/// What a controller or an extension brings: of an image that is none, a word about it.
pub(crate) fn worded(parts: Vec<Part>) -> Vec<Part> {
    let judged = |part| match &part {
        Part::Image(image) => image.check().err().map_or(part, |flaw| left_out(&flaw.into_text())),
        Part::Text(_) => part,
    };
    parts.into_iter().map(judged).collect()
}

pub(crate) fn has_any(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Image(_)))
}

fn left_out(why: &str) -> Part {
    Part::text(format!("[an image was left out: {why}]"))
}

pub(crate) fn check(parts: &[Part]) -> Result<(), Fault> {
    for part in parts {
        if let Part::Image(image) = part {
            image.check().map_err(|flaw| Fault::new(FaultKind::Invalid, flaw.into_text()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Image;

    fn judged(mime: &str, base64: &str) -> Result<(), String> {
        let parts = [Part::text("look"), Part::Image(Image { mime: mime.into(), base64: base64.into() })];
        check(&parts).map_err(|fault| fault.message)
    }

    #[test]
    fn an_image_is_taken_when_it_is_what_it_says() {
        assert_eq!(judged("image/png", "iVBORw0KGgoAAAA="), Ok(()));
        assert_eq!(judged("image/jpg", "/9j/4AAQ"), Ok(()));
    }

    #[test]
    fn everything_else_is_refused_in_words() {
        let cases = [
            (judged("image/png", "/9j/4AAQ"), "the data is not image/png"),
            (judged("image/jpeg", "/9j/4AAQ!!no!!"), "the data is not base64"),
            (
                judged("text/plain", "aGk="),
                "unsupported image type: text/plain (there is: image/png, image/jpeg, image/gif, image/webp)",
            ),
            (judged("image/gif", &"R0lGOD".repeat(2 << 20)), "the image is too large: 9.0 MiB, at most 8 MiB"),
        ];
        for (got, wanted) in cases {
            assert_eq!(got, Err(wanted.to_owned()));
        }
    }

    fn halved(image: Image) -> Later<'static, Result<Image, String>> {
        Box::pin(std::future::ready(match &*image.base64 {
            "/9j/bad" => Err("the picture cannot be read".to_owned()),
            base64 => Ok(Image { base64: base64[..base64.len() / 2].into(), ..image.clone() }),
        }))
    }
    fn jpeg(base64: &str) -> Part {
        Part::Image(Image { mime: "image/jpeg".into(), base64: base64.into() })
    }

    #[tokio::test]
    async fn images_of_a_prompt_are_fitted_or_refuse_it() {
        let parts = vec![jpeg("/9j/4AAQ"), Part::text("look")];
        assert_eq!(fitted(parts, halved).await, Ok(vec![jpeg("/9j/"), Part::text("look")]));
        let fault = fitted(vec![jpeg("/9j/bad")], halved).await.unwrap_err();
        assert_eq!((fault.kind, &*fault.message), (FaultKind::Invalid, "the picture cannot be read"));
    }

    #[tokio::test]
    async fn an_image_of_a_tool_that_cannot_be_shown_becomes_a_word() {
        let outcome = Outcome { parts: vec![jpeg("/9j/4AAQ"), jpeg("/9j/bad")], ..Outcome::text("") };
        let shown = shown(Box::pin(std::future::ready(outcome)), halved).await;
        assert_eq!(shown.parts, [jpeg("/9j/"), Part::text("[an image was left out: the picture cannot be read]")]);
        let odd = Part::Image(Image { mime: "image/png".into(), base64: "!!not base64!!".into() });
        let outcome = Outcome { parts: vec![odd], ..Outcome::text("") };
        let shown = super::shown(Box::pin(std::future::ready(outcome)), halved).await;
        assert_eq!(
            shown.parts,
            [Part::text("[an image was left out: the data is not image/png]")],
            "before it is read"
        );
    }
}
