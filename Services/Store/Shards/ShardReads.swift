import Bus
import Bytes
import Models
import Postgres
import Reactor
import Slots
import Wire

/// The reads of one shard on Citus: finds out where the rows of a statement are, borrows what it needs of users, has the parts
/// read where they are, and makes one answer of them (decision 0086).
///
/// What is borrowed is read first. So the rows of conversations are never older than what a user's rows tell of them.
@Reactor
final class ShardReads {
    /// For the answer of another store. Those who asked for it wait for five seconds.
    private static let deadline = Duration.seconds(4)
    /// The most bytes that are borrowed for one part, and that a part may answer with.
    static let byteLimit = 16 * 1024 * 1024
    private static let rowLimit = 200_000

    /// What another store may ask to be run.
    nonisolated static let runnable: [String: Statement] = Dictionary(
        (Queries.statements + Search.statements + [DigestStatement.statement.untyped, NodePosition.statement])
            .map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    nonisolated static let routes: [String: ReadRoute] = runnable.compactMapValues { ReadRoute($0) }
    /// Beside those of queries.
    nonisolated static let statements = UserRowsStatements.all + [NodePosition.statement]

    private let placement: Placement
    private let index: Int
    private let bus: Bus
    private unowned let queries: QueryConnections
    private unowned let searching: QueryConnections
    private let inThisProcess: @Reactor (_ shard: Int) -> ShardReads?
    /// The tables that each statement borrows of, in the order of its parameters.
    private let borrowed: [String: [UserRowsStatements.Table]]

    /// - Parameter inThisProcess: the reads of another shard if this store serves it.
    init(
        _ index: Int, of placement: Placement, _ connections: Queries, bus: Bus,
        inThisProcess: @escaping @Reactor (_ shard: Int) -> ShardReads?
    ) {
        self.placement = placement
        self.index = index
        self.bus = bus
        self.inThisProcess = inThisProcess
        queries = connections.connection
        searching = connections.searching.connection
        let names = placement.shards[index].names
        borrowed = Self.runnable.mapValues { statement in
            names.borrowedTables(of: statement).compactMap { table in
                UserRowsStatements.Table.allCases.first { $0.name == table }
            }
        }
        queries.reads = self
        searching.reads = self
    }

    private func shard(of slot: Slot) -> Int { placement.index(of: slot) }

    // MARK: Transactions

    /// One statement's run in one shard.
    struct Part {
        let shard: Int
        let execution: Execution
        /// In the order of the tables that the statement borrows of.
        var texts: [[UInt8]] = []
        /// The numbers of its rows among those of all parts, from 1.
        var numbers: [Int32] = []
        /// The group of nodes that the shard has to be on.
        var group: Int32?
    }

    func transaction(
        _ executions: [Execution], _ weight: QueryTurns.Weight, by connections: QueryConnections
    ) async throws(DatabaseError) -> [Rows] {
        if executions.allSatisfy(isAllHere) {
            return try await connections.ownTransaction(weight) { batch in
                for execution in executions { batch.execute(execution) }
            }
        }
        var wanted: [[Lend]] = []
        for execution in executions { wanted.append(try await loans(for: execution)) }
        let lent = try await rows(of: wanted.flatMap { $0 })
        var parts: [[Part]] = []
        for (execution, wanted) in zip(executions, wanted) {
            parts.append(try await self.parts(of: execution, wanted, lent))
        }
        let found = try await run(parts.flatMap { $0 }, weight, isSearch: connections === searching)
        var rest = found[...]
        return zip(executions, parts).map { execution, parts in
            defer { rest = rest.dropFirst(parts.count) }
            return merged(Array(zip(parts, rest.prefix(parts.count))), of: execution)
        }
    }

    /// Whether it reads rows of this shard alone, and borrows none.
    private func isAllHere(_ execution: Execution) -> Bool {
        guard borrowed[execution.statement.name]?.isEmpty ?? true else { return false }
        switch route(execution).place {
        case .anywhere: return true
        case .slot(let slot): return shard(of: execution.slot(slot)) == index
        case .slots(let slots, _): return execution.slots(slots).allSatisfy { shard(of: $0) == index }
        case .conversations, .everyShard: return false
        }
    }

    private func route(_ execution: Execution) -> ReadRoute {
        guard let route = Self.routes[execution.statement.name] ?? ReadRoute(execution.statement) else {
            preconditionFailure("\(execution.statement.name) has a route")
        }
        return route
    }

    // MARK: Borrowing

    /// A table and which of its rows.
    struct Lend: Hashable {
        let table: UserRowsStatements.Table
        let loan: Loan
    }

    private func loans(for execution: Execution) async throws(DatabaseError) -> [Lend] {
        var loans = route(execution).loans.map { Lend(table: $0.table, loan: $0.loan(execution)) }
        switch execution.statement.name {
        case "invitation":
            // Whose blocks are looked up: of who made it.
            let inviter = JoinRequestStatements.inviter
            let values = ["slot", "conversation", "code_hash"].map {
                execution.values[execution.statement.parameter($0)!]
            }
            let makers = try await transaction([Execution(inviter.untyped, values: values)], .light, by: queries)[0]
            let users = makers.map { $0[inviter.columns.creatorId] }
            loans = [Lend(table: .blocks, loan: Loan(users, .all))]
        case "profiles":
            let users = execution.users(execution.statement.parameter("users")!)
            let few = Loan.Scope.few(Int64(ProfileStatements.fewConversations))
            loans += [.inbox, .shadowListings].map { Lend(table: $0, loan: Loan(users, few)) }
            loans.append(Lend(table: .profiles, loan: Loan(users, .all)))
        case "changed_conversations":
            if let after = SyncRound.current?.after, let reader = loans.first?.loan.users {
                loans.append(Lend(table: .inbox, loan: Loan(reader, .joined(after: after))))
            }
        default: break
        }
        return loans
    }

    /// What is lent, by what was wanted.
    private func rows(of wanted: [Lend]) async throws(DatabaseError) -> [Lend: [UserRowsAnswer.Group]] {
        var here: [(Lend, Execution)] = [], there: [(shard: Int, lend: Lend, query: UserRowsQuery)] = []
        for lend in Set(wanted) {
            for (shard, users) in Dictionary(grouping: lend.loan.users, by: { self.shard(of: $0.slot) }) {
                let loan = Loan(users, lend.loan.scope)
                if shard == index {
                    here.append((lend, UserRowsStatements.execution(lend.table, loan)))
                } else if let query = UserRowsStatements.query(lend.table, loan) {
                    there.append((shard, lend, query))
                } else {
                    throw .partIsAway("what a user has is read by another shard's owner")
                }
            }
        }
        var lent: [Lend: [UserRowsAnswer.Group]] = [:]
        if !here.isEmpty {
            let results = try await queries.ownTransaction { batch in
                for (_, execution) in here { batch.execute(execution) }
            }
            for ((lend, _), rows) in zip(here, results) { lent[lend, default: []] += UserRowsStatements.groups(rows) }
        }
        if !there.isEmpty {
            let answers = Answers<UserRowsAnswer>(there.count)
            for (place, (shard, _, query)) in there.enumerated() { ask(shard, query) { answers.put($0, at: place) } }
            for ((_, lend, _), answer) in zip(there, try await answers.all()) {
                lent[lend, default: []] += answer.tables.values.flatMap { $0 }
            }
        }
        return lent
    }

    /// The shards in which a user has conversations.
    func shards(of user: UserID) async throws(DatabaseError) -> [Int] {
        let lend = Lend(table: .inbox, loan: Loan([user], .slots))
        let groups = try await rows(of: [lend])[lend] ?? []
        return Set(groups.compactMap(\.slot).map(shard(of:))).sorted()
    }

    private func ask(
        _ shard: Int, _ query: UserRowsQuery,
        _ completion: @escaping @Reactor (Result<UserRowsAnswer, DatabaseError>) -> Void
    ) {
        if let near = inThisProcess(shard) {
            let requester = Requester.current
            Reactor.spawn {
                await requester.run { completion(await near.result(query)) }
            }
            return
        }
        bus.request(.userRows, in: placement.shards[shard].key, deadline: Self.deadline) {
            query.write(to: &$0)
        } completion: { outcome in
            completion(Self.decode(outcome) { reader in try? UserRowsAnswer(from: &reader) })
        }
    }

    private func result(_ query: UserRowsQuery) async -> Result<UserRowsAnswer, DatabaseError> {
        do throws(DatabaseError) { return .success(try await lend(query)) } catch { return .failure(error) }
    }

    /// Answers a request for rows of users of this shard.
    func lend(_ query: UserRowsQuery) async throws(DatabaseError) -> UserRowsAnswer {
        guard query.users.allSatisfy({ shard(of: $0.slot) == index }) else {
            throw .partIsAway("users of other shards were asked for")
        }
        var tables: [UserRowsStatements.Table] = []
        for name in query.tables {
            guard let table = UserRowsStatements.Table.allCases.first(where: { $0.name == name }) else {
                throw .partIsAway("rows of a table that are not lent")
            }
            tables.append(table)
        }
        let scope: Loan.Scope =
            if query.rowsOfUser > 0 {
                .few(Int64(query.rowsOfUser))
            } else if !query.conversations.isEmpty {
                .conversations(query.conversations)
            } else {
                .all
            }
        let results = try await queries.ownTransaction { batch in
            for table in tables { batch.execute(UserRowsStatements.execution(table, Loan(query.users, scope))) }
        }
        var answer = UserRowsAnswer()
        for (table, rows) in zip(tables, results) { answer.tables[table.name] = UserRowsStatements.groups(rows) }
        guard answer.byteCount <= Self.byteLimit else { throw .tooLarge }
        return answer
    }

    // MARK: Parts

    private func parts(
        of execution: Execution, _ wanted: [Lend], _ lent: [Lend: [UserRowsAnswer.Group]]
    ) async throws(DatabaseError) -> [Part] {
        let route = route(execution)
        var execution = execution
        // Which version the reader has is looked at when all parts are there.
        if route.merge == .profiles {
            let versions = execution.statement.parameter("versions")!
            let none = [UInt8](repeating: 0xFF, count: 8)
            execution.values[versions] = PostgresArray.bytes(
                of: execution.statement.parameters[versions], execution.elements(versions).map { _ in none[...] })
        }
        func texts(of shard: Int, _ wanted: [Lend]) -> [[UInt8]] {
            (borrowed[execution.statement.name] ?? []).map { table in
                let groups = wanted.filter { $0.table == table }.flatMap { lent[$0] ?? [] }
                return UserRowsAnswer.joined(
                    groups.filter { group in group.slot.map { self.shard(of: $0) == shard } ?? true }.map(\.text))
            }
        }
        switch route.place {
        case .anywhere: return [Part(shard: index, execution: execution)]
        case .slot(let slot):
            // Rows that have no conversation to go by go to where the statement runs.
            let shard = shard(of: execution.slot(slot))
            return [Part(shard: shard, execution: execution, texts: texts(of: shard, wanted))]
        case .slots(let slots, let arrays):
            let places = Dictionary(grouping: execution.slots(slots).enumerated(), by: { shard(of: $0.element) })
            guard !places.isEmpty else {
                return [Part(shard: index, execution: execution, texts: texts(of: index, wanted))]
            }
            return places.sorted { $0.key < $1.key }.map { shard, places in
                Part(
                    shard: shard, execution: execution.cut(arrays, to: places.map(\.offset)),
                    texts: texts(of: shard, wanted),
                    numbers: places.map { Int32($0.offset + 1) })
            }
        case .everyShard: return placement.shards.indices.map { Part(shard: $0, execution: execution) }
        case .conversations(let tables):
            var shards = Set(
                wanted.filter { lend in tables.contains(lend.table) && lend.loan == wanted[0].loan }
                    .flatMap { lent[$0] ?? [] }.compactMap(\.slot).map(shard(of:)))
            // Somebody has to say that there is nothing.
            if shards.isEmpty { shards = [index] }
            if execution.statement.name == "changed_conversations", let round = SyncRound.current {
                return changes(execution, round, shards.sorted(), wanted, texts)
            }
            return shards.sorted().map { Part(shard: $0, execution: execution, texts: texts(of: $0, wanted)) }
        }
    }

    /// What has changed since a round of `sync`, by the transactions of each node; and what the user has come into since then:
    /// their own rows are committed later than the conversation's, on another node, so the latter may be older than the round.
    private func changes(
        _ execution: Execution, _ round: SyncRound, _ shards: [Int], _ wanted: [Lend],
        _ texts: (Int, [Lend]) -> [[UInt8]]
    ) -> [Part] {
        let transaction = execution.statement.parameter("transaction")!
        func part(_ shard: Int, since number: Int64, _ wanted: Lend) -> Part? {
            var execution = execution
            execution.values[transaction] = withUnsafeBytes(of: number.bigEndian) { Array($0) }
            return Part(shard: shard, execution: execution, texts: texts(shard, [wanted]), group: round.groups[shard])
        }
        return shards.flatMap { shard -> [Part] in
            let since = round.groups[shard].flatMap { round.since[$0] } ?? 0
            let all = part(shard, since: since, wanted[0])
            // Where all are due, those are among them.
            guard since > 0, wanted.count > 1 else { return [all].compactMap { $0 } }
            return [all, part(shard, since: 0, wanted[1])].compactMap { $0 }
        }
    }

    // MARK: Running

    /// Runs all parts of one shard in one transaction, and the shards side by side.
    func run(_ parts: [Part], _ weight: QueryTurns.Weight, isSearch: Bool) async throws(DatabaseError) -> [Rows] {
        let shards = Dictionary(grouping: parts.indices, by: { parts[$0].shard })
        let answers = Answers<[Rows]>(shards.count)
        let order = shards.keys.sorted()
        let requester = Requester.current
        for (place, shard) in order.enumerated() where shard != index {
            let parts = shards[shard]!.map { parts[$0] }
            guard parts.reduce(0, { $0 + $1.texts.reduce(0) { $0 + $1.count } }) <= Self.byteLimit else {
                throw .tooLarge
            }
            if let near = inThisProcess(shard) {
                Reactor.spawn {
                    await requester.run { answers.put(await near.result(parts, weight, isSearch: isSearch), at: place) }
                }
            } else {
                ask(shard, parts, weight, isSearch: isSearch) { answers.put($0, at: place) }
            }
        }
        if let place = order.firstIndex(of: index) {
            let parts = shards[index]!.map { parts[$0] }
            answers.put(await result(parts, weight, isSearch: isSearch), at: place)
        }
        var found: [Rows?] = Array(repeating: nil, count: parts.count)
        for (shard, rows) in zip(order, try await answers.all()) {
            for (part, rows) in zip(shards[shard]!, rows) { found[part] = rows }
        }
        return found.map { $0! }
    }

    private func result(
        _ parts: [Part], _ weight: QueryTurns.Weight, isSearch: Bool
    ) async -> Result<[Rows], DatabaseError> {
        let group = parts.lazy.compactMap(\.group).first
        do throws(DatabaseError) {
            let rows = try await (isSearch ? searching : queries).ownTransaction(weight) { batch in
                if group != nil { batch.execute(NodePosition.statement) }
                for part in parts { batch.execute(part.execution, borrowing: part.texts) }
            }
            return Self.checked(rows, group)
        } catch { return .failure(error) }
    }

    /// Whether the shard was on the node by whose numbers it was asked.
    private static func checked(_ rows: [Rows], _ group: Int32?) -> Result<[Rows], DatabaseError> {
        guard let group else { return .success(rows) }
        guard let first = rows.first?.first, first[0] as Int32 == group else {
            return .failure(.partIsAway("the shard has moved meanwhile"))
        }
        return .success(Array(rows.dropFirst()))
    }

    private func ask(
        _ shard: Int, _ parts: [Part], _ weight: QueryTurns.Weight, isSearch: Bool,
        _ completion: @escaping @Reactor (Result<[Rows], DatabaseError>) -> Void
    ) {
        let group = parts.lazy.compactMap(\.group).first
        var texts: [[UInt8]] = [], places: [[UInt8]: Int] = [:]
        var runs = parts.map { part in
            StatementQuery.Run(
                part.execution.statement.name, values: part.execution.values,
                borrowed: part.texts.map { text in
                    if let place = places[text] { return place }
                    places[text] = texts.count
                    texts.append(text)
                    return texts.count - 1
                })
        }
        if group != nil { runs.insert(.init(NodePosition.statement.name, values: []), at: 0) }
        let query = StatementQuery(
            runs, for: Requester.current.inQuery, texts: texts, isHeavy: weight == .heavy, isSearch: isSearch)
        bus.request(.statement, in: placement.shards[shard].key, deadline: Self.deadline) {
            query.write(to: &$0)
        } completion: { outcome in
            let answer = Self.decode(outcome) { reader in try? StatementAnswer(from: &reader) }
            completion(answer.flatMap { Self.rows($0, count: runs.count) }.flatMap { Self.checked($0, group) })
        }
    }

    private static func decode<Answer>(
        _ outcome: RequestOutcome, _ read: (inout ByteReader) -> Answer?
    ) -> Result<Answer, DatabaseError> {
        guard case .response(let response) = outcome else { return .failure(.partIsAway("nobody answers for a shard")) }
        var reader = ByteReader(response.payload.bytes)
        guard response.status == 200, let answer = read(&reader) else {
            return .failure(.partIsAway("a shard is not read at the moment"))
        }
        return .success(answer)
    }

    private static func rows(_ answer: StatementAnswer, count: Int) -> Result<[Rows], DatabaseError> {
        guard answer.errorCode.isEmpty else {
            return .failure(DatabaseError(SQLState(rawValue: answer.errorCode), "in another shard"))
        }
        return answer.rows.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes), rows: [Rows] = []
            for _ in 0..<count {
                guard let part = Rows(from: &reader, limit: rowLimit) else {
                    return .failure(.partIsAway("the rows of a shard cannot be read"))
                }
                rows.append(part)
            }
            return .success(rows)
        }
    }

    /// Answers a request to run statements in this shard.
    func answer(_ query: StatementQuery) async throws(DatabaseError) -> StatementAnswer {
        var executions: [(Execution, [[UInt8]])] = []
        for run in query.runs {
            guard let statement = Self.runnable[run.statement], run.values.count == statement.parameters.count,
                run.borrowed.count == borrowed[run.statement]?.count
            else { throw .partIsAway("a statement that another store does not run") }
            executions.append((Execution(statement, values: run.values), run.borrowed.map { query.texts[$0] }))
        }
        let connections = query.isSearch ? searching : queries
        let rows: [Rows]
        do throws(DatabaseError) {
            rows = try await connections.ownTransaction(query.isHeavy ? .heavy : .light) { batch in
                for (execution, texts) in executions { batch.execute(execution, borrowing: texts) }
            }
        } catch {
            // Who asked decides about what PostgreSQL says; what is wrong with the connection may be better in a moment.
            guard error.sqlState == .queryCanceled else { throw error }
            return StatementAnswer(errorCode: error.sqlState.rawValue)
        }
        var buffer = ByteBuffer()
        for rows in rows {
            rows.write(to: &buffer)
            guard buffer.count <= Self.byteLimit else { throw .tooLarge }
            // A part may have thousands of rows.
            await Reactor.sleep(for: .zero)
        }
        return StatementAnswer(rows: buffer.array)
    }

    // MARK: Merging

    private func merged(_ found: [(Part, Rows)], of execution: Execution) -> Rows {
        let route = route(execution)
        if case .numbered(let column) = route.merge {
            let parts = found.flatMap { part, rows in
                Array(part.numbers.isEmpty ? rows : rows.renumbered(column) { part.numbers[Int($0) - 1] })
            }
            return Rows(parts)
        }
        guard found.count > 1 || route.merge == .profiles else { return found[0].1 }
        return Rows(route.merge.merged(found.map(\.1), of: execution))
    }
}

