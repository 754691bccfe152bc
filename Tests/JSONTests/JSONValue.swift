import TestSupport
import Bytes
import Foundation
import JSON

/// A document as a tree, for round trips through readers and writers, and for comparison with Foundation's reading of
/// the same bytes.
indirect enum JSONValue: Equatable {
    case object([String: JSONValue])
    case array([JSONValue])
    case string(String)
    case integer(Int64)
    case bool(Bool)
    case null

    init(reading reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .object:
            var members: [String: JSONValue] = [:]
            try reader.beginObject()
            while let key = try reader.nextKey() { members[key.string] = try JSONValue(reading: &reader) }
            self = .object(members)
        case .array:
            var elements: [JSONValue] = []
            try reader.beginArray()
            while try reader.nextElement() { elements.append(try JSONValue(reading: &reader)) }
            self = .array(elements)
        case .string: self = .string(try reader.string())
        case .number: self = .integer(try reader.integer())
        case .bool: self = .bool(try reader.bool())
        case .null:
            _ = try reader.consumeNull()
            self = .null
        }
    }

    init(document: [UInt8]) throws {
        self = try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            let value = try JSONValue(reading: &reader)
            try reader.end()
            return value
        }
    }

    /// Converts Foundation's result; nil for types that are not JSON values.
    init?(foundation value: Any) {
        switch value {
        case let members as [String: Any]:
            var converted: [String: JSONValue] = [:]
            for (key, value) in members { converted[key] = JSONValue(foundation: value) }
            guard converted.count == members.count else { return nil }
            self = .object(converted)
        case let elements as [Any]:
            let converted = elements.compactMap(JSONValue.init(foundation:))
            guard converted.count == elements.count else { return nil }
            self = .array(converted)
        case let text as String: self = .string(text)
        case is NSNull: self = .null
        case let number as NSNumber:
            if number.objCType.pointee == CChar(UInt8(ascii: "c")) {
                self = .bool(number.boolValue)
            } else if let integer = Int64(exactly: number) {
                self = .integer(integer)
            } else {
                return nil
            }
        default: return nil
        }
    }

    func write(to buffer: inout ByteBuffer) {
        switch self {
        case .object(let members):
            buffer.beginObject()
            for (key, value) in members {
                buffer.append(dynamicKey: key)
                value.write(to: &buffer)
            }
            buffer.endObject()
        case .array(let elements):
            buffer.beginArray()
            for element in elements {
                buffer.beginElement()
                element.write(to: &buffer)
            }
            buffer.endArray()
        case .string(let text): buffer.appendJSON(text)
        case .integer(let number): buffer.appendJSON(number)
        case .bool(let value): buffer.appendJSON(value)
        case .null: buffer.appendNull()
        }
    }

    var document: [UInt8] {
        var buffer = ByteBuffer()
        write(to: &buffer)
        return buffer.array
    }
}

extension JSONValue {
    static func random(depth: Int, using random: inout SeededRandom) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random) {
        case 0: .string(randomText(using: &random))
        case 1: .integer(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
        case 2: .bool(Bool.random(using: &random))
        case 3: .null
        case 4:
            .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in .random(depth: depth - 1, using: &random) })
        default:
            .object(
                Dictionary(
                    (0..<Int.random(in: 0..<5, using: &random)).map { _ in
                        (randomText(using: &random), .random(depth: depth - 1, using: &random))
                    }, uniquingKeysWith: { $1 }))
        }
    }

    private static func randomText(using random: inout SeededRandom) -> String {
        let alphabet: [Character] = [
            "a", "Z", "0", " ", "\"", "\\", "/", "\n", "\t", "\r", "\u{8}", "\u{C}", "\u{1}", "\u{1F}", "\u{7F}", "é",
            "ß", "€",
            "\u{2028}", "\u{FFFF}", "𝄞", "👩🏽‍🚀", "{", "}", "[", "]", ":", ",",
        ]
        return String((0..<Int.random(in: 0..<24, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
    }
}
