import Bus
import Bytes
import JSON
import Models
import Reactor
import Wire

/// A store and receipt service in memory, on a real bus. They lose and delay on demand what the real ones cannot.
@Reactor
final class ScriptedStore {
    struct Change {
        var kind: ChangeKind
        var user: String
        /// The position of the message that the change is about.
        var messageSeq: Int64?
    }

    let bus: Bus
    var logID = UUIDBytes(high: 0x1000_4000, low: 1 << 63)
    private(set) var changes: [ConversationID: [Change]] = [:]
    private var stays: [ConversationID: [UserID: [Bootstrap.Stay]]] = [:]
    private var privateChanges: [UserID: [(kind: PrivateKind, conversation: ConversationID, seq: Int64)]] = [:]
    private var statuses: [ConversationID: Int64] = [:]
    private(set) var signals: [ReceiptSignal] = []
    /// Users without presence, users reported as seen, and the last seen times in responses.
    private var hidden: Set<UserID> = []
    private(set) var seen: [UserID] = []
    var lastSeen: [PresenceList.Departure] = []
    /// The number of requests by kind, without repetitions.
    private(set) var asked: [StoreRequestKind: Int] = [:]
    private var known: Set<RequestKey> = []
    private(set) var statusQueries = 0
    private(set) var lastSeenQueries = 0
    /// Held requests get their responses when this is cleared.
    var isSilentAboutLastSeen = false
    /// Held responses to status queries, which name nobody; the test sends them. Nil: status queries get their
    /// responses at once.
    var heldStatuses: [@Reactor () -> Void]?
    /// Conversations too large to name members, with the JSON of one sender's counts.
    var counts: [ConversationID: (sender: UserID, json: String)] = [:]

    private var erased: [UserID] = []
    private var revocations: [ListedRevocation] = []

    /// Announcements or digests are not sent while these are set.
    var losesAnnouncements = false
    var losesDigests = false
    /// Requests get no response while this is set.
    var isSilent = false
    /// The number of a user's latest private changes that are kept.
    var privateTail = 1_000
    /// Changes that are kept no longer.
    var removed: [ConversationID: ClosedRange<Int64>] = [:]
    /// Kinds of requests, and users whose signals, get no response.
    var isSilentAbout: Set<StoreRequestKind> = []
    var isSilentAboutSignals: Set<String> = []
    /// Runs between the snapshot of a bootstrap and its response.
    var behindSnapshot: @Reactor () -> Void = {}

    private var epoch: Int64 = 1
    private var numbers = [Int64](repeating: 0, count: Slot.count)
    private var moved: [Slot: [StreamPosition]] = [:]
    private var movedStatuses: [Slot: [StreamPosition]] = [:]

    init(_ bus: Bus) {
        self.bus = bus
        for group in SlotGroup.all {
            bus.subscribe(.command(group))
            bus.subscribe(.receiptCommand(group))
        }
        bus.onFrame = { [unowned self] in receive($0) }
    }

    // MARK: Writing

    func create(_ conversation: ConversationID, members: [String]) {
        append(conversation, .conversationCreated)
        for member in members { begin(member, in: conversation, at: 1) }
    }

    func send(_ count: Int = 1, to conversation: ConversationID) {
        for _ in 0..<count { append(conversation, .messageCreated) }
    }

    func edit(_ seq: Int64, in conversation: ConversationID) {
        append(conversation, .messageEdited, messageSeq: seq)
    }

    func add(_ member: String, to conversation: ConversationID) {
        append(conversation, .memberAdded, member)
        begin(member, in: conversation, at: lastSeq(conversation))
    }

    func remove(_ member: String, from conversation: ConversationID) {
        append(conversation, .memberRemoved, member)
        let user = UserID(member)!
        stays[conversation]![user]![stays[conversation]![user]!.count - 1].through = lastSeq(conversation)
    }

    func erase(_ user: UserID) {
        erased.append(user)
        let count = Int64(erased.count { $0.slot == user.slot })
        guard !losesAnnouncements else { return }
        bus.append(to: .erasure(user.slot.group)) { buffer in
            ErasureEntry(user.slot, count: count, latest: user).write(to: &buffer)
        }
    }

    /// What the owner of the slot says once a second.
    func tellErased(in slot: Slot) {
        let count = Int64(erased.count { $0.slot == slot })
        bus.append(to: .erasure(slot.group)) { ErasureEntry(slot, count: count).write(to: &$0) }
    }

    /// A second entry, for another number of the user's slot.
    func revoke(_ user: UserID, before: Timestamp) {
        add(.tokens(Revocation(number: nextNumber(of: user), user, before: before)))
    }

