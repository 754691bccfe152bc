import Models
import Postgres
import SimulationSupport

/// The parameters of a statement, decoded with the types that the statement declares.
struct Arguments {
    let values: [[UInt8]?]

    func value<Value: PostgresValue>(_ index: Int) -> Value {
        guard let bytes = values[index] else { preconditionFailure("parameter \(index) is NULL") }
        return bytes.withUnsafeBytes { Value(decoding: $0) }
    }

    func value<Value: PostgresValue>(_ index: Int) -> Value? {
        values[index].map { bytes in bytes.withUnsafeBytes { Value(decoding: $0) } }
    }

    /// Decodes an array. See `Parameters` for the layout.
    func array<Value: PostgresValue>(_ index: Int) -> [Value] {
        optionals(index).map { (element: Value?) -> Value in
            guard let element else { preconditionFailure("parameter \(index) has NULLs") }
            return element
        }
    }

    /// Decodes an array whose elements may be NULL.
    func optionals<Value: PostgresValue>(_ index: Int) -> [Value?] {
        guard let bytes = values[index] else { preconditionFailure("parameter \(index) is NULL") }
        return bytes.withUnsafeBytes { bytes in
            let count = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: Int32.self))
            var offset = 20
            return (0..<count).map { _ in
                let length = Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
                defer { offset += 4 + max(0, length) }
                guard length >= 0 else { return nil }
                return Value(decoding: UnsafeRawBufferPointer(rebasing: bytes[(offset + 4)..<(offset + 4 + length)]))
            }
        }
    }
}

typealias SimulatedRow = [SimulatedValue]

/// Returns a typed NULL.
func null<Value: PostgresValue>(_: Value.Type) -> SimulatedValue { SimulatedValue(nil as Value?) }