extension ReadRoute.Merge {
    func merged(_ parts: [Rows], of execution: Execution) -> [Row] {
        let rows = parts.flatMap { Array($0) }
        switch self {
        case .all, .numbered: return rows
        case .atMost(let count): return Array(rows.prefix(count))
        case .present(let column):
            let found = rows.filter { !$0.isNull(column) }
            return found.isEmpty ? Array(rows.prefix(1)) : found
        case .ordered(let order, let limit):
            let found = rows.filter { !$0.isNull(order[0].column) }
            guard !found.isEmpty else { return Array(rows.prefix(1)) }
            let sorted = found.sorted { Self.precedes($0, $1, order) }
            // Parts may overlap (`SyncRound`), and then have the same rows.
            let distinct = sorted.enumerated().filter { place, row in
                place == 0 || Self.precedes(sorted[place - 1], row, order)
            }
            let most = limit.map { Int(execution.number($0)) } ?? .max
            return distinct.prefix(most).map(\.element)
        case .found: return Self.found(rows, of: execution)
        case .profiles: return Self.profiles(rows, of: execution)
        }
    }

    private static func precedes(_ one: Row, _ other: Row, _ order: [ReadRoute.Order]) -> Bool {
        for column in order {
            // Positions and times are not negative here, and identifiers are compared by their bytes.
            guard let left = one.rawValue(column.column), let right = other.rawValue(column.column) else {
                return false
            }
            if left.elementsEqual(right) { continue }
            return left.lexicographicallyPrecedes(right) != column.descends
        }
        return false
    }

