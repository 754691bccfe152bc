import Bytes
import CommandSupport
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// Plays the conversations of a plan through the public API and compares the results with the plan.
@Reactor
final class Replay {
    struct Settings: Sendable {
        var pace = ReplaySender.Pace.inFlight(64)
        var strictOrder = false
        var connectionsPerEndpoint = 16
        /// How long listeners may take to receive what was sent last.
        var settleTime = Duration.seconds(30)
    }

    private let plan: ReplayPlan
    private let settings: Settings
    private let webSocket: [Endpoint]
    private let api: ParleyAPI
    private let tokens: [String]
    private let sender: ReplaySender
    private var listeners: [(user: Int, listener: ReplayListener)] = []

    init(_ plan: ReplayPlan, connection: ConnectionArguments, settings: Settings) {
        self.plan = plan
        self.settings = settings
        webSocket = connection.webSocket
        tokens = plan.users.map { connection.tokens.token(for: $0) }
        let http = HTTPClient(connection.http, connectionsPerEndpoint: settings.connectionsPerEndpoint)
        api = ParleyAPI(http: http)
        sender = ReplaySender(
            plan, tokens: tokens, http: http, pace: settings.pace, strictOrder: settings.strictOrder)
    }

    /// - Returns: the report. Throws when it could not start, or when its history cannot be read.
    func run(_ progress: ReplayProgress) async throws(APIError) -> ReplayReport {
        progress.stage("creating \(plan.conversations.count) conversations of \(plan.users.count) users")
        for conversation in plan.conversations { try await create(conversation) }
        progress.stage("connecting \(listenerUsers.count) listeners")
        await connectListeners()
        progress.watch(total: plan.messageCount) { [self] in
            ReplayProgress.State(
                acknowledged: sender.acknowledged, inFlight: sender.inFlight, received: changesReceived)
        }
        await sender.run()
        progress.stopWatching()
        progress.stage("waiting for the listeners")
        var mismatches = sender.failures
        mismatches.add(await settle())
        progress.stage("comparing every history with what was sent")
        mismatches.add(try await compare())
        progress.stage("comparing what the listeners have with the server's digests")
        mismatches.add(try await compareDigests())
        progress.stage("comparing the receipts of the listeners")
        mismatches.add(try await compareReceipts())
        for (_, listener) in listeners {
            mismatches.add(listener.broken)
            listener.stop()
        }
        return report(mismatches)
    }

    // MARK: Preparation

    private func create(_ conversation: ReplayPlan.Conversation) async throws(APIError) {
        var body = ByteBuffer(capacity: 8192)
        body.beginObject()
        body.append(key: "id", json: conversation.id)
        body.append(key: "kind", json: "group")
        body.append(key: "title", json: conversation.title)
        body.append(key: "members")
        body.beginArray()
        for member in conversation.members.dropFirst() { body.append(element: plan.users[member]) }
        body.endArray()
        body.endObject()
        _ = try await api.call(
            HTTPRequest(
                method: "POST", path: "/v1/conversations", token: tokens[conversation.creator], body: body.array))
    }

    /// The users who listen in any conversation. Each receives all of their conversations.
    private var listenerUsers: [Int] { Set(plan.conversations.flatMap(\.listeners)).sorted() }

    private func connectListeners() async {
        let index = ReplayIndex(plan)
        for (number, user) in listenerUsers.enumerated() {
            let listener = ReplayListener(plan.users[user], index: index, sender: sender)
            listeners.append((user, listener))
            await listener.start(
                webSocket, number: number, api: api,
                conversations: conversations(of: user).map { plan.conversations[$0].id },
                token: tokens[user])
        }
    }

    private func conversations(of user: Int) -> [Int] {
        plan.conversations.indices.filter { plan.conversations[$0].members.contains(user) }
    }

    private var changesReceived: Int { listeners.reduce(0) { $0 + $1.listener.changes } }

    // MARK: Checks

    /// Waits until every listener has the last acknowledged change in each of its conversations.
    private func settle() async -> MismatchList {
        let start = MonotonicTime.now
        while !behind().isEmpty, MonotonicTime.now - start < settings.settleTime {
            await Reactor.sleep(for: .milliseconds(20))
        }
        var mismatches = MismatchList()
        for text in behind() { mismatches.add(text) }
        return mismatches
    }

    private func behind() -> [String] {
        listeners.flatMap { user, listener in
            conversations(of: user).compactMap { number in
                let conversation = plan.conversations[number]
                let last = sender.acknowledgedSeqs[number].max() ?? 0
                let position = listener.position(in: conversation.id)
                return position >= last
                    ? nil : "\(plan.users[user]) received \(conversation.title) up to \(position) of \(last)"
            }
        }
    }

