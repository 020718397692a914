//! What is to be written, in the order in which it will be written.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{self, Serialize};
use serde_json::{Number, Value};

use super::order;

/// A value: maps in order, scalars as text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree<'a> {
    /// Written as it stands: a number, a boolean, `null`.
    Bare(Cow<'a, str>),
    /// A string, quoted where it must be.
    Text(Cow<'a, str>),
    List(Vec<Tree<'a>>),
    Map(Vec<(Cow<'a, str>, Tree<'a>)>),
}

/// The tree of a JSON value: the same as by way of the serializer, with all texts where they are.
impl<'a> From<&'a Value> for Tree<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Bare(Cow::Borrowed("null")),
            Value::Bool(true) => Self::Bare(Cow::Borrowed("true")),
            Value::Bool(false) => Self::Bare(Cow::Borrowed("false")),
            Value::Number(number) => Self::Bare(Cow::Owned(number_text(number))),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                let mut fields: Vec<_> = members.iter().map(|(key, member)| (Cow::Borrowed(key.as_str()), member.into())).collect();
                sort(&mut fields);
                Self::Map(fields)
            }
        }
    }
}

fn number_text(number: &Number) -> String {
    match (number.is_f64(), number.as_f64()) {
        (true, Some(float)) => float_text(float),
        (_, _) => number.to_string(),
    }
}

fn sort(fields: &mut [(Cow<'_, str>, Tree<'_>)]) {
    fields.sort_by(|(left, _), (right, _)| order::compare(left, right));
}

/// Makes a tree of any value.
pub(super) struct Serializer;

/// Why a value could not be made a tree.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refused(String);

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// What is serialized is seen for a moment only: its texts are copied.
type Outcome = Result<Tree<'static>, Refused>;

#[expect(clippy::unnecessary_wraps, reason = "what most methods of the serializer return")]
fn bare(value: impl fmt::Display) -> Outcome {
    Ok(Tree::Bare(value.to_string().into()))
}

fn tagged(variant: &'static str, tree: Tree<'static>) -> Tree<'static> {
    Tree::Map(vec![(variant.into(), tree)])
}

