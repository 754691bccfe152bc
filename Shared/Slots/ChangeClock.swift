import Models
import Postgres
import Reactor
import ServiceKit

/// What time it is, by three clocks of which one may be wrong: the database's, this machine's, and how much time has passed
/// since the two agreed.
///
/// The time of a change is PostgreSQL's, and never earlier than that of the change before, so a clock that jumps ahead would
/// leave a conversation without times until it has caught up, and its messages editable until then.
public struct TrustedTime {
    /// How far a clock may be off before it is not believed, in milliseconds.
    public static let tolerance: Int64 = 60_000

    private var anchor: (time: Timestamp, at: MonotonicTime)?

    /// Looks at all three. Where the two clocks agree, that is the time. Otherwise the one is right that shows what has
    /// passed since. Where nothing is known of before, the earlier one is taken: what it does wrong ends when it is set,
    /// but no time is taken back that was given.
    mutating func observe(database: Timestamp, own: Timestamp, at now: MonotonicTime) {
        if isNear(database, own) {
            anchor = (database, now)
        } else if let expected = time(at: now) {
            if isNear(database, expected) { anchor = (database, now) }
        } else {
            anchor = (min(database, own), now)
        }
    }

    /// The time, as far as it is known; nil before anything was observed.
    func time(at now: MonotonicTime) -> Timestamp? {
        anchor.map { Timestamp(milliseconds: $0.time.milliseconds + (now - $0.at).nanoseconds / 1_000_000) }
    }

    private func isNear(_ one: Timestamp, _ other: Timestamp) -> Bool {
        (one.milliseconds - other.milliseconds).magnitude <= Self.tolerance
    }
}

/// Keeps the times of changes near the real one, on the connections that write: PostgreSQL gives its own time, but none
/// outside the bounds that its session has been told.
@Reactor
public final class ChangeClock {
    /// Well within the tolerance, which the bounds also have to last for.
    private static let interval = Duration.seconds(1)

    private var trusted = TrustedTime()
    private let connections: [Connection]
    private let log: Log
    /// By how much the database's clock was ahead of this machine's when it was looked at last, in milliseconds.
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

    /// Tells the session the bounds, and asks what time it has.
    private func set(_ connection: Connection) {
        let isFirst = difference == nil
        connection.submit { batch in
            batch.execute(sql: ChangeTime.setBounds) { parameters in
                let time = trusted.time(at: .now)
                parameters.add(time.map { Self.text($0.milliseconds - TrustedTime.tolerance) } ?? "")
                parameters.add(time.map { Self.text($0.milliseconds + TrustedTime.tolerance) } ?? "")
            }
        } completion: { [weak self] outcome in
            guard case .committed(let rows) = outcome, let row = rows.first?.first else { return }
            self?.observe(row[2])
            if isFirst, connection.isUp { self?.set(connection) }
        }
    }

    /// Seconds since 1970.
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
            log.info("the clocks of the database and of this machine agree again", [field])
        } else {
            log.error("the clock of the database is not that of this machine", [field])
        }
    }
}

/// The SQL of the time of changes.
public enum ChangeTime {
    private static let earliest = "parley.earliest", latest = "parley.latest"

    /// The time of a change that happens now. Without bounds it is PostgreSQL's.
    public static let now = """
        date_trunc('milliseconds', greatest(\(bound(earliest)), least(\(bound(latest)), clock_timestamp())))
        """

    private static func bound(_ setting: String) -> String {
        "to_timestamp(nullif(current_setting('\(setting)', true), '')::float8)"
    }

    /// $1 the earliest, $2 the latest that `now` may be, in seconds since 1970; empty: any.
    static let setBounds =
        "SELECT set_config('\(earliest)', $1, false), set_config('\(latest)', $2, false), clock_timestamp()"
}
