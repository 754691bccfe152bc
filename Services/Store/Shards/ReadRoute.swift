import Models
import Postgres

/// How a statement that reads runs on a database whose slots are in several shards: where its rows are, and how the rows of
/// its parts become one answer. It follows from the parameters and the tables of a statement; those that differ are listed
/// here.
struct ReadRoute: Sendable {
    enum Place: Sendable, Equatable {
        /// Nothing that it reads is distributed.
        case anywhere
        /// All that it reads, but what it borrows, has the slot in this parameter.
        case slot(Int)
        /// Each element of these arrays is of the slot beside it in the first. Slots of several shards: several parts.
        case slots(Int, arrays: [Int])
        /// In the shards in which the user has conversations: the slots of what these tables lend.
        case conversations([UserRowsStatements.Table])
        /// Whoever may have any: all shards are asked.
        case everyShard
    }

    /// What becomes of the rows of several parts.
    enum Merge: Sendable, Equatable {
        /// All of them, in no order.
        case all
        /// All of them, with the number in this column counted over all parts.
        case numbered(Int)
        /// All of them. A row without this column says that a part has none.
        case present(Int)
        /// In order, and no more than this parameter says. Rows without the first column stand for nothing found.
        case ordered([Order], limit: Int?)
        /// No more than a number.
        case atMost(Int)
        /// By the rules of `Search`.
        case found
        /// The most that a reader may see of each user.
        case profiles
    }

    struct Order: Sendable, Equatable {
        let column: Int
        var descends = false
    }

    let place: Place
    var merge = Merge.all
    /// Of which tables rows are borrowed, in order.
    var loans: [Borrowed] = []

    struct Borrowed: Sendable {
        let table: UserRowsStatements.Table
        let loan: @Sendable (Execution) -> Loan
    }

    /// Nil: nobody has thought of such a statement.
    init?(_ statement: Statement) {
        let special = Self.special(statement)
        guard let place = special?.place ?? Self.place(statement) else { return nil }
        self.place = place
        if let special {
            merge = special.merge
            loans = special.loans.sorted { $0.table.name < $1.table.name }
        } else if let column = statement.columnFields.firstIndex(where: { $0.name == "place" }), place.isOfArrays {
            merge = .numbered(column)
        }
    }

    private init(
        _ place: Place, _ merge: Merge,
        _ loans: KeyValuePairs<UserRowsStatements.Table, @Sendable (Execution) -> Loan>
    ) {
        self.place = place
        self.merge = merge
        self.loans = loans.map { Borrowed(table: $0, loan: $1) }
    }

    // MARK: By parameters

    private static func place(_ statement: Statement) -> Place? {
        if let slot = statement.parameter("slot") ?? statement.parameter("user_slot") { return .slot(slot) }
        guard let slots = statement.parameter("slots") else { return nil }
        let arrays = statement.parameterFields.indices.filter { statement.parameters[$0].isArray }
        return .slots(slots, arrays: arrays)
    }

    // MARK: Those that differ

    private static func special(_ statement: Statement) -> ReadRoute? {
        func column(_ name: String) -> Int { statement.column(name) }
        func limit() -> Int { statement.parameter("limit")! }
        let ofReader = reader(statement), ofUser = user(statement)
        switch statement.name {
        // What no shard has, and what all have.
        case "has_media", NodePosition.statement.name: return ReadRoute(.anywhere, .all, [:])
        // An erasure looks for what is left of a user, whose name may be anywhere.
        case "next_block", "next_join_request", "next_mention": return ReadRoute(.everyShard, .all, [:])

        // In the conversation's slot, with what its reader keeps about it.
        case "conversation_settings":
            return ReadRoute(.slot(statement.parameter("slot")!), .all, [.userSettings: { ofUser($0, .all) }])
        case "search_one":
            let conversation = statement.parameter("conversation")!
            return ReadRoute(
                .slot(statement.parameter("slot")!), .all,
                [.inbox: { ofReader($0, .conversations([$0.conversation(conversation)])) }])
        case "digest":
            return ReadRoute(.slot(statement.parameter("slot")!), .all, [.userStreams: { ofReader($0, .all) }])
        // The blocks of who made it: `ShardReads` looks up who that is.
        case "invitation":
            return ReadRoute(.slot(statement.parameter("slot")!), .all, [.blocks: { _ in Loan([], .all) }])
        case "conversations":
            let conversations = statement.parameter("conversations")!
            return ReadRoute(
                .slots(statement.parameter("slots")!, arrays: [statement.parameter("slots")!, conversations]), .all,
                [.inbox: { ofReader($0, .conversations($0.conversations(conversations))) }])

        // Wherever the user has conversations.
        case "list_conversations":
            let order = [
                Order(column: column("shown_at"), descends: true),
                Order(column: column("conversation_id"), descends: true),
            ]
            return ReadRoute(
                .conversations([.inbox]), .ordered(order, limit: limit()), [.inbox: { ofReader($0, .all) }])
        case "changed_conversations":
            return ReadRoute(
                .conversations([.inbox]), .ordered([Order(column: column("conversation_id"))], limit: limit()),
                [.inbox: { ofReader($0, .all) }])
        case "search": return ReadRoute(.conversations([.inbox]), .found, [.inbox: { ofReader($0, .all) }])
        case "bootstrap":
            return ReadRoute(
                .conversations([.inbox]), .present(column("conversation_id")),
                [
                    .inbox: { ofUser($0, .all) }, .userChanges: { ofUser($0, .first) },
                    .userSettings: { ofUser($0, .all) },
                    .userStreams: { ofUser($0, .all) },
                ])
        case "private_feed":
            let after = statement.parameter("after")!, limit = limit()
            let fed: @Sendable (Execution) -> Loan = {
                ofUser($0, .fed(after: $0.number(after), limit: $0.number(limit)))
            }
            return ReadRoute(
                .conversations([.userChanges]), .ordered([Order(column: column("useq"))], limit: nil),
                [
                    .inbox: fed, .profiles: { ofUser($0, .all) }, .scheduled: fed, .userChanges: fed,
                    .userSettings: { ofUser($0, .all) }, .userStreams: { ofUser($0, .all) },
                ])
        case "requests":
            let order = [
                Order(column: column("at"), descends: true), Order(column: column("conversation_id"), descends: true),
            ]
            return ReadRoute(
                .conversations([.requests]), .ordered(order, limit: nil), [.requests: { ofUser($0, .shown) }])
        case "profile_audience":
            return ReadRoute(
                .conversations([.inbox, .shadowListings]), .atMost(ProfileStatements.audienceLimit),
                [.inbox: { ofUser($0, .all) }, .shadowListings: { ofUser($0, .all) }])
        // Of the reader the conversations, of those who are asked for these and their profiles: `ShardReads` adds them.
        case "profiles":
            return ReadRoute(
                .conversations([.inbox, .requests]), .profiles,
                [
                    .inbox: { ofUser($0, .all) }, .profiles: { ofUser($0, .all) }, .requests: { ofUser($0, .all) },
                    .shadowListings: { _ in Loan([], .all) },
                ])
        default: return nil
        }
    }

