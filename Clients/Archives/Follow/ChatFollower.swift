import Foundation
import Models
import ParleyStorage

/// Follows a `chat.db`: says what has happened in it since it was imported, and remembers what of that is done.
///
/// It reads and writes files, so it is an actor of its own; nothing here waits for the network. A piece of work is
/// planned in one snapshot of the source, from a bounded number of rows.
package actor ChatFollower {
    private let source: ChatSource
    private let state: FollowState
    private let me: UserID
    private let copy: String
    private let clock: @Sendable () -> Timestamp

    private var search: RowSearch
    private var chats: FollowedChats?
    package private(set) var report = ArchiveReport()

    private static let rowsPerTurn = 200
    private static let recentRows = 1_000
    private static let latestRows = 500
    private static let oldRows = 2_000
    private static let conversationsPerTurn = 100

    /// - Parameter directory: where the state is kept, and a copy of the file while that is imported.
    package init(
        path: String, me: UserID, directory: String, clock: @escaping @Sendable () -> Timestamp
    ) throws {
        source = ChatSource(path: path)
        state = try FollowState(path: directory + "/follow.db")
        copy = directory + "/chat.db"
        self.me = me
        self.clock = clock
        search = RowSearch(lastRow: try state.lastRow())
    }

    // MARK: The import before

    /// The copy that is to be imported; nil when that was done. It stays as it is until then, however often the import is
    /// interrupted.
    package func archive() throws -> ChatArchive? {
        guard try !state.isImported() else { return nil }
        let began = try state.began(clock())
        if !FileManager.default.fileExists(atPath: copy) { try source.copy(to: copy) }
        return ChatArchive(path: copy, me: me, now: began)
    }

    private func noteLater(_ rows: [Int64]) throws {
        try state.write { () throws(StorageError) in
            for row in rows { try state.noteLater(row: row) }
        }
    }

    /// The import is complete.
    ///
    /// - Parameter laterRows: rows of conversations that had been imported before. What they hold goes in live.
    package func noteImported(laterRows: [Int64]) throws {
        try noteLater(laterRows)
        let last = try Self.seed(state, from: copy, me: me, now: try state.began(clock()))
        search = RowSearch(lastRow: last)
        try FileManager.default.removeItem(atPath: copy)
    }

    private static func seed(_ state: FollowState, from copy: String, me: UserID, now: Timestamp) throws -> Int64 {
        let database = try ChatDatabase(path: copy)
        return try state.writeAll {
            try database.snapshot {
                var seed = try FollowSeed(database, state, me: me, now: now)
                let last = try seed.note()
                try state.noteImported(lastRow: last)
                return last
            }
        }
    }

    // MARK: What is new

    /// What there is to do now. All of the turn before is done, or given up with the process.
    package func next() throws -> FollowTurn {
        try look()
        if try search.lastRow != state.lastRow() { try state.note(lastRow: search.lastRow) }
        return try source.snapshot { database in
            if chats == nil { chats = try FollowedChats(database, state, me: me) }
            while let slice = search.next {
                let work = try plan(slice, database)
                if !work.isEmpty { return .work(work) }
                if case .old = slice { break }
            }
            let due = try dueWork()
            if !due.isEmpty { return .work(due) }
            return search.next == nil ? .idle : .looking
        }
    }

    /// Something could not be read or noted: what was on its way is found again.
    package func beginAgain() { search.begin() }

    private func look() throws {
        let change = try source.change()
        guard change != .none else { return }
        chats = nil
        guard change == .opened else { return search.begin() }
        let highest = try source.snapshot { database in
            try database.sqlite.first("SELECT max(ROWID) FROM message") { $0.integer(0) } ?? 0
        }
        search.begin(highestRow: highest)
    }

    /// A step has its results.
    ///
    /// - Parameter seq: the position of its message.
    package func done(_ step: FollowStep, at seq: Int64?) throws {
        let note = step.note
        report.add(note.report)
        try state.write { () throws(StorageError) in try store(note, seq) }
    }

    private func store(_ note: FollowNote, _ seq: Int64?) throws(StorageError) {
        if let row = note.row { try state.note(row.row, of: row.id) }
        guard let id = note.conversation else { return }
        if let created = note.created { try state.note(created, of: id) }
        for chat in note.chats { try state.note(id, ofChat: chat) }
        if let message = note.message, let seq {
            try state.note(sent: message.id, date: message.date, at: seq, in: id)
        }
        for (kind, horizon) in note.horizons { try state.move(kind, to: horizon, in: id) }
        if let kind = note.receipts { try state.note(told: kind, through: seq, in: id) }
        if let title = note.title { try state.note(title: title, of: id) }
        if let members = note.members { try state.note(members: members, of: id) }
        if let change = note.change, change.user != me { try state.note(change, in: id) }
        if let isDue = note.isDue { try state.note(isDue: isDue, id) }
    }

    // MARK: Rows

    private func plan(_ slice: RowSearch.Slice, _ database: ChatDatabase) throws -> [FollowWork] {
        let (glances, isEnd) = try glances(slice, database)
        var changed: [(RowGlance, FollowState.Row?)] = []
        var seen: Set<Int64> = []
        var count = 0
        for glance in glances {
            guard changed.count < Self.rowsPerTurn else { break }
            count += 1
            guard seen.insert(glance.row).inserted else { continue }
            let known = try state.row(glance.id)
            if known?.signature != glance.signature { changed.append((glance, known)) }
        }
        let last = count == 0 ? nil : glances[count - 1].row
        search.took(slice, through: last, isComplete: count == glances.count, isEnd: isEnd)
        return try work(changed, database)
    }

    private func glances(
        _ slice: RowSearch.Slice, _ database: ChatDatabase
    ) throws -> (glances: [RowGlance], isEnd: Bool) {
        let columns = "SELECT \(RowGlance.columns(database)) FROM message"
        func rows(after row: Int64, _ limit: Int) throws -> (glances: [RowGlance], isEnd: Bool) {
            let glances = try database.sqlite.all(
                "\(columns) WHERE ROWID > ? ORDER BY ROWID LIMIT ?", row, limit, read: RowGlance.init)
            return (glances, glances.count < limit)
        }
        switch slice {
        case .new(let row): return try rows(after: row, Self.rowsPerTurn)
        case .old(let row): return try rows(after: row, Self.oldRows)
        case .recent:
            let last = try database.sqlite.all(
                "\(columns) ORDER BY ROWID DESC LIMIT ?", Self.recentRows, read: RowGlance.init)
            let latest = try database.sqlite.all(
                "\(columns) ORDER BY \(database.column("message", "date")) DESC LIMIT ?", Self.latestRows,
                read: RowGlance.init)
            return (last + latest, true)
        }
    }

    /// The changed rows, by conversation and in the order of their dates.
    private func work(_ changed: [(RowGlance, FollowState.Row?)], _ database: ChatDatabase) throws -> [FollowWork] {
        guard !changed.isEmpty, let chats else { return [] }
        var work: [FollowWork] = []
        var places: [ConversationID: Int] = [:]
        var planner = RowPlanner(database, state, chats, now: clock())
        for (glance, known) in changed.sorted(by: { ($0.0.nanoseconds, $0.0.row) < ($1.0.nanoseconds, $1.0.row) }) {
            for (conversation, step) in try planner.steps(glance, known) {
                let index = places[conversation.id] ?? work.count
                if index == work.count {
                    work.append(
                        FollowWork(conversation: conversation.id, isGroup: conversation.chat.isGroup, steps: []))
                    places[conversation.id] = index
                    if let creation = try planner.creation(of: conversation) { work[index].steps.append(creation) }
                }
                work[index].steps.append(step)
            }
            if planner.homeless.isEmpty { continue }
            for step in planner.homeless { try done(step, at: nil) }
            planner.homeless = []
        }
        return work
    }

    // MARK: What is due

    /// Receipts, and members and titles that the source shows without having said so in a row.
    private func dueWork() throws -> [FollowWork] {
        guard let chats else { return [] }
        var work: [FollowWork] = []
        let byID = Dictionary(chats.all.map { ($0.id, $0) }) { first, _ in first }
        for id in try state.due(limit: Self.conversationsPerTurn) {
            guard let conversation = byID[id], let known = try state.conversation(id) else {
                try state.note(isDue: false, id)
                continue
            }
            let steps = try DueReceipts(state, conversation, known, me: me).steps()
            work.append(FollowWork(conversation: id, isGroup: conversation.chat.isGroup, steps: steps))
        }
        return work.isEmpty ? try changedGroups(chats) : work
    }

    private func changedGroups(_ chats: FollowedChats) throws -> [FollowWork] {
        var work: [FollowWork] = []
        for conversation in chats.all where conversation.chat.isGroup && work.count < Self.conversationsPerTurn {
            guard let known = try state.conversation(conversation.id) else { continue }
            let steps = ChangedGroup(conversation, known, me: me).steps
            guard !steps.isEmpty else { continue }
            work.append(FollowWork(conversation: conversation.id, isGroup: true, steps: steps))
        }
        return work
    }
}
