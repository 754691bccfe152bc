import Models
import ParleyStorage
import ParleySync

/// A mistake that a client could have. A test makes each of them and requires that the simulation notices: otherwise the
/// simulation would prove nothing.
package enum Flaw: CaseIterable, Sendable {
    /// The cursor moves without what it stands for, now and then.
    case losesChanges
    /// A message is sent before it is noted that the server may know it.
    case sendsBeforeItNotes
    case forgetsHiddenMessages
    case forgetsClearedHistories
    case forgetsThatTheUserJoined
    case keepsWhatAResetTakes
    /// A page counts for everything before it.
    case believesPagesAreWhole
    case keepsOutdatedRanges
    /// A message gets another id with each attempt.
    case sendsUnderNewIds
    case sendsInReverse
    case takesRefusalsForSuccess
    case forgetsWhatWaitsAtItsEnd
    case forgetsBlocks
    case ignoresRenames
    case forgetsDrafts
    case forgetsRequests
    /// What the user is asked about is read once, and then for ever as it was.
    case readsRequestsOnce
    /// Requests stand in the list of conversations.
    case takesRequestsForConversations
    /// What another device has written takes the place of what is being written here.
    case takesOverWhatIsWritten
    case forgetsPermissions
    case forgetsLifetimes
}

extension Flaw {
    /// What a flawed client stores of a step.
    func alter(_ writes: [SyncWrite], using random: inout SeededGenerator) -> [SyncWrite] {
        writes.compactMap { write in
            switch (self, write) {
            case (.losesChanges, .change(let change, true)) where Int.random(in: 0..<20, using: &random) == 0:
                .passed(change.conversationId, through: change.seq)
            case (.forgetsHiddenMessages, .privateChange(let change)) where change.kind == .messageHidden:
                .privateStream(change.useq)
            case (.forgetsClearedHistories, .privateChange(let change)) where change.kind == .historyCleared:
                .privateStream(change.useq)
            case (.forgetsThatTheUserJoined, .privateChange(let change)) where change.kind == .conversationJoined:
                .privateStream(change.useq)
            case (.forgetsBlocks, .privateChange(let change)) where change.kind == .blocked:
                .privateStream(change.useq)
            case (.forgetsDrafts, .privateChange(let change)) where change.kind == .draft:
                .privateStream(change.useq)
            case (.forgetsRequests, .privateChange(let change)) where change.kind == .request:
                .privateStream(change.useq)
            case (.forgetsPermissions, .change(let change, let moves)) where change.kind == .permissionsChanged:
                .change(
                    Change(
                        conversationId: change.conversationId, seq: change.seq, kind: .permissionsChanged,
                        at: change.at,
                        actorId: change.actorId), movesCursor: moves)
            case (.forgetsLifetimes, .change(let change, let moves)) where change.kind == .lifetimeChanged:
                .change(
                    Change(
                        conversationId: change.conversationId, seq: change.seq, kind: .lifetimeChanged, at: change.at,
                        actorId: change.actorId), movesCursor: moves)
            case (.readsRequestsOnce, .conversation(let head, _)) where head.request == true: nil
            case (.takesRequestsForConversations, .requests(let requests)) where !requests.isEmpty:
                { () -> SyncWrite in
                    var head = requests[0].conversation
                    head.request = nil
                    return .conversation(head, follows: true)
                }()
            case (.keepsWhatAResetTakes, .discardAll): nil
            case (.keepsOutdatedRanges, .outdated): nil
            case (.believesPagesAreWhole, .history(let id, var page, let place)):
                { () -> SyncWrite in
                    page.hasMoreBefore = false
                    return .history(id, page, place: place)
                }()
            default: write
            }
        }
    }

    /// What a flawed client sends.
    func alter(_ call: OutboxCall, using random: inout SeededGenerator) -> OutboxCall {
        switch (self, call) {
        case (.sendsInReverse, .batch(let rows)): return .batch(rows.reversed())
        case (.sendsUnderNewIds, .single(var row)) where row.write.kind == "send":
            row.message = MessageID(UUIDBytes(high: random.next(), low: random.next()))
            return .single(row)
        default: return call
        }
    }
}