    /// The first results of the index, and of texts that are not indexed the newest that one search examines.
    private static func found(_ rows: [Row], of execution: Execution) -> [Row] {
        let statement = execution.statement, columns = SearchStatements.columns
        let order = ["created_at", "conversation_id", "seq"].map {
            ReadRoute.Order(column: statement.column($0), descends: true)
        }
        let sorted = rows.filter { $0[columns.conversationId] != nil }.sorted { precedes($0, $1, order) }
        guard !sorted.isEmpty else { return Array(rows.prefix(1)) }
        let limit = Int(execution.number(statement.parameter("limit")!)), body = statement.column("body")
        var indexed = 0, texts = 0, bytes = 0
        return sorted.filter { row in
            guard !SearchStatements.isIndexed(row) else {
                indexed += 1
                return indexed <= limit
            }
            defer {
                texts += 1
                bytes += row.rawValue(body)?.count ?? 0
            }
            return texts < SearchStatements.unindexedLimit && bytes < SearchStatements.unindexedBytes
        }
    }

    /// A user whom the reader may read anywhere is read.
    private static func profiles(_ rows: [Row], of execution: Execution) -> [Row] {
        let statement = execution.statement
        let user = ProfileStatements.profiles.columns.userId, version = ProfileStatements.profiles.columns.version
        var latest: [UserID: Row] = [:]
        for row in rows {
            if let known = latest[row[user]], known[version] >= row[version] { continue }
            latest[row[user]] = row
        }
        let users = execution.users(statement.parameter("users")!)
        let versions = execution.elements(statement.parameter("versions")!).map { element in
            element.withUnsafeBytes { Int64(decoding: $0) }
        }
        return zip(users, versions).compactMap { user, known in
            latest[user].flatMap { $0[version] == known ? nil : $0 }
        }
    }
}

