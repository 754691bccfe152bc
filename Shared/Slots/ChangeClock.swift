import Models
import Postgres
import Reactor
import ServiceKit

/// The time according to three clocks, of which one may be wrong: the database's, this machine's, and the monotonic
/// time since the two last agreed.
///
/// The time of a change is PostgreSQL's and never earlier than that of the change before. A clock that jumps ahead
/// would therefore stop the times of a conversation until it has caught up, and keep its messages editable until then.
public struct TrustedTime {
    /// How far a clock may be off before it is ignored, in milliseconds.
    public static let tolerance: Int64 = 60_000

    private var anchor: (time: Timestamp, at: MonotonicTime)?

    /// Compares all three. When the two clocks agree, they are right. Otherwise the right one is the one that agrees
    /// with the time that has passed since. Without an earlier observation the earlier clock is taken: its error ends
    /// when the clock is set, but a time that was given out cannot be taken back.
    mutating func observe(database: Timestamp, own: Timestamp, at now: MonotonicTime) {
        if isNear(database, own) {
            anchor = (database, now)
        } else if let expected = time(at: now) {
            if isNear(database, expected) { anchor = (database, now) }
        } else {
            anchor = (min(database, own), now)
        }
    }

    /// Returns the time; nil before the first observation.
    func time(at now: MonotonicTime) -> Timestamp? {
        anchor.map { Timestamp(milliseconds: $0.time.milliseconds + (now - $0.at).nanoseconds / 1_000_000) }
    }

    private func isNear(_ one: Timestamp, _ other: Timestamp) -> Bool {
        (one.milliseconds - other.milliseconds).magnitude <= Self.tolerance
    }
}

/// Keeps the times of changes near the true time. On the connections that write, PostgreSQL uses its own clock, within
/// bounds that this sets for the session.
@Reactor
public final class ChangeClock {
    /// Well within the tolerance: bounds must hold until they are set again.
    private static let interval = Duration.seconds(1)

    private var trusted = TrustedTime()
    private let connections: [Connection]
    private let log: Log
    /// How far the database's clock was ahead of this machine's at the last observation, in milliseconds.
    public private(set) var difference: Int64?

    public init(_ connections: [Connection], log: Log) {
        self.connections = connections
        self.log = log
        for connection in connections {
            connection.onUp { [weak self] in self?.set(connection) }
        }
        Reactor.every(Self.interval) { [weak self] in
            for connection in connections where connection.isUp { self?.set(connection) }
        }
    }

    /// Sets the session's bounds and reads its clock.
    private func set(_ connection: Connection) {
        let isFirst = difference == nil
        connection.submit { batch in
            batch.execute(unprepared: ChangeTime.setBounds) { parameters, input in
                let time = trusted.time(at: .now)
                parameters.set(
                    input.earliest, to: time.map { Self.text($0.milliseconds - TrustedTime.tolerance) } ?? "")
                parameters.set(
                    input.latest, to: time.map { Self.text($0.milliseconds + TrustedTime.tolerance) } ?? "")
            }
            // What begins the batch writes (`ShardGuard`), and nobody needs it on the disk.
            if connection.opening != nil { batch.execute(sql: "SELECT set_config('synchronous_commit', 'off', true)") }
        } completion: { [weak self] outcome in
            guard case .committed(let rows) = outcome, let row = rows.first?.first else { return }
            self?.observe(row[ChangeTime.setBounds.columns.clock])
            if isFirst, connection.isUp { self?.set(connection) }
        }
    }

    /// Returns milliseconds since 1970 as seconds, in decimal.
    private static func text(_ milliseconds: Int64) -> String {
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return "\(milliseconds / 1000).\(fraction)"
    }

    private func observe(_ database: Timestamp) {
        let own = Timestamp.now
        trusted.observe(database: database, own: own, at: .now)
        let difference = database.milliseconds - own.milliseconds
        let wasApart = (self.difference?.magnitude ?? 0) > TrustedTime.tolerance
        self.difference = difference
        guard (difference.magnitude > TrustedTime.tolerance) != wasApart else { return }
        let field = LogField("seconds_ahead", difference / 1000)
        if wasApart {
            log.info("the clocks of the database and this machine agree again", [field])
        } else {
            log.error("the clocks of the database and this machine disagree", [field])
        }
    }
}

/// The SQL expressions for the time of changes.
public enum ChangeTime {
    private static let earliest = "parley.earliest", latest = "parley.latest"

    /// The time of a change that happens now. Without bounds it is PostgreSQL's clock.
    public static let now = """
        date_trunc('milliseconds', greatest(\(bound(earliest)), least(\(bound(latest)), clock_timestamp())))
        """

    private static func bound(_ setting: String) -> String {
        "to_timestamp(nullif(current_setting('\(setting)', true), '')::float8)"
    }

    struct Bounds: NamedFields {
        let earliest: Parameter<String>
        let latest: Parameter<String>
    }

    struct Columns: NamedFields {
        let earliest: Column<String>
        let latest: Column<String>
        let clock: Column<Timestamp>
    }

    /// Sets the bounds of `now`.
    static let setBounds = PreparedStatement<Bounds, Columns>(
        "set_clock_bounds", PackageResources.set_clock_bounds_sql,
        SQLNames(.string("ChangeTime.earliest", earliest), .string("ChangeTime.latest", latest)))
}
