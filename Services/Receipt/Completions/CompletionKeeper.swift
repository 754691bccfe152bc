import Models
import Postgres
import Reactor
import ServiceKit
import Slots

/// Keeps the dates at which all recipients of a message in a large conversation had, and had read, it.
///
/// It runs in the background on a separate connection, and nothing depends on its progress: dates that it has not
/// reached are computed from the runs on request. In small conversations they always are.
@Reactor
final class CompletionKeeper {
    /// The limit of waiting conversations. One beyond it is noted again at its next movement.
    private static let capacity = 4_096
    /// Movements of a conversation within this time are handled together.
    private static let pause = Duration.seconds(1)
    /// Rest per working time after each page, so that the keeper takes at most a tenth of a core.
    private static let restPerWork = 9

    /// In smaller conversations the runs are few enough to be read with each page of history.
    static let smallestConversation = ContractLimits.namedMembers + 1

    let connection: Connection
    private(set) var rangesKept = 0
    private let log: Log
    private var moved: Set<ConversationID> = []
    private var isRunning = false

    init(_ connection: Connection, log: Log) {
        self.connection = connection
        self.log = log
    }

    var waitingCount: Int { moved.count }

    /// Notes that a horizon moved in a conversation with this many members.
    func noteMovement(in conversation: ConversationID, memberCount: Int32) {
        guard memberCount >= Self.smallestConversation, moved.count < Self.capacity else { return }
        moved.insert(conversation)
        guard !isRunning else { return }
        isRunning = true
        Reactor.after(Self.pause) { [self] in Reactor.spawn { [self] in await run() } }
    }

    private func run() async {
        while !moved.isEmpty {
            let conversations = moved
            moved = []
            for conversation in conversations { await keepUp(conversation) }
            await Reactor.sleep(for: Self.pause)
        }
        isRunning = false
    }

    private func keepUp(_ conversation: ConversationID) async {
        do throws(DatabaseError) {
            for kind in [RunKind.delivered, .read] {
                var isBehind = true
                while isBehind {
                    let began = MonotonicTime.now
                    isBehind = try await keepPage(conversation, kind)
                    await Reactor.sleep(for: (.now - began) * Self.restPerWork)
                }
            }
        } catch {
            log.warning("completions were not kept", [LogField("reason", error.debugDescription)])
        }
    }

    /// Keeps the dates of the next messages. Returns whether there may be more.
    func keepPage(_ conversation: ConversationID, _ kind: RunKind) async throws(DatabaseError) -> Bool {
        let messages = try await CompletionStatements.messages(conversation, kind, on: connection)
        guard !messages.isEmpty else { return false }
        let lagging = try await CompletionStatements.laggards(conversation, kind, among: messages, on: connection)
        let page = CompletionPage(messages, present: lagging.present, former: lagging.former)
        guard !page.passed.isEmpty else { return false }
        let times =
            page.complete.isEmpty
            ? [] : try await CompletionStatements.times(conversation, kind, of: page.complete, on: connection)
        let ranges = page.ranges(times)
        try await CompletionStatements.insert(ranges, conversation, kind, on: connection)
        rangesKept += ranges.count
        return page.passed.count == messages.count
    }
}
