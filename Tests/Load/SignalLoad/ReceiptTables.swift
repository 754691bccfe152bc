import Postgres

/// What the tables of `receipt` hold before and after, and what a row per message and member would take.
final class ReceiptTables {
    private static let tables = ["receipt_runs", "horizons", "positions"]
    private static let sampleRows = 100_000

    struct Growth {
        let runs: Int64
        let horizons: Int64
        let bytes: Double
        let naiveRow: Int64
        let naiveBytes: Double
    }

    private let database: BlockingConnection
    private var rowsBefore: [String: Int64] = [:]

    init(_ database: BlockingConnection) { self.database = database }

    /// The backend that commits the signals.
    func writerProcess() throws -> Int {
        Int(
            try database.query(
                "SELECT pid::bigint FROM pg_stat_activity WHERE application_name = 'parley-receipt-writer' LIMIT 1"
            ).first.map { $0[0] as Int64 } ?? 0)
    }

    func begin() throws {
        for table in Self.tables { rowsBefore[table] = try count(table) }
    }

    /// Bytes are those of so many rows, packed: what the tables grow to once vacuum has seen them. `readings`: the rows
    /// that the naive table would have.
    func end(readings: Double) throws -> Growth {
        var bytes = 0.0
        var grown: [String: Int64] = [:]
        for table in Self.tables {
            let rows = try count(table)
            grown[table] = rows - rowsBefore[table]!
            bytes += Double(grown[table]!) * Double(try bytesOfRow(of: table))
        }
        let naiveRow = try bytesOfNaiveRow()
        return Growth(
            runs: grown["receipt_runs"]!, horizons: grown["horizons"]!, bytes: bytes, naiveRow: naiveRow,
            naiveBytes: Double(naiveRow) * readings)
    }

    private func count(_ table: String) throws -> Int64 {
        try database.query("SELECT count(*) FROM receipt.\(table)").first![0]
    }

    /// With its part of the indexes, in a copy of some rows of the table.
    private func bytesOfRow(of table: String) throws -> Int64 {
        try bytesOfRow("(LIKE receipt.\(table) INCLUDING INDEXES)", "SELECT * FROM receipt.\(table)")
    }

    /// A row per message and member with its two times, filled like the runs.
    private func bytesOfNaiveRow() throws -> Int64 {
        try bytesOfRow(
            """
            (slot smallint, conversation_id uuid, seq bigint, user_id text COLLATE "C", delivered_at timestamptz,
             read_at timestamptz, PRIMARY KEY (conversation_id, seq, user_id, slot))
            """,
            """
            SELECT slot, conversation_id, to_seq, user_id, at, at FROM receipt.receipt_runs
            WHERE kind = 3 ORDER BY conversation_id, to_seq, user_id
            """)
    }

    private func bytesOfRow(_ definition: String, _ rows: String) throws -> Int64 {
        try database.execute("CREATE TEMPORARY TABLE sample \(definition)")
        try database.execute("INSERT INTO sample \(rows) LIMIT \(Self.sampleRows) ON CONFLICT DO NOTHING")
        try database.execute("REINDEX TABLE sample")
        let size: Int64 = try database.query(
            "SELECT (pg_total_relation_size('sample') / greatest((SELECT count(*) FROM sample), 1))::bigint"
        ).first![0]
        try database.execute("DROP TABLE sample")
        return size
    }
}