    private func compare() async throws(APIError) -> MismatchList {
        var mismatches = MismatchList()
        for (number, conversation) in plan.conversations.enumerated() {
            let (history, lastSeq) = try await readHistory(of: conversation)
            var check = HistoryCheck(
                conversation, users: plan.users, acknowledgedSeqs: sender.acknowledgedSeqs[number])
            check.check(history, lastSeq: lastSeq, fileOrder: settings.strictOrder)
            mismatches.add(check.mismatches)
            mismatches.add(compareArrivals(number, history))
        }
        return mismatches
    }

    private func readHistory(
        of conversation: ReplayPlan.Conversation
    ) async throws(APIError) -> (history: [MessageView], lastSeq: Int64) {
        var history: [MessageView] = []
        while true {
            let page = try await api.history(
                of: conversation.id, after: history.last?.seq ?? 0, token: tokens[conversation.creator])
            history += page.messages
            if !page.hasMoreAfter || page.messages.isEmpty { return (history, page.lastSeq) }
        }
    }

    /// Checks that every listener received exactly what the history contains.
    private func compareArrivals(_ number: Int, _ history: [MessageView]) -> MismatchList {
        var mismatches = MismatchList()
        let expected = history.filter { $0.kind != "system" }
        for (user, listener) in listeners where plan.conversations[number].members.contains(user) {
            let arrivals = listener.arrivals[number] ?? []
            let isEqual = arrivals.elementsEqual(expected) { $0.seq == $1.seq && $0.message == $1.id }
            if !isEqual {
                mismatches.add(
                    "\(plan.users[user]) received \(arrivals.count) messages of \(plan.conversations[number].title), the history has \(expected.count), or others"
                )
            }
        }
        return mismatches
    }

    /// Compares the digests of each listener's conversations, computed only from what it received, with the server's.
    private func compareDigests() async throws(APIError) -> MismatchList {
        var mismatches = MismatchList()
        for (user, listener) in listeners {
            for number in conversations(of: user) {
                let conversation = plan.conversations[number]
                let pages = try await readDigest(of: conversation.id, token: tokens[user])
                let differences = Self.copy(listener.received[number] ?? []).differences(from: pages)
                guard !differences.isEmpty else { continue }
                mismatches.add(
                    "\(plan.users[user]) has other digests of \(conversation.title): "
                        + differences.prefix(4).joined(separator: ", "))
            }
        }
        return mismatches
    }

    private static func copy(_ received: [[UInt8]]) -> ConversationCopy {
        var copy = ConversationCopy()
        // A change that cannot be read is missing in the copy, so the comparison finds it.
        for change in received { change.withUnsafeBytes { try? copy.take(change: $0) } }
        return copy
    }

    private func readDigest(
        of conversation: ConversationID, token: String
    ) async throws(APIError) -> [DigestPage.Entry] {
        var pages: [DigestPage.Entry] = []
        while true {
            let page = try await api.digest(of: conversation, after: pages.last?.last ?? 0, token: token)
            pages += page.entries
            if !page.hasMore || page.entries.isEmpty { return pages }
        }
    }

    /// Checks receipts. Listeners acknowledged everything as delivered and read, and every member must see that.
    private func compareReceipts() async throws(APIError) -> MismatchList {
        let start = MonotonicTime.now
        var mismatches = MismatchList()
        for (number, conversation) in plan.conversations.enumerated() {
            let last = sender.acknowledgedSeqs[number].max() ?? 0
            while true {
                let members = try await api.members(of: conversation.id, token: tokens[conversation.creator])
                let behind = receiptsBehind(members, last: last, number)
                if behind.isEmpty { break }
                if MonotonicTime.now - start > settings.settleTime {
                    for text in behind { mismatches.add(text) }
                    break
                }
                await Reactor.sleep(for: .milliseconds(50))
            }
        }
        return mismatches
    }

    private func receiptsBehind(_ members: [MembersPage.Member], last: Int64, _ number: Int) -> [String] {
        let positions = Dictionary(members.map { ($0.user, $0) }, uniquingKeysWith: { $1 })
        return listeners.compactMap { user, _ in
            guard plan.conversations[number].members.contains(user) else { return nil }
            let member = positions[plan.users[user]]
            let (delivered, read) = (member?.deliveredSeq ?? 0, member?.readSeq ?? 0)
            if min(delivered, read) >= last { return nil }
            return "\(plan.users[user]) acknowledged \(plan.conversations[number].title) up to \(last), "
                + "it shows \(delivered) delivered and \(read) read"
        }
    }

    private func report(_ mismatches: MismatchList) -> ReplayReport {
        var received = Latencies()
        for (_, listener) in listeners { received.record(contentsOf: listener.latencies) }
        return ReplayReport(
            conversations: plan.conversations.count, users: plan.users.count, messages: plan.messageCount,
            replies: plan.replyCount, acknowledged: sender.acknowledged,
            seconds: Double((sender.finished - sender.started).nanoseconds) / 1e9, listeners: listeners.count,
            deliveries: changesReceived, repetitions: sender.repetitions,
            reconnections: listeners.reduce(0) { $0 + $1.listener.reconnections }, sendToAck: .init(sender.latencies),
            sendToReceive: .init(received), mismatches: mismatches)
    }
}