/// The answers of several shards, of which each comes in its time. The first failure is the answer to all.
@Reactor
private final class Answers<Answer: Sendable> {
    private var answers: [Answer?]
    private var missing: Int
    private var failure: DatabaseError?
    private var continuation: UnsafeContinuation<Void, Never>?

    init(_ count: Int) {
        answers = Array(repeating: nil, count: count)
        missing = count
    }

    func put(_ answer: Result<Answer, DatabaseError>, at place: Int) {
        switch answer {
        case .success(let answer): answers[place] = answer
        case .failure(let error): failure = failure ?? error
        }
        missing -= 1
        if missing == 0 || failure != nil {
            continuation?.resume()
            continuation = nil
        }
    }

    func all() async throws(DatabaseError) -> [Answer] {
        if missing > 0, failure == nil { await withUnsafeContinuation { continuation = $0 } }
        if let failure { throw failure }
        return answers.map { $0! }
    }
}

extension UserRowsAnswer {
    var byteCount: Int { tables.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.text.count } } }
}

extension SQLState {
    /// Of Parley: a part of what is asked for is in a shard that nobody reads at the moment.
    static let partIsAway = SQLState(rawValue: "PY003")
    /// `program_limit_exceeded`
    static let tooLarge = SQLState(rawValue: "54000")
}

