//! The canonical JSON of anything that serializes, written without a value of it in between.

use std::cmp::Ordering;
use std::ops::Range;

use serde::ser::{self, Serialize};
use serde_json::{Error, Number};

use super::{write_number, write_string};

/// Adds what is serialized to a text.
pub(super) struct Canonical<'t>(pub(super) &'t mut Text);

/// The text so far, and the members of the maps that are being written, those of the innermost map last.
#[derive(Default)]
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    members: Vec<Member>,
}

type Outcome = Result<(), Error>;

#[expect(clippy::unnecessary_wraps, reason = "what all methods of the serializer return")]
impl Canonical<'_> {
    fn number(self, number: impl Into<Number>) -> Outcome {
        write_number(&number.into(), &mut self.0.bytes);
        Ok(())
    }

    fn bare(self, text: &str) -> Outcome {
        self.0.bytes.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl<'t> ser::Serializer for Canonical<'t> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'t>;
    type SerializeTuple = Items<'t>;
    type SerializeTupleStruct = Items<'t>;
    type SerializeTupleVariant = Items<'t>;
    type SerializeMap = Members<'t>;
    type SerializeStruct = Members<'t>;
    type SerializeStructVariant = Members<'t>;

    fn serialize_bool(self, value: bool) -> Outcome {
        self.bare(if value { "true" } else { "false" })
    }
    fn serialize_i8(self, value: i8) -> Outcome {
        self.number(value)
    }
    fn serialize_i16(self, value: i16) -> Outcome {
        self.number(value)
    }
    fn serialize_i32(self, value: i32) -> Outcome {
        self.number(value)
    }
    fn serialize_i64(self, value: i64) -> Outcome {
        self.number(value)
    }
    fn serialize_u8(self, value: u8) -> Outcome {
        self.number(value)
    }
    fn serialize_u16(self, value: u16) -> Outcome {
        self.number(value)
    }
    fn serialize_u32(self, value: u32) -> Outcome {
        self.number(value)
    }
    fn serialize_u64(self, value: u64) -> Outcome {
        self.number(value)
    }
    fn serialize_f32(self, value: f32) -> Outcome {
        self.serialize_f64(value.into())
    }
    fn serialize_f64(self, value: f64) -> Outcome {
        match Number::from_f64(value) {
            Some(number) => self.number(number),
            None => self.serialize_unit(),
        }
    }
    fn serialize_char(self, value: char) -> Outcome {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Outcome {
        write_string(value, &mut self.0.bytes);
        Ok(())
    }
    fn serialize_bytes(self, value: &[u8]) -> Outcome {
        self.collect_seq(value)
    }
    fn serialize_none(self) -> Outcome {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Outcome {
        self.bare("null")
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Outcome {
        self.serialize_unit()
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
        let mut members = Members::begin(self.0);
        members.member(variant, value)?;
        members.finish();
        Ok(())
    }
    fn serialize_seq(self, _length: Option<usize>) -> Result<Items<'t>, Error> {
        Ok(Items::begin(self.0))
    }
    fn serialize_tuple(self, _length: usize) -> Result<Items<'t>, Error> {
        Ok(Items::begin(self.0))
    }
    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Items<'t>, Error> {
        Ok(Items::begin(self.0))
    }
    fn serialize_tuple_variant(self, _name: &'static str, _index: u32, variant: &'static str, _length: usize) -> Result<Items<'t>, Error> {
        Ok(Items { after: "]}", ..Items::begin(tagged(self.0, variant)) })
    }
    fn serialize_map(self, _length: Option<usize>) -> Result<Members<'t>, Error> {
        Ok(Members::begin(self.0))
    }
    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Members<'t>, Error> {
        Ok(Members::begin(self.0))
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Members<'t>, Error> {
        Ok(Members { after: "}}", ..Members::begin(tagged(self.0, variant)) })
    }
}

fn tagged<'t>(text: &'t mut Text, variant: &str) -> &'t mut Text {
    text.bytes.push(b'{');
    write_string(variant, &mut text.bytes);
    text.bytes.push(b':');
    text
}

/// A list being written.
pub(super) struct Items<'t> {
    text: &'t mut Text,
    is_empty: bool,
    after: &'static str,
}

