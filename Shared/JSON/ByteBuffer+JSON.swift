import Bytes
import Models

/// Writing JSON. Commas write themselves: a key or an element that does not follow an opening bracket gets one.
///
/// ```
/// buffer.beginObject()
/// buffer.append(key: "id", json: message.id)
/// buffer.append(key: "mentions")
/// buffer.beginArray()
/// for user in mentions { buffer.append(element: user) }
/// buffer.endArray()
/// buffer.endObject()
/// ```
/// Keys are literals that need no escaping. Values whose text comes from outside are escaped.
extension ByteBuffer {
    package mutating func beginObject() { append(UInt8(ascii: "{")) }
    package mutating func endObject() { append(UInt8(ascii: "}")) }
    package mutating func beginArray() { append(UInt8(ascii: "[")) }
    package mutating func endArray() { append(UInt8(ascii: "]")) }

    /// `"key":`, with a comma before it unless it is the first. A value must follow.
    package mutating func append(key: StaticString) {
        beginElement()
        append(UInt8(ascii: "\""))
        append(key)
        append("\":" as StaticString)
    }

    /// A key that comes from outside, such as a user id.
    package mutating func append(dynamicKey key: String) {
        beginElement()
        appendJSON(key)
        append(UInt8(ascii: ":"))
    }

    /// Writes the comma before an element of an array unless it is the first. A value must follow.
    package mutating func beginElement() {
        // No complete value ends in an opening bracket: strings end in a quote.
        if let last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { append(UInt8(ascii: ",")) }
    }

    package mutating func append<Value: JSONWritable>(key: StaticString, json value: Value) {
        append(key: key)
        value.write(to: &self)
    }

    /// Writes nothing when there is no value: absent and null mean the same to a client.
    package mutating func append<Value: JSONWritable>(key: StaticString, json value: Value?) {
        if let value { append(key: key, json: value) }
    }

    package mutating func append<Value: JSONWritable>(element value: Value) {
        beginElement()
        value.write(to: &self)
    }

    /// A member whose value is JSON already.
    package mutating func append(key: StaticString, encoded value: UnsafeRawBufferPointer) {
        append(key: key)
        append(value)
    }

    /// A string, escaped, from bytes that are valid UTF-8.
    package mutating func append(key: StaticString, utf8 bytes: UnsafeRawBufferPointer) {
        append(key: key)
        appendJSON(utf8: bytes)
    }

    package mutating func appendJSON<Value: JSONWritable>(_ value: Value) { value.write(to: &self) }

    package mutating func appendNull() { append("null" as StaticString) }
}

/// A value that writes itself as one JSON value.
package protocol JSONWritable {
    func write(to buffer: inout ByteBuffer)
}

extension Int64: JSONWritable {
    package func write(to buffer: inout ByteBuffer) { buffer.append(decimal: self) }
}

extension Int: JSONWritable {
    package func write(to buffer: inout ByteBuffer) { buffer.append(decimal: Int64(self)) }
}

extension Bool: JSONWritable {
    package func write(to buffer: inout ByteBuffer) { buffer.append(self ? "true" as StaticString : "false") }
}

extension String: JSONWritable {
    package func write(to buffer: inout ByteBuffer) {
        var text = self
        text.withUTF8 { buffer.appendJSON(utf8: UnsafeRawBufferPointer($0)) }
    }
}

extension StaticString: JSONWritable {
    package func write(to buffer: inout ByteBuffer) { buffer.appendJSON(utf8: bytes) }
}

extension JSONString: JSONWritable {
    package func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        buffer.append(encoded)
        buffer.append(UInt8(ascii: "\""))
    }
}

extension UUIDBytes: JSONWritable {
    package func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        buffer.append(self)
        buffer.append(UInt8(ascii: "\""))
    }
}

extension ConversationID: JSONWritable {
    package func write(to buffer: inout ByteBuffer) { uuid.write(to: &buffer) }
}

extension MessageID: JSONWritable {
    package func write(to buffer: inout ByteBuffer) { uuid.write(to: &buffer) }
}

extension UserID: JSONWritable {
    package func write(to buffer: inout ByteBuffer) { name.write(to: &buffer) }
}

extension Timestamp: JSONWritable {
    package func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        buffer.append(rfc3339: self)
        buffer.append(UInt8(ascii: "\""))
    }
}