    /// Suspends a user, or lifts their suspension.
    func suspend(_ user: UserID, _ mode: SuspensionMode?, until: Timestamp? = nil) {
        add(.suspension(HeldSuspension(number: nextNumber(of: user), user, mode, until: until)))
    }

    private func nextNumber(of user: UserID) -> Int64 {
        1 + (revocations.last { $0.user.slot == user.slot }?.number ?? 0)
    }

    private func add(_ revocation: ListedRevocation) {
        revocations.append(revocation)
        guard !losesAnnouncements else { return }
        bus.append(to: .revocation(revocation.user.slot.group)) { RevocationEntry(revocation).write(to: &$0) }
    }

    /// What the owner of the slot says once a second.
    func tellRevoked(in slot: Slot) {
        guard let last = revocations.last(where: { $0.user.slot == slot }) else { return }
        bus.append(to: .revocation(slot.group)) { RevocationEntry(slot, number: last.number).write(to: &$0) }
    }

    func moveStatus(_ conversation: ConversationID) {
        let version = statuses[conversation, default: 0] + 1
        statuses[conversation] = version
        movedStatuses[conversation.slot, default: []].append(StreamPosition(.conversation(conversation), version))
        guard !losesAnnouncements else { return }
        bus.append(to: .status(conversation.slot.group)) { writeStatus(conversation, version, to: &$0) }
    }

    func lastSeq(_ conversation: ConversationID) -> Int64 { Int64(changes[conversation]?.count ?? 0) }

    private func append(
        _ conversation: ConversationID, _ kind: ChangeKind, _ user: String = "", messageSeq: Int64? = nil
    ) {
        let seq = lastSeq(conversation) + 1
        let about = kind == .messageCreated ? seq : messageSeq
        changes[conversation, default: []].append(Change(kind: kind, user: user, messageSeq: about))
        moved[conversation.slot, default: []].append(StreamPosition(.conversation(conversation), seq))
        guard !losesAnnouncements else { return }
        bus.append(to: .change(conversation.slot.group)) { write(conversation, seq, to: &$0) }
    }

    private func begin(_ member: String, in conversation: ConversationID, at seq: Int64) {
        let user = UserID(member)!
        let stay = Bootstrap.Stay(
            conversation: conversation, lastSeq: 0, from: seq, through: nil, statusVersion: 0, memberCount: 0)
        stays[conversation, default: [:]][user, default: []].append(stay)
        tell(user, (.conversationJoined, conversation, seq - 1), in: conversation.slot)
    }

    /// Changes the user's presence setting.
    func decide(_ member: String, showsPresence: Bool) {
        let user = UserID(member)!
        if showsPresence { hidden.remove(user) } else { hidden.insert(user) }
        tell(user, (.settingsChanged, ConversationID(.zero), showsPresence ? 1 : 0), in: user.slot)
    }

    private func tell(
        _ user: UserID, _ change: (kind: PrivateKind, conversation: ConversationID, seq: Int64), in slot: Slot
    ) {
        privateChanges[user, default: []].append(change)
        let useq = Int64(privateChanges[user]!.count)
        moved[slot, default: []].append(StreamPosition(.user(user), useq))
        guard !losesAnnouncements else { return }
        bus.append(to: .privateChange(user.slot.group)) { write(user, useq, to: &$0) }
    }

    // MARK: Digests

    /// Publishes digests, as a store does every 250 ms.
    func publishDigests(of slots: [Slot] = Slot.all) {
        for slot in slots {
            let content = moved.removeValue(forKey: slot) ?? []
            let statuses = movedStatuses.removeValue(forKey: slot) ?? []
            if !content.isEmpty || !statuses.isEmpty { numbers[Int(slot.number)] += 1 }
            guard !losesDigests else { continue }
            publish(slot, content, .digest(slot.group))
            publish(slot, statuses, .receiptDigest(slot.group))
        }
    }

    /// Raises the epoch, as when another store acquires the slots.
    func changeOwner() { epoch += 1 }

    private func publish(_ slot: Slot, _ content: [StreamPosition], _ topic: Topic) {
        let digest = DigestEntry(slot: slot, epoch: epoch, number: numbers[Int(slot.number)], moved: content)
        bus.append(to: topic) { digest.write(to: &$0) }
    }

    // MARK: Responding