impl<'t> Items<'t> {
    pub(super) fn begin(text: &'t mut Text) -> Self {
        text.bytes.push(b'[');
        Self { text, is_empty: true, after: "]" }
    }

    pub(super) fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        if !std::mem::take(&mut self.is_empty) {
            self.text.bytes.push(b',');
        }
        value.serialize(Canonical(self.text))
    }

    pub(super) fn finish(self) {
        self.text.bytes.extend_from_slice(self.after.as_bytes());
    }
}

/// A map being written: in the order in which members come, and sorted at the end where that is another one.
pub(super) struct Members<'t> {
    text: &'t mut Text,
    /// Where the map begins, in bytes and in members.
    start: usize,
    first: usize,
    is_sorted: bool,
    after: &'static str,
}

/// Where a member stands in the text, its key with quotes.
struct Member {
    key: Range<usize>,
    end: usize,
}

impl<'t> Members<'t> {
    fn begin(text: &'t mut Text) -> Self {
        text.bytes.push(b'{');
        let (start, first) = (text.bytes.len(), text.members.len());
        Self { text, start, first, is_sorted: true, after: "}" }
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Outcome {
        self.key(key)?;
        self.value(value)
    }

    fn is_empty(&self) -> bool {
        self.text.members.len() == self.first
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        if !self.is_empty() {
            self.text.bytes.push(b',');
        }
        let start = self.text.bytes.len();
        key.serialize(Canonical(self.text))?;
        let bytes = &mut self.text.bytes;
        if bytes.get(start) != Some(&b'"') {
            // A number or a boolean.
            bytes.insert(start, b'"');
            bytes.push(b'"');
        }
        self.text.members.push(Member { key: start..bytes.len(), end: bytes.len() });
        bytes.push(b':');
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        let start = self.text.bytes.len();
        value.serialize(Canonical(self.text))?;
        let end = self.text.bytes.len();
        if &self.text.bytes[start..] == b"null" {
            // The API server drops it.
            let start = self.text.members.pop().map_or(self.start, |member| member.key.start);
            self.text.bytes.truncate(if self.is_empty() { self.start } else { start - 1 });
            return Ok(());
        }
        if let Some(member) = self.text.members.last_mut() {
            member.end = end;
        }
        if let [.., before, last] = &self.text.members[self.first..] {
            self.is_sorted &= compare(&self.text.bytes, before, last).is_lt();
        }
        Ok(())
    }

    fn finish(self) {
        let Text { bytes, members } = self.text;
        if !self.is_sorted {
            let written = &mut members[self.first..];
            written.sort_by(|one, other| compare(bytes, one, other));
            let mut sorted = Vec::with_capacity(bytes.len() - self.start);
            for (index, member) in written.iter().enumerate() {
                if index > 0 {
                    sorted.push(b',');
                }
                sorted.extend_from_slice(&bytes[member.key.start..member.end]);
            }
            bytes.truncate(self.start);
            bytes.extend_from_slice(&sorted);
        }
        members.truncate(self.first);
        bytes.extend_from_slice(self.after.as_bytes());
    }
}

/// Keys are sorted by their units of UTF-16, as the standard wants it.
fn compare(text: &[u8], one: &Member, other: &Member) -> Ordering {
    let (one, other) = (&text[one.key.clone()], &text[other.key.clone()]);
    let is_simple = |key: &[u8]| key.is_ascii() && !key.contains(&b'\\');
    if is_simple(one) && is_simple(other) {
        return one[1..one.len() - 1].cmp(&other[1..other.len() - 1]);
    }
    let read = |key: &[u8]| serde_json::from_slice::<String>(key).unwrap_or_default();
    read(one).encode_utf16().cmp(read(other).encode_utf16())
}

impl ser::SerializeSeq for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.item(value)
    }
    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeTuple for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.item(value)
    }
    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeTupleStruct for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.item(value)
    }
    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeTupleVariant for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.item(value)
    }
    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        self.key(key)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.value(value)
    }
    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
        self.member(key, value)
    }
    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeStructVariant for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
        self.member(key, value)
    }
    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}