/// Floats as every reader takes them: a point before the exponent, and a sign in it.
fn float_text(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    if value == 0.0 || (1e-5..1e21).contains(&value.abs()) {
        return value.to_string();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

impl ser::Serializer for Serializer {
    type Ok = Tree<'static>;
    type Error = Refused;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    fn serialize_bool(self, value: bool) -> Outcome {
        bare(value)
    }
    fn serialize_i8(self, value: i8) -> Outcome {
        bare(value)
    }
    fn serialize_i16(self, value: i16) -> Outcome {
        bare(value)
    }
    fn serialize_i32(self, value: i32) -> Outcome {
        bare(value)
    }
    fn serialize_i64(self, value: i64) -> Outcome {
        bare(value)
    }
    fn serialize_u8(self, value: u8) -> Outcome {
        bare(value)
    }
    fn serialize_u16(self, value: u16) -> Outcome {
        bare(value)
    }
    fn serialize_u32(self, value: u32) -> Outcome {
        bare(value)
    }
    fn serialize_u64(self, value: u64) -> Outcome {
        bare(value)
    }
    fn serialize_f32(self, value: f32) -> Outcome {
        bare(float_text(value.into()))
    }
    fn serialize_f64(self, value: f64) -> Outcome {
        bare(float_text(value))
    }
    fn serialize_char(self, value: char) -> Outcome {
        Ok(Tree::Text(value.to_string().into()))
    }
    fn serialize_str(self, value: &str) -> Outcome {
        Ok(Tree::Text(value.to_owned().into()))
    }
    fn serialize_bytes(self, value: &[u8]) -> Outcome {
        value.iter().map(bare).collect::<Result<_, _>>().map(Tree::List)
    }
    fn serialize_none(self) -> Outcome {
        bare("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Outcome {
        bare("null")
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Outcome {
        bare("null")
    }
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Outcome {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Outcome {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Outcome {
        value.serialize(self).map(|tree| tagged(variant, tree))
    }
    fn serialize_seq(self, _length: Option<usize>) -> Result<Items, Refused> {
        Ok(Items { variant: None, items: Vec::new() })
    }
    fn serialize_tuple(self, _length: usize) -> Result<Items, Refused> {
        Ok(Items { variant: None, items: Vec::new() })
    }
    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Items, Refused> {
        Ok(Items { variant: None, items: Vec::new() })
    }
    fn serialize_tuple_variant(self, _name: &'static str, _index: u32, variant: &'static str, _length: usize) -> Result<Items, Refused> {
        Ok(Items { variant: Some(variant), items: Vec::new() })
    }
    fn serialize_map(self, _length: Option<usize>) -> Result<Entries, Refused> {
        Ok(Entries { variant: None, key: None, fields: Vec::new() })
    }
    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Entries, Refused> {
        Ok(Entries { variant: None, key: None, fields: Vec::new() })
    }
    fn serialize_struct_variant(self, _name: &'static str, _index: u32, variant: &'static str, _length: usize) -> Result<Entries, Refused> {
        Ok(Entries { variant: Some(variant), key: None, fields: Vec::new() })
    }
}

/// A list being made.
pub(super) struct Items {
    variant: Option<&'static str>,
    items: Vec<Tree<'static>>,
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.items.push(value.serialize(Serializer)?);
        Ok(())
    }

    fn finished(self) -> Tree<'static> {
        let list = Tree::List(self.items);
        match self.variant {
            Some(variant) => tagged(variant, list),
            None => list,
        }
    }
}

/// A map being made.
pub(super) struct Entries {
    variant: Option<&'static str>,
    key: Option<Cow<'static, str>>,
    fields: Vec<(Cow<'static, str>, Tree<'static>)>,
}

impl Entries {
    fn push<T: Serialize + ?Sized>(&mut self, key: Cow<'static, str>, value: &T) -> Result<(), Refused> {
        self.fields.push((key, value.serialize(Serializer)?));
        Ok(())
    }

    fn finished(self) -> Tree<'static> {
        let map = Tree::Map(self.fields);
        match self.variant {
            Some(variant) => tagged(variant, map),
            None => map,
        }
    }
}

impl ser::SerializeSeq for Items {
    type Ok = Tree<'static>;
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.push(value)
    }
    fn end(self) -> Outcome {
        Ok(self.finished())
    }
}

impl ser::SerializeTuple for Items {
    type Ok = Tree<'static>;
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.push(value)
    }
    fn end(self) -> Outcome {
        Ok(self.finished())
    }
}

impl ser::SerializeTupleStruct for Items {
    type Ok = Tree<'static>;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.push(value)
    }
    fn end(self) -> Outcome {
        Ok(self.finished())
    }
}

impl ser::SerializeTupleVariant for Items {
    type Ok = Tree<'static>;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.push(value)
    }
    fn end(self) -> Outcome {
        Ok(self.finished())
    }
}

impl ser::SerializeMap for Entries {
    type Ok = Tree<'static>;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.key = match key.serialize(Serializer)? {
            Tree::Bare(key) | Tree::Text(key) => Some(key),
            Tree::List(_) | Tree::Map(_) => return Err(Refused("a key that is not a scalar".into())),
        };
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let key = self.key.take().unwrap_or_default();
        self.push(key, value)
    }
    fn end(mut self) -> Outcome {
        sort(&mut self.fields);
        Ok(self.finished())
    }
}

impl ser::SerializeStruct for Entries {
    type Ok = Tree<'static>;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Refused> {
        self.push(Cow::Borrowed(key), value)
    }
    fn end(self) -> Outcome {
        Ok(self.finished())
    }
}

impl ser::SerializeStructVariant for Entries {
    type Ok = Tree<'static>;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Refused> {
        self.push(Cow::Borrowed(key), value)
    }
    fn end(self) -> Outcome {
        Ok(self.finished())
    }
}
