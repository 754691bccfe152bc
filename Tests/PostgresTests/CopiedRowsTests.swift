import Bytes
import PostgresSupport
import Testing

@testable import Postgres

/// Rows that travel between processes, in parts.
@Suite(.timeLimit(.minutes(1))) struct CopiedRowsTests {
    private let connection: BlockingConnection
    /// Kept until the test ends.
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase()
        connection = try database.connect()
    }

    private func rows(_ sql: String) throws -> Rows { try connection.query(sql) }

    private func copy(_ rows: Rows) throws -> Rows {
        var buffer = ByteBuffer()
        rows.write(to: &buffer)
        var reader = ByteReader(buffer.bytes)
        defer { #expect(reader.isAtEnd) }
        return try #require(Rows(from: &reader, limit: rows.count))
    }

    @Test("a copy has the same values")
    func copies() throws {
        let original = try rows(
            "SELECT n::bigint, CASE WHEN n > 1 THEN repeat('ä', n) END, ARRAY[n, 7]::bigint[], '' FROM generate_series(1, 3) n"
        )
        let copied = try copy(original)
        #expect(copied.count == 3)
        for (row, other) in zip(original, copied) {
            #expect(row[0] as Int64 == other[0] as Int64)
            #expect(row[1] as String? == other[1] as String?)
            #expect(row.array(2) as [Int64] == other.array(2) as [Int64])
            #expect(other[3] as String == "")
            #expect(row.rawValue(0)?.elementsEqual(other.rawValue(0)!) == true)
        }
        #expect(try copy(rows("SELECT 1 WHERE false")).isEmpty)
    }

    @Test("rows of several answers are one, in any order, and keep what they point into")
    func parts() throws {
        var joined: Rows
        do {
            let one = try copy(rows("SELECT 1::bigint UNION ALL SELECT 2")), other = try rows("SELECT 3::bigint")
            joined = Rows([other[0], one[1], one[0]])
        }
        #expect(joined.map { $0[0] as Int64 } == [3, 2, 1])
        joined = Rows([])
        #expect(joined.isEmpty)
    }

    @Test("a column is numbered anew")
    func renumbered() throws {
        let rows = try rows("SELECT 'a'::text, 1, NULL::bigint UNION ALL SELECT 'b', 2, 8").renumbered(1) { $0 * 10 }
        #expect(rows.map { $0[1] as Int32 } == [10, 20])
        #expect(rows.map { $0[0] as String } == ["a", "b"])
        #expect(rows.map { $0[2] as Int64? } == [nil, 8])
    }

    @Test("bytes that are no rows are refused, and so are more rows than were expected")
    func refused() throws {
        var buffer = ByteBuffer()
        try rows("SELECT 'abc', 1::bigint UNION ALL SELECT NULL, 2").write(to: &buffer)
        for length in 0..<buffer.count {
            var reader = ByteReader(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<length]))
            #expect(Rows(from: &reader, limit: 2) == nil)
        }
        var reader = ByteReader(buffer.bytes)
        #expect(Rows(from: &reader, limit: 1) == nil)
    }

    @Test("an array is taken apart and made again")
    func arrays() {
        var parameters = Parameters(capacity: 64)
        parameters.addArray(of: .text)
        for text in ["a", "", "ccc"] { parameters.append(text) }
        parameters.finish()
        let bytes = parameters.values[0]!
        let elements = PostgresArray.elements(bytes)
        #expect(elements.map { String(decoding: $0, as: UTF8.self) } == ["a", "", "ccc"])
        #expect(PostgresArray.bytes(of: .array(.text), elements) == bytes)
        #expect(PostgresArray.elements(PostgresArray.bytes(of: .array(.int2), [])) == [])
    }
}
