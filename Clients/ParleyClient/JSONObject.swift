import JSON

/// A type read from the members of a JSON object of the server.
public protocol JSONObject {
    init()
    /// Reads the value of one member, or skips it.
    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError)
}

extension JSONObject {
    public init(reading reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() { try read(key, &reader) }
    }

    public init(document: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(document)
        try self.init(reading: &reader)
        try reader.end()
    }

    public init(document: [UInt8]) throws { self = try document.withUnsafeBytes { try Self(document: $0) } }

    public static func list(_ reader: inout JSONReader) throws(JSONError) -> [Self] {
        var objects: [Self] = []
        try reader.beginArray()
        while try reader.nextElement() { objects.append(try Self(reading: &reader)) }
        return objects
    }
}

extension JSONReader {
    /// Reads the elements of an array, each as encoded in the document.
    mutating func encodedElements() throws(JSONError) -> [[UInt8]] {
        var elements: [[UInt8]] = []
        try beginArray()
        while try nextElement() { elements.append(Array(try encodedValue())) }
        return elements
    }
}
