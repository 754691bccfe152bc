import Models
import Testing
import Wire

@testable import Store

private let alice = UserID("alice")!
private let bob = UserID("bob")!
private let conversation = ConversationID(UUIDBytes(high: 1, low: 1))
private let message = MessageID(UUIDBytes(high: 7, low: 1))
private let key = UUIDBytes(high: 3, low: 3)

/// One of each action of a write.
private let actions: [Write.Action] = [
    .edit(message, text: "text"), .deleteForEveryone(message), .hide(message), .setTapback(message, "love"),
    .removeTapback(message), .putMember(bob, nil), .removeMember(bob), .rename("title"), .clearHistory(through: 0),
    .putSettings(readReceipts: .no), .unlist, .mark(.unread(true)),
    .block(bob, true), .draft("text", replyTo: nil), .acceptRequest, .declineRequest,
    .setPermissions(GroupPermissions(write: .admins)), .setLifetime(seconds: 60), .liftBan(bob),
    .createInvitation(NewInvitation(id: InvitationID(message.uuid), secret: .zero)),
    .revokeInvitation(InvitationID(message.uuid)), .join(secret: .zero), .declineJoinRequest(bob),
    .report(NewReport(id: ReportID(message.uuid), user: bob, reason: .spam)),
    .resolveReport(ReportResolution(of: ReportID(message.uuid), .deleted)), .setRetention(days: 7),
    .pinMessage(message), .unpinMessage(message), .cancelScheduled(message), .vote(message, PollOptions(bits: 1)),
    .closePoll(message),
    .schedule(NewScheduled(message, at: Timestamp(milliseconds: 0), text: "text")),
]

/// A command, and what it locks besides.
struct Locked: CustomTestStringConvertible, Sendable {
    let step: any BatchStep
    let locks: String
    var testDescription: String { "\(step)" }

    init(_ step: any BatchStep, _ locks: String) {
        self.step = step
        self.locks = locks
    }

    /// A write without a key locks its conversation.
    init(_ action: Write.Action, _ locks: String) {
        self.init(ConversationWrite(Write(conversation, by: alice, key: nil, action)), "conversation" + locks)
    }

    static let all = [
        Locked(
            CreateConversation(conversation: conversation, kind: .group, creator: alice, title: "", members: [bob]),
            "keys users conversation new:alice,bob streams:alice,bob"),
        Locked(PutSettings(alice, key: key, readReceipts: .no, presence: .leave), "keys users new:alice streams:alice"),
        Locked(PutSettings(alice, key: nil, readReceipts: .no, presence: .leave), "users new:alice streams:alice"),
        Locked(PutProfile(alice, key: key), "keys users new:alice streams:alice"),
        Locked(PutProfile(alice, key: nil), "users new:alice streams:alice"),
        Locked(
            ImportStep(
                conversation,
                [
                    .conversation(
                        ImportRecord.Conversation(
                            kind: .group, createdAt: Timestamp(milliseconds: 0), title: "", members: [alice]))
                ]), "keys users conversation search new:alice streams:alice"),
        Locked(
            ImportStep(
                conversation,
                [.member(ImportRecord.MemberChange(.memberAdded, of: bob, at: Timestamp(milliseconds: 0), by: nil))]),
            "users conversation search new:bob streams:bob"),
        Locked(
            ImportStep(conversation, [.title(ImportRecord.Title("", at: Timestamp(milliseconds: 0), by: nil))]),
            "conversation search"),
        Locked(ImportStep(conversation, [.end]), "conversation search imported"),
        Locked(DropImport(conversation, receiptsAreGone: true), "conversation search imported"),
        Locked(EraseUser(alice), "alone"), Locked(RevokeTokens(alice, before: Timestamp(milliseconds: 0)), "alone"),
        Locked(EndDevices(alice, .only(DeviceID("phone")!), before: Timestamp(milliseconds: 0)), "alone"),
        Locked(NoteDevice(alice, DeviceID("phone")!), "users"),
        Locked(SuspendUser(alice, .out), "alone"),
        Locked(RecordAct(key, by: alice, for: nil, call: "eraseUser", in: nil), "keys"),
        Locked(EndAct(key, status: 204), "keys"),
        Locked(ExpireMessages(in: conversation), "conversation search"),
        Locked(TrimHistory(in: conversation, days: 7), "conversation search"),
        Locked(SendScheduled(of: alice, in: conversation), "users conversation streams:alice"),
        Locked(EraseStep(alice, .leave(conversation)), "conversation search erasure streams:alice"),
        Locked(EraseStep(alice, .content(conversation, after: 0)), "conversation search erasure streams:alice"),
        Locked(EraseStep(alice, .stays(conversation)), "conversation search erasure streams:alice"),
        Locked(EraseStep(alice, .listing(conversation)), "erasure streams:alice"),
        Locked(EraseStep(alice, .remains), "erasure streams:alice"),
        Locked(EraseStep(alice, .block(of: bob)), "erasure streams:alice,bob"),
        Locked(
            ConversationWrite(Write(conversation, by: alice, key: key, .rename("title"))), "keys users conversation"),
        Locked(.edit(message, text: "text"), " search"), Locked(.editSealed(message, "c2VhbA=="), " search"),
        Locked(.deleteForEveryone(message), " search"),
        Locked(.hide(message), " streams:alice"), Locked(.setTapback(message, "love"), ""),
        Locked(.pinMessage(message), ""), Locked(.unpinMessage(message), ""),
        Locked(.vote(message, PollOptions(bits: 1)), ""), Locked(.closePoll(message), ""),
        Locked(.removeTapback(message), ""), Locked(.removeMember(bob), " streams:bob"), Locked(.rename("title"), ""),
        Locked(.setPermissions(GroupPermissions(write: .admins)), ""), Locked(.liftBan(bob), ""),
        Locked(.setLifetime(seconds: 60), ""),
        Locked(.createInvitation(NewInvitation(id: InvitationID(message.uuid), secret: .zero)), ""),
        Locked(.revokeInvitation(InvitationID(message.uuid)), ""), Locked(.declineJoinRequest(bob), ""),
        Locked(
            ConversationWrite(
                Write(conversation, by: alice, key: nil, .join(secret: .zero)), AskToJoin(secret: .zero, maker: bob)),
            "users conversation new:bob streams:bob"),
        Locked(.report(NewReport(id: ReportID(message.uuid), user: bob, reason: .spam)), ""),
        Locked(.resolveReport(ReportResolution(of: ReportID(message.uuid), .deleted)), ""),
        Locked(.setRetention(days: 7), ""),
        Locked(
            ConversationWrite(Write(conversation, by: alice, key: nil, .join(secret: .zero))),
            "users conversation new:alice streams:alice"),
        Locked(.clearHistory(through: 0), " streams:alice"),
        Locked(
            ConversationWrite(
                Write(
                    conversation, by: alice, key: nil,
                    .schedule(NewScheduled(message, at: Timestamp(milliseconds: 0), text: "text")))),
            "users conversation streams:alice"),
        Locked(.cancelScheduled(message), " streams:alice"),
        Locked(.putSettings(readReceipts: .no), " streams:alice"), Locked(.unlist, " streams:alice"),
        Locked(.mark(.pinned(order: 0)), " streams:alice"), Locked(.draft("text", replyTo: nil), " streams:alice"),
        Locked(
            ConversationWrite(Write(conversation, by: alice, key: nil, .block(bob, true))),
            "keys users conversation new:alice streams:alice"),
        Locked(
            ConversationWrite(Write(conversation, by: alice, key: nil, .acceptRequest)),
            "users conversation new:alice streams:alice"),
        Locked(
            ConversationWrite(Write(conversation, by: alice, key: nil, .declineRequest)),
            "users conversation new:alice streams:alice"),
        Locked(
            AnswerRequest(of: conversation, by: alice, reopens: false), "users conversation new:alice streams:alice"),
        Locked(
            ConversationWrite(Write(conversation, by: alice, key: nil, .putMember(bob, nil))),
            "users conversation new:bob streams:bob"),
    ]
}