    private func receive(_ frame: InboundFrame) {
        for bytes in frame.entries where !isSilent {
            let entry = try! RequestEntry(bytes)
            let request = RequestKey(origin: frame.origin, number: entry.number)
            guard !isSilent(about: entry, in: frame), bus.admit(request) == .new else { continue }
            if case .command = frame.topic { answerStore(request, entry) } else { answerReceipt(request, entry) }
        }
    }

    private func isSilent(about entry: RequestEntry, in frame: InboundFrame) -> Bool {
        if case .command = frame.topic { return StoreRequestKind(rawValue: entry.kind).map(isSilentAbout.contains)! }
        guard ReceiptRequestKind(rawValue: entry.kind) == .signal, !isSilentAboutSignals.isEmpty else { return false }
        var reader = ByteReader(entry.fields)
        return isSilentAboutSignals.contains(try! ReceiptSignal(from: &reader).user.name)
    }

    private func answerStore(_ request: RequestKey, _ entry: RequestEntry) {
        let kind = StoreRequestKind(rawValue: entry.kind)!
        if known.insert(request).inserted { asked[kind, default: 0] += 1 }
        var reader = ByteReader(entry.fields)
        switch kind {
        case .bootstrap: answerBootstrap(request, try! BootstrapQuery(from: &reader).user)
        case .replay: answer(request, try! ReplayQuery(from: &reader))
        case .privateReplay: answer(request, try! PrivateReplayQuery(from: &reader))
        case .positions: answer(request, try! StreamPositions(from: &reader))
        case .senderCounts: answer(request, try! SenderCountsQuery(from: &reader))
        case .erasedUsers: answer(request, try! ErasedUsersQuery(from: &reader))
        case .revocations: answer(request, try! RevocationsQuery(from: &reader))
        case .noteDevice: bus.respond(to: request, status: 200) { _ in }
        default: preconditionFailure("fanout asks for nothing else")
        }
    }

    private func answerBootstrap(_ request: RequestKey, _ user: UserID) {
        let bootstrap = snapshot(of: user)
        behindSnapshot()
        // After later announcements, as on a slow connection.
        Reactor.after(.milliseconds(20)) { [self] in bus.respond(to: request, status: 200) { bootstrap.write(to: &$0) }
        }
    }

    private func snapshot(of user: UserID) -> Bootstrap {
        var found: [Bootstrap.Stay] = []
        for (conversation, members) in stays {
            for var stay in members[user] ?? [] {
                stay.lastSeq = lastSeq(conversation)
                stay.statusVersion = statuses[conversation] ?? 0
                stay.memberCount = memberCount(conversation)
                found.append(stay)
            }
        }
        return Bootstrap(
            logID: logID, serverTime: Timestamp(milliseconds: 0), useq: Int64(privateChanges[user]?.count ?? 0),
            hasMore: false, stays: found, conversations: Array("[]".utf8),
            showsPresence: !hidden.contains(user), firstUseq: firstUseq(user))
    }

    private func firstUseq(_ user: UserID) -> Int64 {
        Int64(max(1, (privateChanges[user]?.count ?? 0) - privateTail + 1))
    }

    private func memberCount(_ conversation: ConversationID) -> Int {
        stays[conversation]?.values.count { $0.last?.through == nil } ?? 0
    }

    private func answer(_ request: RequestKey, _ query: ReplayQuery) {
        let last = lastSeq(query.conversation)
        let end = min(last, query.through, query.after + Int64(query.limit))
        bus.respond(to: request, status: 200) { buffer in
            buffer.append(bigEndian: last)
            guard query.after < end else { return }
            for seq in query.after + 1...end where !(removed[query.conversation]?.contains(seq) ?? false) {
                write(query.conversation, seq, to: &buffer)
            }
        }
    }

    private func answer(_ request: RequestKey, _ query: PrivateReplayQuery) {
        let last = Int64(privateChanges[query.user]?.count ?? 0)
        bus.respond(to: request, status: 200) { buffer in
            buffer.append(bigEndian: last)
            guard query.after < last else { return }
            let first = max(query.after + 1, firstUseq(query.user))
            for useq in first...min(last, first - 1 + Int64(query.limit)) {
                write(query.user, useq, to: &buffer)
            }
        }
    }

    private func answer(_ request: RequestKey, _ held: StreamPositions) {
        let ahead = held.positions.compactMap { position -> StreamPosition? in
            let last: Int64
            switch position.key {
            case .conversation(let conversation): last = lastSeq(conversation)
            case .user(let user): last = Int64(privateChanges[user]?.count ?? 0)
            }
            return last > position.position ? StreamPosition(position.key, last) : nil
        }
        bus.respond(to: request, status: 200) { StreamPositions(ahead).write(to: &$0) }
    }

