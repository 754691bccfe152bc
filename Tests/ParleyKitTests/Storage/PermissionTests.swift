import Models
import Testing

@testable import ParleyStorage

/// Who may do what in a group, in a copy.
@Suite struct PermissionTests {
    private func group(_ role: MemberRole = .member, _ permissions: Permissions? = nil, lastSeq: Int64 = 10)
        -> Conversation
    {
        var head = head(lastSeq: lastSeq)
        head.role = .known(role)
        head.permissions = permissions
        return head
    }

    private func stored(in store: LocalStore) throws -> Conversation { try #require(try store.conversation(talk)) }

    private func change(
        _ seq: Int64, _ kind: ChangeKind, user: UserID? = nil, role: MemberRole? = nil,
        _ permissions: Permissions? = nil
    ) -> SyncWrite {
        .change(
            Change(
                conversationId: talk, seq: seq, kind: kind, at: time(seq), actorId: ben, userId: user, role: role,
                permissions: permissions), movesCursor: true)
    }

    @Test("what the server says of a group is kept, in the list as well, and a change replaces all of it")
    func told() throws {
        let store = try copy()
        #expect(try stored(in: store).mayWrite && stored(in: store).mayRename && stored(in: store).mayAddMembers)
        let some = Permissions(addMembers: .owners, write: .admins, mentionAll: .members)
        try store.apply([.conversation(group(.member, some), follows: true)])
        #expect(try stored(in: store).permissions == some)
        #expect(try store.list(limit: 9).rows[0].conversation.permissions == some)
        #expect(try store.conversations(limit: 9)[0].permissions == some)
        #expect(try !stored(in: store).mayWrite && !stored(in: store).mayAddMembers && stored(in: store).mayRename)
        try store.apply([change(11, .memberChanged, user: anna, role: .admin)])
        #expect(try stored(in: store).mayWrite && !stored(in: store).mayAddMembers)
        try store.apply([change(12, .permissionsChanged, Permissions(rename: .owners))])
        #expect(try stored(in: store).permissions == Permissions(rename: .owners))
        try store.apply([change(13, .permissionsChanged, Permissions())])
        #expect(try stored(in: store).permissions == nil, "as the server leaves it out")
        #expect(try store.storedRanges(of: talk).last?.upperBound == 13, "no message is missing there")
    }

    @Test("former members may nothing, and are not told who may")
    func formerMember() throws {
        let store = try copy()
        try store.apply([.conversation(group(.admin, Permissions(write: .admins)), follows: true)])
        try store.apply([change(11, .memberRemoved, user: anna, role: .admin)])
        let left = try stored(in: store)
        #expect(left.permissions == nil && !left.mayWrite && !left.mayRename && !left.mayAddMembers)
    }

    @Test(
        "each permission names the lowest role that may",
        arguments: [
            (PermittedRoles.members, [MemberRole.member, .admin, .owner]), (.admins, [.admin, .owner]),
            (.owners, [.owner]),
        ])
    func roles(_ permitted: PermittedRoles, _ may: [MemberRole]) {
        for role in MemberRole.allCases {
            for permission in GroupPermission.allCases {
                var permissions = Permissions()
                permissions = permissions.changed(by: .init(permission, permitted))
                #expect(group(role, permissions).may(permission) == may.contains(role))
            }
        }
    }

    @Test("what a later version of the server permits to others is left to owners, and is kept as it was told")
    func laterRoles() throws {
        var permissions = Permissions()
        permissions.write = .unknown("moderators")
        let store = try copy()
        try store.apply([.conversation(group(.admin, permissions), follows: true)])
        #expect(try stored(in: store).permissions == permissions && !stored(in: store).mayWrite)
        #expect(group(.owner, permissions).mayWrite)
    }

    @Test("in a direct conversation there is neither a title nor anybody to add")
    func direct() {
        var pair = group()
        pair.kind = .known(.direct)
        #expect(pair.mayWrite && !pair.mayRename && !pair.mayAddMembers)
    }

    @Test("a change of the user's shows at once, two are one until they are sent, and a refusal takes them back")
    func changing() throws {
        let store = try copy()
        try store.apply([.conversation(group(.owner), follows: true)])
        try store.enqueue(.permissions(.init(.write, .admins)))
        try store.enqueue(.permissions(.init(.rename, .owners)), key: 2)
        try store.enqueue(.permissions(.init(.write, .owners)), key: 3)
        #expect(try store.outboxCount() == 1)
        #expect(try stored(in: store).permissions == Permissions(rename: .owners, write: .owners))
        let row = try #require(try store.sendable(limit: 9).first)
        #expect(row.write == .permissions(.init(rename: .owners, write: .owners)))
        try store.refuse(row, problem(.forbidden))
        #expect(try stored(in: store).permissions == nil && store.firstRefused()?.write == row.write)
    }

    @Test("a message that was written while one might is not lost when one may not: it failed, and can be sent later")
    func refusedMessage() throws {
        let store = try copy()
        try store.enqueue(send("Dear all"), messageId(90))
        try store.enqueue(send("and more"), messageId(91), key: 2)
        try store.apply([change(11, .permissionsChanged, Permissions(write: .admins))])
        #expect(try store.sendable(limit: 9).count == 2, "the server has the last word")
        let refusal = problem(.forbidden)
        for row in try store.sendable(limit: 9) { try store.refuse(row, refusal) }
        let rows = try store.rows().suffix(2)
        #expect(rows.map(\.message.text) == ["Dear all", "and more"])
        #expect(rows.allSatisfy { $0.state == .failed(refusal) })
        #expect(try store.sendable(limit: 9).isEmpty)
        try store.apply([change(12, .permissionsChanged, Permissions())])
        try store.retry(messageId(90), in: talk)
        #expect(try store.sendable(limit: 9).map(\.message) == [messageId(90)])
    }
}
