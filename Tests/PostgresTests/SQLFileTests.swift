import Models
import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Postgres

/// How a file becomes a statement.
@Suite struct SQLFileTests {
    private enum Fruit: Int16, PostgresEnum { case apple = 3, pear = 4 }

    private static let names = SQLNames(
        .cases(of: Fruit.self), .number("limit.basket", 20), .interval("limit.ripening", .milliseconds(1_500)),
        .string("Fruit.apple.name", "Apfel"), .sql("now", "clock_timestamp()"),
        .fragment("is_ripe", Array("-- :row\n-- :since\n:row.kind = {Fruit.pear} AND :row.at < :since".utf8)),
        .fragment("basket", Array("-- The basket.\n-- > id uuid\n-- > size bigint\nb.id, b.size".utf8)))

    private static func statement(_ text: String) throws -> Statement {
        try Statement(try SQLFile("test", Array(text.utf8)), names)
    }

    @Test("parameters are numbered in the order of the header, and nothing else with a colon is one")
    func parameters() throws {
        let statement = try Self.statement(
            """
            -- Says what it does, at 10:30.
            --
            -- :second text    a text
            -- :first  bigint[]
            --
            -- > response text
            SELECT :second::text || ':second' || a[1:2] -- not :this
            FROM t WHERE /* nor :that */ n = ANY (:first) AND ":second" > $tag$:first$tag$
            """)
        #expect(
            statement.sql == """
                SELECT $1::text || ':second' || a[1:2]\u{20}
                FROM t WHERE   n = ANY ($2) AND ":second" > $tag$:first$tag$
                """)
        #expect(statement.parameters == [.text, .array(.int8)])
        #expect(statement.columnFields == [Statement.Field(name: "response", type: .text)])
    }

    @Test("what stands in braces is a value or a fragment, and in strings nothing")
    func names() throws {
        let sql = try Self.statement(
            """
            -- :since timestamptz
            SELECT '{}', '{Fruit.apple}', {Fruit.apple.name}, {limit.ripening} FROM b
            WHERE {is_ripe(row => b)} OR {is_ripe(row => c, since => greatest({now}, :since))} LIMIT {limit.basket}
            """
        ).sql
        #expect(
            sql == """
                SELECT '{}', '{Fruit.apple}', 'Apfel', interval '1500 milliseconds' FROM b
                WHERE b.kind = 4 AND b.at < $1 OR c.kind = 4 AND c.at < greatest(clock_timestamp(), $1) LIMIT 20
                """)
    }

    @Test("the columns of a fragment are declared by its name")
    func columns() throws {
        let statement = try Self.statement("-- > {basket}\n-- > last boolean\nSELECT {basket}, false AS last FROM b")
        #expect(statement.columnFields.map(\.name) == ["id", "size", "last"])
        #expect(statement.columnFields.map(\.type) == [.uuid, .int8, .bool])
    }

    @Test(
        "a file that says something wrong says what",
        arguments: [
            ("SELECT :nothing", "nothing declares :nothing"),
            ("-- :a text\nSELECT 1", "the header declares :a, which nothing uses"),
            ("-- :a text\n-- :a text\nSELECT :a", "the header declares a name twice"),
            ("-- :a varchar\nSELECT :a", "a has a type that is not supported: varchar"),
            ("-- :a\nSELECT :a", "a has a type that is not supported: "),
            ("-- > a\nSELECT 1", "a column has a name and a type: -- > a"),
            ("-- > {no}\nSELECT 1", "{no} is no fragment"),
            ("SELECT {Fruit.plum}", "{Fruit.plum} names nothing that there is"),
            ("SELECT {Fruit.pear(a => 1)}", "{Fruit.pear(a => 1)} names nothing that there is"),
            ("SELECT {is_ripe(row => b)}", "{is_ripe} needs since"),
            ("SELECT {basket(a => 1)}", "{basket} takes no a"),
            ("SELECT {basket(1)}", "an argument is name => SQL: 1"),
            ("SELECT {basket", "a brace is not closed"),
            ("SELECT 1; SELECT 2", "a file has one statement, without a semicolon"),
        ])
    func mistakes(text: String, problem: String) {
        #expect(throws: SQLFileError("test", problem)) { try Self.statement(text) }
    }

    // MARK: Swift types

    private struct Group: NamedFields {
        let id: Column<ConversationID>
        let lastSeq: Column<Int64?>
    }

    private struct Columns: NamedFields {
        let kinds: Column<[Fruit]>
        let group: Group
    }

    private static let fields = [
        Statement.Field(name: "id", type: .uuid), Statement.Field(name: "kinds", type: .array(.int2)),
        Statement.Field(name: "last_seq", type: .int8),
    ]

    @Test("a struct finds its fields by their names, wherever they stand")
    func decoding() throws {
        let columns = try FieldDecoder.decode(Columns.self, Self.fields)
        #expect(columns.group.id.position == 0)
        #expect(columns.kinds.position == 1)
        #expect(columns.group.lastSeq.position == 2)
    }

    @Test("a struct that does not fit the header says why")
    func misfits() throws {
        func problem(_ fields: [Statement.Field]) -> String? {
            do {
                _ = try FieldDecoder.decode(Columns.self, fields)
                return nil
            } catch { return "\(error)" }
        }
        #expect(problem(Array(Self.fields.dropLast())) == "the header does not declare last_seq")
        #expect(problem(Self.fields + [Statement.Field(name: "more", type: .int8)]) == "Columns does not have more")
        #expect(
            problem([Self.fields[0], Statement.Field(name: "kinds", type: .int2), Self.fields[2]])
                == "kinds has another type in Swift")
    }
}

