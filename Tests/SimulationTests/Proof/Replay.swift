import Models
import PostgresSupport
import Reactor
import SimulationSupport

@testable import Receipt
@testable import enum Receipt.Schema
@testable import Store

/// Carries out a transcript on PostgreSQL and compares what it returns and what it holds in the end with the model.
///
/// Each session of the transcript has a session of its own here, since advisory locks and settings belong to sessions.
/// What the statements take from outside comes from the transcript: the time, random identifiers, and which slots
/// belong to services that are not simulated.
@Reactor
final class Replay {
    private let database: TestDatabase
    /// Plays what is neither a service nor the server.
    private let surroundings: RawConnection
    private var sessions: [Int32: RawConnection] = [:]
    private(set) var differences: [String] = []
    /// How often the rows of each statement were compared, and of those that returned any.
    private(set) var compared: [String: (times: Int, withRows: Int)] = [:]
    /// The statements that sessions prepared.
    private(set) var prepared: Set<String> = []

    /// The first differences tell all, one of a statement; the others follow from them.
    private static let enough = 5
    private var differing: Set<String> = []

    init(_ initial: Tables) throws {
        database = try TestDatabase(migratedBy: [Store.Schema.migrator, Schema.migrator])
        surroundings = try RawConnection(url: database.url)
        try surroundings.run(Self.preparation)
        try holdOtherSlots(initial)
        for content in initial.contents { try insert(content) }
    }

    /// Functions that stand before PostgreSQL's own in the search path. The history has the model's name.
    private static let preparation = """
        CREATE SCHEMA simulated;
        CREATE FUNCTION simulated.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        RETURN to_timestamp(current_setting('simulated.now')::float8);
        CREATE FUNCTION simulated.gen_random_uuid() RETURNS uuid LANGUAGE sql VOLATILE
        RETURN current_setting('simulated.id')::uuid;
        UPDATE store.deployment SET log_id = '00000000-0000-0001-0000-000000000001';
        """

    /// The bound turns a wait, which there is none in the model, into a difference.
    private static let settings = """
        SET search_path = simulated, pg_catalog, public;
        SET lock_timeout = '5s';
        """

    private func holdOtherSlots(_ initial: Tables) throws {
        for (schema, lockClass) in [("store", Store.Schema.slotLocks), ("receipt", Schema.slotLocks)] {
            let simulated = initial.epochs[schema, default: [:]].keys.map { "\($0.number)" }
            try surroundings.run(
                """
                SELECT pg_advisory_lock(\(lockClass), slot) FROM generate_series(0, 255) AS slot
                WHERE slot NOT IN (\(simulated.joined(separator: ", ")))
                """)
        }
    }

    private func insert(_ content: TableContent) throws {
        let places = content.columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        for row in content.rows {
            try surroundings.execute(
                """
                INSERT INTO \(content.table) (\(content.columns.joined(separator: ", "))) VALUES (\(places))
                ON CONFLICT DO NOTHING
                """, row)
        }
    }

    // MARK: Events

    /// Stops at the first transaction that PostgreSQL refuses, and when there are enough differences.
    func carryOut(_ transcript: Transcript) {
        do {
            for event in transcript.events where differences.count < Self.enough { try carryOut(event) }
        } catch {
            differences.append("PostgreSQL refuses it: \(error)")
        }
    }

    private func carryOut(_ event: Transcript.Event) throws {
        switch event {
        case .committed(let transaction): try carryOut(transaction)
        case .unlocked(let number): try sessions[number]?.run("SELECT pg_advisory_unlock_all()")
        case .ended(let number):
            // Before the end, which the server notices some time after it.
            try sessions.removeValue(forKey: number)?.run("SELECT pg_advisory_unlock_all()")
        }
    }

    private func carryOut(_ transaction: Transcript.Transaction) throws {
        let session = try session(transaction.session)
        try session.run("BEGIN; SELECT set_config('simulated.now', '\(transaction.at.seconds)', true)")
        for step in transaction.steps { try carryOut(step, in: transaction, on: session) }
        try session.run("COMMIT")
        if transaction.tellsUsers { try trim() }
    }

    private func session(_ number: Int32) throws -> RawConnection {
        if let session = sessions[number] { return session }
        let session = try RawConnection(url: database.url)
        try session.run(Self.settings)
        sessions[number] = session
        return session
    }

    private func carryOut(
        _ step: Transcript.Step, in transaction: Transcript.Transaction, on session: RawConnection
    ) throws {
        let name = step.name
        guard step.statement.purpose == .execute else {
            prepared.insert(name)
            return
        }
        guard Exceptions.leftOut[name] == nil else { return }
        if let id = step.id { try session.run("SELECT set_config('simulated.id', '\(id)', true)") }
        do {
            let result = try session.execute(step.statement)
            if Exceptions.ignoredRows[name] == nil { compare(step, result, at: transaction.at) }
        } catch {
            throw RawError(description: "\(name) at \(transaction.at.seconds): \(error)")
        }
    }

    /// Private streams are shortened behind the writes. The model keeps fewer changes than the services do, and does it
    /// at once.
    private func trim() throws {
        try surroundings.run(
            """
            DELETE FROM store.user_changes c USING store.user_streams s
            WHERE s.user_slot = c.user_slot AND s.user_id = c.user_id AND c.useq <= s.last_useq - \(Tables.User.kept)
            """)
    }

    // MARK: Rows

    private func compare(_ step: Transcript.Step, _ result: RawResult, at time: Timestamp) {
        let expected = step.rows.compactMap { row in step.name == SentText.members.rawValue ? member(row) : row }
        let before = compared[step.name] ?? (0, 0)
        compared[step.name] = (before.times + 1, before.withRows + (result.rows.isEmpty ? 0 : 1))
        let comparison = RowComparison(
            expected: expected, actual: result, isOrdered: !Exceptions.unordered.contains(step.name))
        if let difference = comparison.difference, differing.insert(step.name).inserted {
            differences.append("\(step.name) at \(time.seconds): \(difference)")
        }
    }

    /// A member whose session here has another number; nil if it is not simulated.
    private func member(_ row: SimulatedRow) -> SimulatedRow? {
        let number: Int32 = row[1].decoded()
        guard number != 0 else { return nil }
        var row = row
        row[1] = SimulatedValue(sessions[number]?.backend)
        return row
    }

    // MARK: Tables

    /// Compares what is left in the tables.
    func compare(_ end: Tables) throws {
        for content in end.contents {
            let result = try surroundings.query(
                """
                SELECT \(content.columns.joined(separator: ", ")) FROM \(content.table) WHERE \(content.condition)
                """)
            let comparison = RowComparison(expected: content.rows, actual: result, isOrdered: false)
            if let difference = comparison.difference {
                differences.append("in the end \(content.table): \(difference)")
            }
        }
    }
}

extension Transcript.Step {
    /// The name it is prepared under, or that of its kind.
    var name: String { statement.name ?? SentText(statement.sql)?.rawValue ?? statement.sql }
}

extension Timestamp {
    /// Seconds since 1970, in decimal.
    fileprivate var seconds: String { "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst())" }
}
