import Bytes
import Models

/// Writes JSON. A key or an element that does not follow an opening bracket gets a comma.
///
/// ```
/// buffer.beginObject()
/// buffer.append(key: "id", json: message.id)
/// buffer.append(key: "mentions")
/// buffer.beginArray()
/// for user in mentions { buffer.append(element: user) }
/// buffer.endArray()
/// buffer.endObject()
/// ``` Keys are literals that need no escaping. String values are escaped.
extension ByteBuffer {
    public mutating func beginObject() { append(UInt8(ascii: "{")) }
    public mutating func endObject() { append(UInt8(ascii: "}")) }
    public mutating func beginArray() { append(UInt8(ascii: "[")) }
    public mutating func endArray() { append(UInt8(ascii: "]")) }

    /// Appends `"key":`, with a comma before it unless it is the first. A value must follow.
    public mutating func append(key: StaticString) {
        beginElement()
        append(UInt8(ascii: "\""))
        append(key)
        append("\":" as StaticString)
    }

    /// Appends a key that is not a literal, such as a user id, escaped.
    public mutating func append(dynamicKey key: String) {
        beginElement()
        appendJSON(key)
        append(UInt8(ascii: ":"))
    }

    /// Appends the comma before an element of an array unless it is the first. A value must follow.
    public mutating func beginElement() {
        // No complete value ends in an opening bracket: strings end in a quote.
        if let last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { append(UInt8(ascii: ",")) }
    }

    public mutating func append<Value: JSONWritable>(key: StaticString, json value: Value) {
        append(key: key)
        value.write(to: &self)
    }

    /// Appends nothing when there is no value: absent and null are equivalent for clients.
    public mutating func append<Value: JSONWritable>(key: StaticString, json value: Value?) {
        if let value { append(key: key, json: value) }
    }

    public mutating func append<Value: JSONWritable>(element value: Value) {
        beginElement()
        value.write(to: &self)
    }

    /// Appends a member whose value is encoded already.
    public mutating func append(key: StaticString, encoded value: UnsafeRawBufferPointer) {
        append(key: key)
        append(value)
    }

    /// Appends a member with a string value, escaped, from valid UTF-8.
    public mutating func append(key: StaticString, utf8 bytes: UnsafeRawBufferPointer) {
        append(key: key)
        appendJSON(utf8: bytes)
    }

    public mutating func appendJSON<Value: JSONWritable>(_ value: Value) { value.write(to: &self) }

    public mutating func appendNull() { append("null" as StaticString) }
}

/// A type that can be written as a JSON value.
public protocol JSONWritable {
    func write(to buffer: inout ByteBuffer)
}

extension Int64: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { buffer.append(decimal: self) }
}

extension Int: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { buffer.append(decimal: Int64(self)) }
}

extension Bool: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { buffer.append(self ? "true" as StaticString : "false") }
}

extension String: JSONWritable {
    public func write(to buffer: inout ByteBuffer) {
        var text = self
        text.withUTF8 { buffer.appendJSON(utf8: UnsafeRawBufferPointer($0)) }
    }
}

extension StaticString: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { buffer.appendJSON(utf8: bytes) }
}

extension JSONString: JSONWritable {
    public func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        buffer.append(encoded)
        buffer.append(UInt8(ascii: "\""))
    }
}

extension UUIDBytes: JSONWritable {
    public func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        buffer.append(self)
        buffer.append(UInt8(ascii: "\""))
    }
}

extension ConversationID: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { uuid.write(to: &buffer) }
}

extension MessageID: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { uuid.write(to: &buffer) }
}

extension InvitationID: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { uuid.write(to: &buffer) }
}

extension ReportID: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { uuid.write(to: &buffer) }
}

extension UserID: JSONWritable {
    public func write(to buffer: inout ByteBuffer) { name.write(to: &buffer) }
}

extension Timestamp: JSONWritable {
    public func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        buffer.append(rfc3339: self)
        buffer.append(UInt8(ascii: "\""))
    }
}
