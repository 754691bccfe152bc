import Models
import Postgres
import Reactor
import ServiceKit

/// Finds what users have read and their devices were not told: what a former owner of a slot had committed and not told
/// when it died, what this one had no room for, and commits in doubt.
///
/// Nothing is written per reading for it. It looks through the horizons of the slots once after they were taken over, page
/// by page, on the connection of the queries.
@Reactor
final class UntoldSearch {
    /// Slots come one after the other at a takeover: they are searched together.
    private static let patience = Duration.milliseconds(500)
    private static let pause = Duration.seconds(1)
    /// While so many positions wait to be told, no more are looked for.
    private static let backlog = UntoldReads.capacity / 2

    private(set) var found = 0
    private let connection: Connection
    private let slots: @Reactor (Slot) -> Bool
    private let teller: ReadTeller
    private let log: Log
    private var wanted: Set<Slot> = []
    private var isPlanned = false
    private var isRunning = false
    private var droppedBefore = 0

    init(_ connection: Connection, owns slots: @escaping @Reactor (Slot) -> Bool, _ teller: ReadTeller, log: Log) {
        self.connection = connection
        self.slots = slots
        self.teller = teller
        self.log = log
    }

    /// Whether everything is found that has to be.
    var isDone: Bool { wanted.isEmpty && !isRunning }

    /// The slot is owned from now on, or something of it may have been committed that nobody here knows of.
    func look(in slot: Slot) {
        wanted.insert(slot)
        plan(after: Self.patience)
    }

    /// What was dropped since the last search is searched for once there is room.
    func checkDropped() {
        guard teller.dropped > droppedBefore, teller.count < Self.backlog else { return }
        droppedBefore = teller.dropped
        wanted.formUnion(Slot.all.filter(slots))
        plan(after: Self.patience)
    }

    private func plan(after delay: Duration) {
        guard !isPlanned, !isRunning else { return }
        isPlanned = true
        Reactor.after(delay) { [self] in
            isPlanned = false
            Reactor.spawn { [self] in await run() }
        }
    }

    private func run() async {
        isRunning = true
        let searched = wanted.filter(slots)
        wanted = []
        do throws(DatabaseError) {
            try await search(searched)
        } catch {
            log.warning("search for untold positions failed", [LogField("reason", error.debugDescription)])
            wanted.formUnion(searched)
        }
        isRunning = false
        if !wanted.isEmpty { plan(after: Self.pause) }
    }

    private func search(_ searched: Set<Slot>) async throws(DatabaseError) {
        var place: UntoldStatement.Place? = .start
        while let from = place, !searched.isEmpty {
            while teller.count > Self.backlog { await Reactor.sleep(for: Self.pause) }
            let page = try await UntoldStatement.page(searched, behind: from, on: connection)
            for (key, seq) in page.untold { teller.tell(key, seq) }
            found += page.untold.count
            place = page.next
        }
    }
}

/// One page of the horizons of some slots, and which of them are beyond what the user's devices were told.
///
/// Fans out over slots: what was told lies in the users' slots.
enum UntoldStatement {
    static let pageSize = 2_000

    static let statement = Statement(
        "untold_reads", parameters: [.uuid, .text, .array(.int2), .int8],
        """
        WITH page AS MATERIALIZED (
            SELECT h.conversation_id, h.user_id, h.read_seq FROM receipt.horizons h
            WHERE (h.conversation_id, h.user_id) > ($1, $2) AND h.slot = ANY ($3)
            ORDER BY h.conversation_id, h.user_id LIMIT $4
        )
        SELECT p.conversation_id, p.user_id, p.read_seq, coalesce(p.read_seq > (
            SELECT i.told_read_seq FROM store.inbox i
            WHERE i.user_id = p.user_id AND i.conversation_id = p.conversation_id
        ), false)
        FROM page p ORDER BY p.conversation_id, p.user_id
        """)

    struct Place {
        var conversation: ConversationID
        var user: String

        /// Before the first.
        static let start = Place(conversation: ConversationID(.zero), user: "")
    }

    /// `next` is where the next page begins; nil: this was the last.
    static func page(
        _ slots: Set<Slot>, behind place: Place, on connection: Connection
    ) async throws(DatabaseError) -> (untold: [(HorizonKey, Int64)], next: Place?) {
        let rows = try await connection.query(statement) { parameters in
            parameters.add(place.conversation)
            parameters.add(place.user)
            parameters.addArray(of: .int2)
            for slot in slots { parameters.append(slot) }
            parameters.add(Int64(pageSize))
        }
        let untold = rows.filter { $0[3] }.map { (HorizonKey(conversation: $0[0], user: $0[1]), $0[2] as Int64) }
        guard rows.count == pageSize, let last = rows.last else { return (untold, nil) }
        return (untold, Place(conversation: last[0], user: last[1]))
    }
}
