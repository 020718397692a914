//! YAML as kubectl writes it: two spaces, lists at the column of their key, literal blocks, quotes where a reader could
//! take a string for something else. Lines are never folded.

mod emit;
mod order;
mod quote;
mod tree;

use serde::Serialize;

/// Returns a value as one document that ends with a line break.
///
/// The fields of a struct keep their declared order; the keys of a map are sorted as kubectl sorts them.
///
/// # Panics
///
/// When a value refuses to be serialized. Neither JSON values nor our own types do.
pub fn write<T: Serialize>(value: &T) -> String {
    let tree = value.serialize(tree::Serializer).expect("values that are written serialize");
    emit::document(&tree)
}