/// A statement from a file against a server.
@Suite(.timeLimit(.minutes(1))) struct PreparedStatementTests {
    private enum Size: Int16, PostgresEnum { case small = 1, large = 2 }

    private struct Input: NamedFields {
        let number: Parameter<Int64?>
        let sizes: Parameter<[Size]>
        let keys: Parameter<[String?]>
    }

    private struct Columns: NamedFields {
        let size: Column<Size>
        let numberPlusOne: Column<Int64?>
        let keys: Column<[String]>
    }

    private static let statement = PreparedStatement<Input, Columns>(
        "sizes",
        Array(
            """
            -- :number bigint
            -- :sizes  smallint[]
            -- :keys   text[]
            -- > size            smallint
            -- > number_plus_one bigint
            -- > keys            text[]
            SELECT s AS size, :number + 1 AS number_plus_one, array_remove(:keys, NULL) AS keys
            FROM unnest(:sizes) s WHERE s <> {Size.small}
            """.utf8), SQLNames(.cases(of: Size.self)))

    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
    }

    @Test("parameters are set in any order, and columns read by what declares them", arguments: [nil, 41])
    @Reactor func values(number: Int64?) async throws {
        let connection = database.open(statements: [Self.statement.untyped])
        await waitUntil { connection.isUp }
        let rows = try await connection.query(Self.statement) { parameters, input in
            parameters.set(input.keys, to: ["a", nil, "b"])
            parameters.set(input.number, to: number)
            parameters.set(input.sizes, to: Size.allCases)
        }
        let columns = Self.statement.columns
        #expect(rows.count == 1)
        #expect(rows[0][columns.size] == .large)
        #expect(rows[0][columns.numberPlusOne] == number.map { $0 + 1 })
        #expect(rows[0].isNull(columns.numberPlusOne) == (number == nil))
        #expect(rows[0][columns.keys] == ["a", "b"])
    }

    @Test("what the server says of a statement is compared with the file")
    func description() throws {
        #expect(try mismatches(of: [Self.statement.untyped], on: database.connect()) == [])
        let names = SQLNames(.cases(of: Size.self))
        let wrong = try Statement(
            SQLFile("wrong", Array("-- :a text\n-- > b bigint\nSELECT 1 AS b, :a AS c".utf8)), names)
        #expect(
            try mismatches(of: [wrong], on: database.connect()) == [
                "wrong returns b integer, c text, and the file declares b bigint"
            ])
    }
}