/// What each kind of command is to a batch.
@Suite struct BatchStepTests {
    @Test("every command is merged with others or is a step, and no query is")
    func kinds() {
        let merged: Set<StoreRequestKind> = [
            .sendMessages, .sendWithAttachments, .sendWhole, .sendSealed, .sendPoll, .sendForwarded, .readMoved,
        ]
        let commands = Set(StoreRequestKind.allCases.filter(\.isCommand))
        #expect(Set(BatchSteps.kinds.keys).union(merged) == commands)
        #expect(Set(BatchSteps.kinds.keys).isDisjoint(with: merged))
    }

    @Test("every kind of write is in the list by which its statement is prepared")
    func writes() {
        #expect(Set(actions.map(\.number)).count == actions.count)
        let types = actions.map { ObjectIdentifier(type(of: Write(conversation, by: alice, key: nil, $0).kind)) }
        #expect(Set(types).count == types.count)
        #expect(Set(types) == Set(Write.Action.kinds.map { ObjectIdentifier($0) }))
    }

    @Test("a step locks what it depends on and what it writes to", arguments: Locked.all)
    func locks(_ locked: Locked) {
        var locks = Locks()
        locked.step.lock(&locks)
        var found: [String] = []
        if !locks.keys.isEmpty { found.append("keys") }
        if !locks.userSlots.isEmpty { found.append(locks.userSlots.values.contains(true) ? "alone" : "users") }
        if !locks.conversations.isEmpty { found.append("conversation") }
        if !locks.searches.isEmpty { found.append("search") }
        if !locks.erasures.isEmpty { found.append("erasure") }
        if !locks.newStreams.isEmpty { found.append("new:" + names(locks.newStreams)) }
        if !locks.streams.isEmpty { found.append("streams:" + names(locks.streams)) }
        if !locks.endingImports.isEmpty { found.append("imported") }
        #expect(found.joined(separator: " ") == locked.locks)
        #expect(locks.conversations.union(locks.searches).union(locks.endingImports).isSubset(of: [conversation]))
    }

    @Test("a user who is to be locked alone stays so, whatever else the batch does in the slot")
    func alone() {
        var locks = Locks()
        locks.insert(user: alice)
        locks.insert(userAlone: alice)
        locks.insert(user: alice)
        #expect(locks.userSlots == [alice.slot: true])
    }

    private func names(_ users: Set<UserID>) -> String { users.map(\.name).sorted().joined(separator: ",") }
}
