//! The page at `/` of a gateway, as bytes: joined when we were built (`build.rs`, `join.rs`), served by whoever has a server. It
//! holds no data and no secret; what it shows it asks for, as any client does.

#[cfg(test)]
#[allow(dead_code)] // The build uses the rest.
mod join;
#[cfg(test)]
#[allow(dead_code)] // The build uses the rest.
mod names;
#[cfg(test)]
#[allow(dead_code)] // The build uses the rest.
mod page;
#[cfg(test)]
#[allow(dead_code)] // The build uses the rest.
mod short;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[allow(dead_code)] // The build uses the rest.
mod tokens;
#[cfg(test)]
#[allow(dead_code)] // The build uses the rest.
mod write;

/// A file that the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    pub kind: &'static str,
    pub bytes: &'static [u8],
    /// The same, packed by gzip.
    pub packed: Option<&'static [u8]>,
    /// What it may do, where it is a document.
    pub policy: Option<&'static str>,
    /// Another one when the page is another.
    pub version: &'static str,
}

const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/policy.txt"));
const VERSION: &str = include_str!(concat!(env!("OUT_DIR"), "/version.txt"));

/// The page itself.
pub const PAGE: PageFile = PageFile {
    kind: "text/html; charset=utf-8",
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/page.html")),
    packed: Some(include_bytes!(concat!(env!("OUT_DIR"), "/page.html.gz"))),
    policy: Some(POLICY),
    version: VERSION,
};

const PAGE_PART: PageFile = PageFile { kind: "", bytes: b"", packed: None, policy: None, version: VERSION };

const fn file(kind: &'static str, bytes: &'static [u8]) -> PageFile {
    PageFile { kind, bytes, ..PAGE_PART }
}

/// What is at a path of the dashboard's own.
pub fn find(path: &str) -> Option<PageFile> {
    Some(match path {
        "/" => PAGE,
        "/sw.js" => PageFile {
            kind: "text/javascript; charset=utf-8",
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/worker.js")),
            // It asks us for the page, and nobody for anything else.
            policy: Some("default-src 'none'; connect-src 'self'"),
            ..PAGE_PART
        },
        "/manifest.webmanifest" => {
            file("application/manifest+json", include_bytes!("../../../../dashboard/manifest.webmanifest"))
        }
        "/icon.svg" => file("image/svg+xml", include_bytes!("../../../../dashboard/icon.svg")),
        _ => return None,
    })
}