    private static func reader(_ statement: Statement) -> @Sendable (Execution, Loan.Scope) -> Loan {
        let reader = statement.parameter("reader")
        return { Loan([$0.user(reader!)], $1) }
    }

    private static func user(_ statement: Statement) -> @Sendable (Execution, Loan.Scope) -> Loan {
        let user = statement.parameter("user")
        return { Loan([$0.user(user!)], $1) }
    }
}

extension ReadRoute.Place {
    fileprivate var isOfArrays: Bool {
        if case .slots = self { true } else { false }
    }
}

/// Which rows of a table of users are borrowed.
struct Loan: Hashable, Sendable {
    enum Scope: Hashable, Sendable {
        case all
        case conversations([ConversationID])
        /// Of each user no more than that many.
        case few(Int64)
        /// Of each slot one row, without what it says.
        case slots
        /// The first private change.
        case first
        /// Of private changes behind a position, as many as that; and of other tables what these are about.
        case fed(after: Int64, limit: Int64)
        /// Of the list what the private changes behind a position say that the user has come into.
        case joined(after: Int64)
        /// Of requests those that are shown.
        case shown
    }

    var users: [UserID]
    var scope: Scope

    init(_ users: [UserID], _ scope: Scope) {
        self.users = users
        self.scope = scope
    }
}

// MARK: Parameters

extension Statement {
    func parameter(_ name: String) -> Int? { parameterFields.firstIndex { $0.name == name } }

    func column(_ name: String) -> Int {
        guard let column = columnFields.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("\(self.name) has a column \(name)")
        }
        return column
    }
}

extension Execution {
    func slot(_ parameter: Int) -> Slot { scalar(parameter) }
    func number(_ parameter: Int) -> Int64 { scalar(parameter) }
    func user(_ parameter: Int) -> UserID { scalar(parameter) }
    func conversation(_ parameter: Int) -> ConversationID { scalar(parameter) }
    func conversations(_ parameter: Int) -> [ConversationID] { elements(parameter).map { $0.value() } }
    func slots(_ parameter: Int) -> [Slot] { elements(parameter).map { $0.value() } }
    func users(_ parameter: Int) -> [UserID] { elements(parameter).map { $0.value() } }

    private func scalar<Value: PostgresValue>(_ parameter: Int) -> Value {
        guard let bytes = values[parameter] else { preconditionFailure("the parameter is not NULL") }
        return bytes.withUnsafeBytes { Value(decoding: $0) }
    }

    /// The elements of an array parameter, none of which is NULL.
    func elements(_ parameter: Int) -> [ArraySlice<UInt8>] {
        guard let bytes = values[parameter] else { return [] }
        return PostgresArray.elements(bytes)
    }

    /// The execution with some elements of its arrays only.
    func cut(_ arrays: [Int], to places: [Int]) -> Execution {
        var cut = self
        for array in arrays {
            let elements = elements(array)
            cut.values[array] = PostgresArray.bytes(of: statement.parameters[array], places.map { elements[$0] })
        }
        return cut
    }
}

extension ArraySlice<UInt8> {
    fileprivate func value<Value: PostgresValue>() -> Value { withUnsafeBytes { Value(decoding: $0) } }
}
