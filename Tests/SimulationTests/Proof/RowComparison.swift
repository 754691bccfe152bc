import Models
import Postgres
import SimulationSupport

/// Rows of the model beside PostgreSQL's.
struct RowComparison {
    let expected: [SimulatedRow]
    let actual: RawResult
    let isOrdered: Bool

    /// The first difference, in words.
    var difference: String? {
        let types = self.actual.columns.map { $0.type }
        if let wrong = self.expected.first(where: { $0.map(\.type.oid) != types }) {
            return "the columns are of types \(types), in the model \(wrong.map(\.type.oid))"
        }
        let expected = inOrder(self.expected.map { $0.map(\.bytes) }), actual = inOrder(self.actual.rows)
        if let index = zip(expected, actual).enumerated().first(where: { $1.0 != $1.1 })?.offset {
            return difference(in: index, expected[index], actual[index], expected.count, actual.count)
        }
        guard expected.count != actual.count else { return nil }
        let surplus = (expected.count > actual.count ? expected : actual)[min(expected.count, actual.count)]
        return
            "\(actual.count) rows, in the model \(expected.count); the next is \(surplus.indices.map { text(surplus[$0], $0) })"
    }

    private func difference(
        in row: Int, _ expected: [[UInt8]?], _ actual: [[UInt8]?], _ expectedCount: Int, _ actualCount: Int
    ) -> String {
        let columns = actual.indices.filter { expected[$0] != actual[$0] }.map { column in
            """
            \(self.actual.columns[column].name) (column \(column)) is \(text(actual[column], column)), in the model \
            \(text(expected[column], column))
            """
        }
        return """
            row \(row) of \(actualCount), in the model \(expectedCount), \(actual.indices.map { text(actual[$0], $0) }): \
            \(columns.joined(separator: "; "))
            """
    }

    // MARK: Order

    private func inOrder(_ rows: [[[UInt8]?]]) -> [[[UInt8]?]] {
        let rows = rows.map { $0.map { $0.map(Self.withSortedCounts) } }
        return isOrdered ? rows : rows.sorted(by: Self.precedes)
    }

    private static func precedes(_ one: [[UInt8]?], _ other: [[UInt8]?]) -> Bool {
        for (one, other) in zip(one, other) where one != other {
            guard let one else { return true }
            guard let other else { return false }
            return one.lexicographicallyPrecedes(other)
        }
        return false
    }

    /// Counts by kind, `{ "like" : 2, "love" : 1 }`, come in no order.
    private static func withSortedCounts(_ value: [UInt8]) -> [UInt8] {
        guard value.starts(with: "{ ".utf8), value.reversed().starts(with: "} ".utf8) else { return value }
        let counts = String(decoding: value.dropFirst(2).dropLast(2), as: UTF8.self).split(separator: ", ")
        return Array("{ \(counts.sorted().joined(separator: ", ")) }".utf8)
    }

    // MARK: Words

    private func text(_ value: [UInt8]?, _ column: Int) -> String {
        guard let value else { return "NULL" }
        switch actual.columns[column].type {
        case PostgresType.bool.oid: return "\(value == [1])"
        case PostgresType.int2.oid, PostgresType.int4.oid, PostgresType.int8.oid: return "\(integer(value))"
        case PostgresType.timestamptz.oid: return "\(Timestamp(postgresMicroseconds: integer(value)).milliseconds) ms"
        case PostgresType.text.oid: return "\"\(String(decoding: value, as: UTF8.self))\""
        case PostgresType.uuid.oid: return value.withUnsafeBytes { "\(UUIDBytes(decoding: $0))" }
        default: return value.map { String($0, radix: 16) }.joined(separator: " ")
        }
    }

    private func integer(_ value: [UInt8]) -> Int64 {
        let isNegative = (value.first ?? 0) & 0x80 != 0
        return value.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }
}

extension SimulatedValue {
    func decoded<Value: PostgresValue>() -> Value { bytes!.withUnsafeBytes { Value(decoding: $0) } }
}