extension DatabaseError {
    static func partIsAway(_ reason: String) -> DatabaseError { DatabaseError(.partIsAway, reason) }
    static let tooLarge = DatabaseError(.tooLarge, "too much is read at once")
}

extension Problem {
    /// What a query is answered with if it failed for good; nil: it may be repeated at once.
    init?(ofQuery error: DatabaseError) {
        switch error.sqlState {
        case .partIsAway: self.init(.unavailable, "a part of the database is not read at the moment")
        case .tooLarge: self.init(.unavailable, "more is asked for than can be read at once")
        default: return nil
        }
    }
}

extension Queries {
    /// `StatementAnswer`
    func statement(_ query: StatementQuery) async throws -> [UInt8] {
        guard let reads = connection.reads else { throw Problem.slotsAreTogether }
        let answer = try await reads.answer(query)
        var buffer = ByteBuffer(capacity: answer.rows.count + 8)
        answer.write(to: &buffer)
        return buffer.array
    }

    /// `UserRowsAnswer`
    func userRows(_ query: UserRowsQuery) async throws -> [UInt8] {
        guard let reads = connection.reads else { throw Problem.slotsAreTogether }
        let answer = try await reads.lend(query)
        var buffer = ByteBuffer(capacity: answer.byteCount + 1024)
        answer.write(to: &buffer)
        return buffer.array
    }
}

extension Problem {
    fileprivate static let slotsAreTogether = Problem(.unavailable, "the slots of this database are together")
}
