import Bus
import Bytes
import Models
import Postgres
import Reactor
import Slots
import Wire

/// The erasure of one user, piece by piece. The next piece is read from the database each time, so the erasure can stop
/// anywhere and any store can continue it.
@Reactor
struct UserErasure {
    /// A temporary failure. The step is to be retried.
    struct Delay: Error {
        let reason: String
    }

    private static let deadline = Duration.seconds(5)

    private let user: UserID
    private let bus: Bus
    private let connection: QueryConnections

    init(_ user: UserID, bus: Bus, connection: QueryConnections) {
        self.user = user
        self.bus = bus
        self.connection = connection
    }

    /// Erases the user's data in one conversation. When no conversation is left, erases a piece of the remaining data.
    ///
    /// - Returns: whether the user is erased.
    func advance() async throws(Delay) -> Bool {
        if let conversation = try await nextListing() {
            try await complete(.leave(conversation))
            try await eraseContent(of: conversation, after: 0)
            try await complete(.stays(conversation))
            // After the stays: without them no new receipts are stored.
            try await eraseReceipts(in: conversation)
            try await complete(.listing(conversation))
            return false
        }
        if let conversation = try await nextJoinRequest() {
            try await complete(.stays(conversation))
            return false
        }
        if let (conversation, after) = try await nextMention() {
            try await eraseContent(of: conversation, after: after)
            return false
        }
        if let blocker = try await nextBlock() {
            try await complete(.block(of: blocker))
            return false
        }
        try await eraseMedia()
        return try await ask(.remains) == 0
    }

    // MARK: Steps

    private func complete(_ part: EraseStep.Part) async throws(Delay) {
        while try await ask(part) != 0 {}
    }

    private func eraseContent(of conversation: ConversationID, after start: Int64) async throws(Delay) {
        var after = start
        repeat { after = try await ask(.content(conversation, after: after)) } while after != 0
    }

    /// - Returns: the position where the part continues.
    private func ask(_ part: EraseStep.Part) async throws(Delay) -> Int64 {
        let step = EraseStep(user, part)
        let start = MonotonicTime.now
        let outcome = await bus.request(.eraseStep, in: step.slot, deadline: Self.deadline) { step.write(to: &$0) }
        guard case .response(let response) = outcome, response.status == 200 else {
            throw Delay(reason: "no store carries out a step")
        }
        // Rests for as long as the step took, so others get at least half of the time.
        await Reactor.sleep(for: .now - start)
        var reader = ByteReader(response.payload.bytes)
        guard let next = try? reader.number(Int64.self) else { throw Delay(reason: "the response cannot be read") }
        return next
    }

    private func eraseReceipts(in conversation: ConversationID) async throws(Delay) {
        let request = EraseReceipts(conversation, of: user)
        while true {
            let outcome = await bus.request(
                ReceiptRequestKind.erase, in: conversation.slot, deadline: Self.deadline
            ) { request.write(to: &$0) }
            guard case .response(let response) = outcome, response.status < 300 else {
                throw Delay(reason: "no receipt service erases receipts")
            }
            if response.status == 204 { return }
        }
    }

    /// After the messages: what they carried is uploaded by their sender, and nothing is carried by others' messages.
    private func eraseMedia() async throws(Delay) {
        guard try await query(MediaStatements.hasMedia, { _, _ in }).first?[Self.hasMedia] == true else { return }
        let request = EraseMedia(of: user)
        while true {
            let outcome = await bus.request(.erase, of: user, deadline: Self.deadline) { request.write(to: &$0) }
            guard case .response(let response) = outcome, response.status < 300 else {
                throw Delay(reason: "no media service erases uploads")
            }
            if response.status == 204 { return }
        }
    }

    private static var hasMedia: Column<Bool> { MediaStatements.hasMedia.columns.hasMedia }

    // MARK: Next piece

    private func nextListing() async throws(Delay) -> ConversationID? {
        let statement = ErasureStatements.nextListing
        return try await query(statement) { $0.set($1, to: user) }.first.map { $0[statement.columns.conversationId] }
    }

    private func nextJoinRequest() async throws(Delay) -> ConversationID? {
        let statement = ErasureStatements.nextJoinRequest
        let rows = try await query(statement) { $0.set($1.user, to: user) }
        return rows.first.map { $0[statement.columns.conversationId] }
    }

    private func nextMention() async throws(Delay) -> (ConversationID, after: Int64)? {
        let statement = ErasureStatements.nextMention, columns = statement.columns
        let rows = try await query(statement) { $0.set($1.user, to: user) }
        return rows.first.map { ($0[columns.conversationId], $0[columns.after]) }
    }

    private func nextBlock() async throws(Delay) -> UserID? {
        let statement = ErasureStatements.nextBlock
        return try await query(statement) { $0.set($1.user, to: user) }.first.map { $0[statement.columns.userId] }
    }

    private func query<Input, Columns>(
        _ statement: PreparedStatement<Input, Columns>, _ build: (inout Parameters, Input) -> Void
    ) async throws(Delay) -> Rows {
        do {
            return try await connection.query(statement, .light, build)
        } catch {
            throw Delay(reason: error.debugDescription)
        }
    }
}
