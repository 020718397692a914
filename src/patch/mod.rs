//! Exact writes as values: what an object has to hold at a plan's paths, and the one patch that makes it so.
//!
//! Nothing here talks to a cluster. Inside the paths the patched object is exactly what was asked, whoever wrote what was
//! there before; outside of them nothing is touched.

mod apply;
mod bind;
mod difference;
mod exact;
mod owners;
mod values;

pub use apply::apply;
pub use bind::{Unbound, bind};
pub use difference::{Difference, differences};
pub use exact::exact;
pub use owners::{Writer, hand_back, writer};
pub use values::{PathValues, paths_of, values_at};
