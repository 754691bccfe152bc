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

/// The work of one statement: adjacent commands of one kind, in the order they arrived.
enum Run {
    /// Indices into the batch's items, and their layout in the statement's parameters.
    case send(Range<Int>, SendLayout)
    /// The index of the command.
    case create(Int)
    /// The index of the command.
    case write(Int)
    /// The index of the command.
    case settings(Int)
    /// All read positions of the batch.
    case read
    /// The index of the command.
    case beginErasure(Int)
    /// The index of the command, and whether it changes what others see.
    case erase(Int, isAnnounced: Bool)
    /// The index of the command.
    case revoke(Int)

    /// The number of its statements. Each returns its own rows.
    var statementCount: Int {
        switch self {
        case .send, .create, .settings, .read, .beginErasure, .revoke, .erase(_, isAnnounced: false): 1
        case .write, .erase(_, isAnnounced: true): 2  // The second reads back what is announced.
        }
    }
}

/// A batch cut into runs, so that no statement contains two rows that depend on each other. In a run of messages no
/// message occurs twice, and no reply comes with its parent.
struct BatchPlan {
    private(set) var items: [SendItem] = []
    private(set) var runs: [Run] = []
    /// The highest position of each user in each conversation, ordered by key. Nothing else in a batch depends on them,
    /// so they form one run regardless of their order of arrival.
    private(set) var reads: [ReadPositions.Entry] = []
    /// The conversations that the batch writes to and that may exist already.
    private(set) var conversationsToLock: Set<ConversationID> = []
    /// The conversations among these in which texts change or go.
    private(set) var searchesToLock: Set<ConversationID> = []
    /// The keys of repeatable writes, and the ids of conversations that may be new.
    private(set) var keysToLock: Set<WriteKey> = []
    /// The users whose private streams it writes to. Read positions also change the listings that these streams
    /// protect.
    private(set) var streamsToLock: Set<UserID> = []
    /// The users among these whose streams may not exist yet.
    private(set) var streamsToBegin: Set<UserID> = []
    /// The users whose erasures it adds to.
    private(set) var erasuresToLock: Set<UserID> = []
    /// The slots of users whose erasure must not begin meanwhile. True: a user of the slot is to be erased.
    private(set) var userSlotsToLock: [Slot: Bool] = [:]
    private var runStart = 0
    private var idsInRun: Set<MessageKey> = []

    private struct MessageKey: Hashable {
        let conversation: ConversationID
        let message: MessageID
    }

    init(_ commands: some Collection<Command.Action>) {
        items.reserveCapacity(commands.count)
        idsInRun.reserveCapacity(commands.count)
        for (index, action) in commands.enumerated() { add(action, at: index) }
        endRun()
        mergeReads()
    }

    private mutating func add(_ action: Command.Action, at index: Int) {
        switch action {
        case .read(let positions): reads += positions.entries
        case .settings(let settings):
            endRun()
            runs.append(.settings(index))
            if let key = settings.key { keysToLock.insert(WriteKey(user: settings.user, key: key)) }
            lock(settings.user)
            begin(settings.user)
        case .create(let creation):
            endRun()
            runs.append(.create(index))
            // A repetition finds the conversation there, and says so only when the creation's commit has reached the
            // standby. The lock is a write, so this batch's own commit waits behind it too.
            conversationsToLock.insert(creation.conversation)
            // Two concurrent creations wait for each other before they hold any other lock.
            keysToLock.insert(WriteKey(user: nil, key: creation.conversation.uuid))
            for member in creation.members + [creation.creator] {
                lock(member)
                begin(member)
            }
        case .write(let write):
            endRun()
            runs.append(.write(index))
            conversationsToLock.insert(write.conversation)
            if write.action.changesText { searchesToLock.insert(write.conversation) }
            if let key = write.key {
                keysToLock.insert(WriteKey(user: write.actor, key: key))
                lock(write.actor)
            }
            if case .putMember(let user, _) = write.action {
                lock(user)
                begin(user)
            }
            if let user = write.toldPrivately { streamsToLock.insert(user) }
        case .beginErasure(let erasure):
            endRun()
            runs.append(.beginErasure(index))
            lock(erasure.user, alone: true)
        case .revoke(let revocation):
            endRun()
            runs.append(.revoke(index))
            // Exclusive in the slot, so its numbers follow the order of commits.
            lock(revocation.user, alone: true)
        case .erase(let step):
            endRun()
            runs.append(.erase(index, isAnnounced: step.isAnnounced))
            erasuresToLock.insert(step.user)
            streamsToLock.insert(step.user)
            if let conversation = step.conversation {
                conversationsToLock.insert(conversation)
                searchesToLock.insert(conversation)
            }
        case .send(let send):
            // Messages that one client sends at once are adjacent.
            if send.conversation != items.last?.conversation { conversationsToLock.insert(send.conversation) }
            for message in send.messages {
                add(SendItem(command: index, conversation: send.conversation, sender: send.sender, message: message))
            }
        }
    }

    private mutating func add(_ item: SendItem) {
        let key = MessageKey(conversation: item.conversation, message: item.message.id)
        let parent = item.message.replyTo.map { MessageKey(conversation: item.conversation, message: $0) }
        if idsInRun.contains(key) || parent.map(idsInRun.contains) == true { endRun() }
        idsInRun.insert(key)
        items.append(item)
    }

    private mutating func mergeReads() {
        guard !reads.isEmpty else { return }
        reads.sort { ($0.user, $0.conversation.uuid, $1.readSeq) < ($1.user, $1.conversation.uuid, $0.readSeq) }
        var merged: [ReadPositions.Entry] = []
        for entry in reads where merged.last.map({ !$0.isAboutTheSame(as: entry) }) ?? true { merged.append(entry) }
        reads = merged
        for entry in reads { streamsToLock.insert(entry.user) }
        runs.append(.read)
    }

    private mutating func begin(_ user: UserID) {
        streamsToBegin.insert(user)
        streamsToLock.insert(user)
    }

    private mutating func lock(_ user: UserID, alone: Bool = false) {
        userSlotsToLock[user.slot, default: false] = alone || userSlotsToLock[user.slot] == true
    }

    private mutating func endRun() {
        let run = runStart..<items.count
        if !run.isEmpty { runs.append(.send(run, SendLayout(items[run]))) }
        runStart = items.count
        idsInRun.removeAll(keepingCapacity: true)
    }
}

extension ReadPositions.Entry {
    fileprivate func isAboutTheSame(as other: Self) -> Bool {
        user == other.user && conversation == other.conversation
    }
}

/// An `Idempotency-Key`, which belongs to its user, or the id of a conversation, which belongs to no user.
struct WriteKey: Hashable {
    let user: UserID?
    let key: UUIDBytes
}
