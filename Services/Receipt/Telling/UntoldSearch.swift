import Models
import Postgres
import Reactor
import ServiceKit
import Slots

/// Finds reads that were not reported to users' devices: commits that a former owner of a slot had not reported when it
/// died, those that this one had no room for, and commits in doubt.
///
/// It looks through the horizons of the conversations that are noted as such (`WorkNotes`), once after their slots were
/// taken over, page by page, on the connection of the queries. It looks through all horizons only if an owner of an
/// older version, which noted nothing, may have left some.
@Reactor
final class UntoldSearch {
    /// Slots arrive one after the other at a takeover. They are searched together.
    private static let patience = Duration.milliseconds(500)
    private static let pause = Duration.seconds(1)
    /// The search pauses while this many positions wait to be reported.
    private static let backlog = UntoldReads.capacity / 2
    /// The number of conversations queried in one round trip.
    private static let conversationsAtOnce = 16

    private(set) var found = 0
    /// The number of horizons examined.
    private(set) var looked = 0
    private let connection: Connection
    private let slots: OwnedSlots
    private let notes: WorkNotes
    private let teller: ReadTeller
    private let log: Log
    private let others: OtherShards?
    private var reach: UntoldStatements.Reach { others == nil ? .all : .shard }
    private var wanted: Set<Slot> = []
    private var isPlanned = false
    private var isRunning = false
    private var droppedBefore = 0

    init(
        _ connection: Connection, slots: OwnedSlots, notes: WorkNotes, _ teller: ReadTeller, log: Log,
        others: OtherShards?
    ) {
        self.connection = connection
        self.slots = slots
        self.notes = notes
        self.teller = teller
        self.log = log
        self.others = others
    }

    /// Whether everything that has to be found is found.
    var isDone: Bool { wanted.isEmpty && !isRunning }

    /// Searches a slot that is owned from now on, or in which there may be unknown commits.
    func look(in slot: Slot) {
        wanted.insert(slot)
        plan(after: Self.patience)
    }

    /// Searches for what was dropped since the last search, once there is room.
    func checkDropped() {
        guard teller.dropped > droppedBefore, teller.count < Self.backlog else { return }
        droppedBefore = teller.dropped
        wanted.formUnion(Slot.all.filter { slots.contains($0) })
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
        let searched = wanted.filter { slots.contains($0) }
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
        guard !searched.isEmpty else { return }
        try await notes.search(
            slots.epochs(of: searched), on: connection,
            noted: { (conversations) async throws(DatabaseError) in try await search(conversations) },
            everything: { (slots) async throws(DatabaseError) in try await searchEverything(slots) })
    }

    // MARK: Noted conversations

    private func search(_ conversations: [ConversationID]) async throws(DatabaseError) {
        var places = conversations.map { UntoldStatements.Place(conversation: $0) }
        while !places.isEmpty {
            await makeRoom()
            let asked = Array(places.prefix(Self.conversationsAtOnce))
            let results = try await connection.transaction { UntoldStatements.add(asked, reach, to: &$0) }
            places.removeFirst(asked.count)
            for (place, rows) in zip(asked, results) {
                let page = try await untold(UntoldStatements.page(rows, of: place, reach))
                take(page)
                // At the front, not the end: the others may be many.
                if let next = page.next { places.insert(next, at: 0) }
            }
        }
    }

    // MARK: All horizons

    private func searchEverything(_ slots: Set<Slot>) async throws(DatabaseError) {
        var place: UntoldStatements.Place? = UntoldStatements.Place.start
        while let from = place {
            await makeRoom()
            let page = try await untold(UntoldStatements.page(slots, behind: from, reach, on: connection))
            try await notes.keep(Set(page.untold.map(\.0.conversation)))
            take(page)
            place = page.next
        }
    }

    private func makeRoom() async {
        while teller.count > Self.backlog { await Reactor.sleep(for: Self.pause) }
    }

    /// On Citus, what of a page was not told by what the owners of the users' slots say.
    private func untold(_ page: UntoldStatements.Page) async throws(DatabaseError) -> UntoldStatements.Page {
        guard let others, !page.untold.isEmpty else { return page }
        var page = page
        let told = try await others.told(of: page.untold.map(\.0))
        page.untold = try await UntoldStatements.untold(page.untold, told, on: connection)
        return page
    }

    private func take(_ page: UntoldStatements.Page) {
        for (key, seq) in page.untold { teller.tell(key, seq) }
        found += page.untold.count
        looked += page.looked
    }
}