    private func answer(_ request: RequestKey, _ query: SenderCountsQuery) {
        bus.respond(to: request, status: 200) { buffer in
            SenderCounts.writeHead(
                version: statuses[query.conversation]!, at: Timestamp(milliseconds: 0), to: &buffer)
            guard let (sender, json) = counts[query.conversation] else { return }
            SenderCounts.writeEntry(sender, to: &buffer) { $0.append(utf8: json) }
        }
    }

    private func answer(_ request: RequestKey, _ query: ErasedUsersQuery) {
        let names = erased.filter { $0.slot == query.slot }
        bus.respond(to: request, status: 200) { buffer in
            buffer.append(bigEndian: Int64(names.count))
            for name in names.dropFirst(Int(query.after)) { buffer.append(name) }
        }
    }

    private func answer(_ request: RequestKey, _ query: RevocationsQuery) {
        let all = revocations.filter { $0.user.slot == query.slot }
        bus.respond(to: request, status: 200) { buffer in
            buffer.append(bigEndian: all.last?.number ?? 0)
            for revocation in all where revocation.number > query.after { revocation.write(to: &buffer) }
        }
    }

    private func answerReceipt(_ request: RequestKey, _ entry: RequestEntry) {
        var reader = ByteReader(entry.fields)
        switch ReceiptRequestKind(rawValue: entry.kind)! {
        case .signal:
            signals.append(try! ReceiptSignal(from: &reader))
            bus.respond(to: request, status: 202)
        case .seen:
            seen += try! SeenUsers(from: &reader).users
            bus.respond(to: request, status: 204)
        case .lastSeen:
            guard !isSilentAboutLastSeen else { return bus.abandon(request) }
            if known.insert(request).inserted { lastSeenQueries += 1 }
            bus.respond(to: request, status: 200) { LastSeen(lastSeen).write(to: &$0) }
        case .status:
            if known.insert(request).inserted { statusQueries += 1 }
            let query = try! StatusQuery(from: &reader)
            let version = statuses[query.conversation] ?? 0
            guard heldStatuses == nil else {
                heldStatuses?.append { [bus] in
                    bus.respond(to: request, status: 200) { buffer in
                        StatusEntry.write(query.conversation, version: version, to: &buffer) { _ in }
                    }
                }
                return
            }
            bus.respond(to: request, status: 200) { writeStatus(query.conversation, version, to: &$0) }
        case .erase: preconditionFailure("fanout erases nothing")
        case .importReceipts, .dropReceipts: preconditionFailure("fanout imports nothing")
        case .peers, .seenPeers, .forgetSeen: preconditionFailure("only receipt services ask each other")
        case .positions:
            let ahead = try! StreamPositions(from: &reader).positions.compactMap { position -> StreamPosition? in
                guard case .conversation(let conversation) = position.key else { return nil }
                let version = statuses[conversation] ?? 0
                return version > position.position ? StreamPosition(position.key, version) : nil
            }
            bus.respond(to: request, status: 200) { StreamPositions(ahead).write(to: &$0) }
        }
    }

    // MARK: Entries

    private func write(_ conversation: ConversationID, _ seq: Int64, to buffer: inout ByteBuffer) {
        let change = changes[conversation]![Int(seq) - 1]
        let head = #"{"conversationId":"\#(conversation)","seq":\#(seq),"kind":"\#(change.kind.name)""#
        let message = change.messageSeq.map { #","message":{"seq":\#($0)}"# } ?? ""
        ChangeEntry.write(
            conversation, seq: seq, change.kind, user: change.user, messageSeq: change.messageSeq, to: &buffer,
            head: { $0.append(utf8: head) }, rest: { $0.append(utf8: message + "}") })
    }

    private func write(_ user: UserID, _ useq: Int64, to buffer: inout ByteBuffer) {
        let change = privateChanges[user]![Int(useq) - 1]
        let detail = change.kind == .settingsChanged ? Int(change.seq) : memberCount(change.conversation)
        PrivateEntry.write(
            user, useq: useq, change.kind, change.conversation, seq: change.seq, detail: detail, to: &buffer
        ) { $0.append(utf8: #"{"useq":\#(useq),"kind":"\#(change.kind.name)"}"#) }
    }

    private func writeStatus(_ conversation: ConversationID, _ version: Int64, to buffer: inout ByteBuffer) {
        StatusEntry.write(conversation, version: version, to: &buffer) { json in
            guard counts[conversation] == nil else { return }
            json.append(utf8: #"{"conversationId":"\#(conversation)","statusVersion":\#(version)}"#)
        }
    }
}
