//! What the manuals show, works.
