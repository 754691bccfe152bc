import Models
import Wire

/// One message of a batch.
struct SendItem {
    /// The index of its command in the batch.
    let command: Int
    let conversation: ConversationID
    let sender: UserID
    let message: NewMessage
}

extension NewMessage {
    /// Attachments, polls and what is forwarded have a statement of their own, for one message.
    var isStoredAlone: Bool { !attachments.isEmpty || isPoll || isForwarded }
}

/// What a batch does by statements of its own: adjacent messages, or one step.
enum Run {
    /// Indices into the batch's items, and their layout in the statement's parameters.
    case send(Range<Int>, SendLayout)
    /// The index of the command.
    case step(any BatchStep, of: Int)
    /// All read positions of the batch.
    case read
}

/// A batch cut into runs, so that no statement contains two rows that depend on each other. In a run of messages no
/// message occurs twice, no reply comes with its parent, and one with attachments, a poll or a forward is alone.
struct BatchPlan {
    private(set) var items: [SendItem] = []
    private(set) var runs: [Run] = []
    private(set) var reads = MergedReads()
    private(set) var locks: Locks
    private var runStart = 0
    private var idsInRun: Set<MessageKey> = []

    private struct MessageKey: Hashable {
        let conversation: ConversationID
        let message: MessageID
    }

    /// - Parameter borrows: as of `Writer`.
    init(_ commands: some Collection<Command.Action>, borrows: Bool = false) {
        locks = Locks(borrows: borrows)
        items.reserveCapacity(commands.count)
        idsInRun.reserveCapacity(commands.count)
        for (index, action) in commands.enumerated() { add(action, at: index) }
        endRun()
        addReads()
    }

    private mutating func add(_ action: Command.Action, at index: Int) {
        switch action {
        case .send(let send):
            // Messages that one client sends at once are adjacent.
            if send.conversation != items.last?.conversation { locks.insert(conversation: send.conversation) }
            for message in send.messages {
                add(SendItem(command: index, conversation: send.conversation, sender: send.sender, message: message))
            }
        case .step(let step): add(step, at: index)
        case .answering(let answer, let action):
            add(answer, at: index)
            add(action, at: index)
        case .read(let positions): reads.append(positions, of: index)
        }
    }

    private mutating func add(_ step: any BatchStep, at index: Int) {
        endRun()
        runs.append(.step(step, of: index))
        step.lock(&locks)
    }

    private mutating func add(_ item: SendItem) {
        let key = MessageKey(conversation: item.conversation, message: item.message.id)
        let parent = item.message.replyTo.map { MessageKey(conversation: item.conversation, message: $0) }
        let isAlone = item.message.isStoredAlone
        if let origin = item.message.forward?.origin { locks.insert(user: origin.userId) }
        if isAlone || idsInRun.contains(key) || parent.map(idsInRun.contains) == true { endRun() }
        idsInRun.insert(key)
        items.append(item)
        if isAlone { endRun() }
    }

    /// Nothing else in a batch depends on read positions, so they form one run regardless of their order of arrival.
    private mutating func addReads() {
        guard !reads.commands.isEmpty else { return }
        reads.merge()
        reads.lock(&locks)
        runs.append(.read)
    }

    private mutating func endRun() {
        let run = runStart..<items.count
        if !run.isEmpty { runs.append(.send(run, SendLayout(items[run]))) }
        runStart = items.count
        idsInRun.removeAll(keepingCapacity: true)
    }
}
