//! Numbers that are counted while the product works, and the text in which Prometheus reads them. Counting takes no lock and
//! allocates nothing; a label costs one look into a table, so it is looked up once per call and not per delta. Labels that
//! come from outside (models, tools) have a bound.

mod counters;
mod labels;
mod page;
mod process;

pub use counters::{Counter, Histogram};
pub use labels::{LABELS_MAX, Labelled, OTHER};
pub use page::{MetricsPage, SampleKind};
pub use process::{process, process_use};
